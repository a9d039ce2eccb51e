"""The command line: every command is one small module, loaded when it is used."""

from mendgraph.cli.main import main

__all__ = ["main"]
