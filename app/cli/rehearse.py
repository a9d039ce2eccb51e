"""`mendgraph rehearse`: run a plan against injected faults to fill a cold start."""

from pathlib import Path
from typing import Annotated

import typer

from mendgraph.cli.options import PERSIST, AsJson, Persist

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan file.")]
FaultsFile = Annotated[
    Path, typer.Option("--faults", help="What goes wrong: a JSON or YAML list.")
]
Tools = Annotated[
    list[str], typer.Option("--tools", metavar="MODULE:NAME", help="As for `run`.")
]
Model = Annotated[
    str | None, typer.Option("--model", metavar="PROVIDER:MODEL", help="As for `run`.")
]


def rehearse(
    plan: PlanFile,
    faults: FaultsFile,
    tools: Tools,
    model: Model = None,
    persist: Persist = PERSIST,
    as_json: AsJson = False,
) -> None:
    """Rehearse a plan with injected faults; what is learned is marked as rehearsed."""
    from mendgraph.rehearse import main

    raise typer.Exit(main(plan, tools, faults, Path(persist), model, as_json))
