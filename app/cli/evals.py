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


TaskFile = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="A task set; the shipped one by default."),
]
SetFolder = Annotated[
    Path | None,
    typer.Argument(
        metavar="FOLDER", help="Where to build the set; a temporary folder."
    ),
]


@group.command()
@guarded
def attribution(folder: SetFolder = None, as_json: AsJson = False) -> None:
    """Measure attribution on 120 failures whose cause was injected."""
    from mendgraph.evals.attribution import main

    main(folder, as_json)


@group.command()
@guarded
def compare(file: TaskFile = None, as_json: AsJson = False) -> None:
    """Compare ways to spend model calls: success, latency, cost per success."""
    from mendgraph.evals.compare import main

    try:
        main(file, as_json)
    except ValueError as error:
        raise WrongUse(str(error)) from error
