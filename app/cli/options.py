"""Options and arguments that several commands share."""

from typing import Annotated

import typer

from mendgraph.cli.output import DEFAULT_PERSIST

Persist = Annotated[
    str,
    typer.Option(
        "--persist",
        metavar="DIR",
        envvar="MENDGRAPH_PERSIST",
        help="Folder (or postgresql:// address) where threads and memory live.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object and nothing else on stdout."),
]
Plain = Annotated[
    bool, typer.Option("--plain", help="One line an event instead of a moving table.")
]
ThreadArgument = Annotated[
    str, typer.Argument(metavar="THREAD", help="Id of the thread, as `run` shows it.")
]
PERSIST = DEFAULT_PERSIST
