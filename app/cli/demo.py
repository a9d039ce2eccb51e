"""`mendgraph demo`: the PV/UV scenario on a real PostgreSQL."""

from pathlib import Path
from typing import Annotated

import typer

from mendgraph.cli.faults import WrongUse


def demo(
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where results go; .demo when not given."),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows of the log table.")] = 200_000,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:NAME",
            help="Without it and without a key a labelled rehearsal plans.",
        ),
    ] = None,
) -> None:
    """Heal two real faults on a real PostgreSQL, then show what was learned."""
    from mendgraph.demo.run import main

    try:
        code = main(folder, rows, model)
    except ImportError as error:
        raise WrongUse(str(error)) from error
    raise typer.Exit(code)
