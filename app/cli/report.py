"""`mendgraph report`: one self-contained HTML page of a thread."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from mendgraph.cli.faults import WrongUse
from mendgraph.cli.options import PERSIST, Persist, ThreadArgument
from mendgraph.cli.output import say


def report(
    thread: ThreadArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write it.")
    ] = Path("report.html"),
    persist: Persist = PERSIST,
) -> None:
    """Write the HTML report of a thread; it opens offline.

    A run that has not ended is reported as it stands, and the page says so.
    """
    from mendgraph.cli.gather import gather
    from mendgraph.cli.opening import reading, snapshot_of
    from mendgraph.report import render

    if out.is_dir():
        raise WrongUse(f"{out} is a folder; name a file with --out")
    with reading(persist) as agent:
        snapshot = snapshot_of(agent, thread)
        found = asyncio.run(gather(agent, thread, snapshot))
    try:
        out.write_text(render(found), encoding="utf-8")
    except OSError as error:
        raise WrongUse(f"cannot write {out}: {error.strerror}") from error
    say(f"{out}: {found.verdict.headline}")
    if snapshot.next:
        say("The run has not ended; the report shows it as it stands now.")
