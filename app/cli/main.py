"""The command `mendgraph`: which commands there are, and how the process ends."""

import os
import sys
import warnings
from typing import Annotated, Any

import typer

from mendgraph.cli import run as running
from mendgraph.cli import resume as resuming
from mendgraph.cli.exits import EPILOG, Code
from mendgraph.cli.faults import guarded

app = typer.Typer(
    name="mendgraph",
    help="Plan a task as a DAG, watch every step, mend what fails, ask when needed.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
