"""`mendgraph eval`: measure parts of mendgraph on labelled files."""

from pathlib import Path
from typing import Annotated

import typer

from mendgraph.cli.faults import WrongUse, guarded
from mendgraph.cli.options import AsJson

group = typer.Typer(help="Measure parts on labelled files.", no_args_is_help=True)

CaseFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="Cases, one JSON object a line.")
]


@group.callback()
def measures() -> None:
    """Measure parts on labelled files."""


@group.command()
@guarded
def classify(file: CaseFile, as_json: AsJson = False) -> None:
    """Measure the failure classifier: accuracy, confusions, misses."""
    from mendgraph.evals.classify import main

    try:
        main(file, as_json)
    except ValueError as error:
        raise WrongUse(str(error)) from error
