"""The command `mendgraph`: which commands there are, and how the process ends."""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated

import typer

from mendgraph.cli import evals, memory
from mendgraph.cli.bench import bench
from mendgraph.cli.books import rules, strategies
from mendgraph.cli.demo import demo
from mendgraph.cli.doctor import doctor
from mendgraph.cli.drawing import graph
from mendgraph.cli.exits import EPILOG, Code
from mendgraph.cli.faults import guarded
from mendgraph.cli.new import new
from mendgraph.cli.rehearse import rehearse
from mendgraph.cli.report import report
from mendgraph.cli.resume import resume
from mendgraph.cli.rollback import rollback
from mendgraph.cli.run import run
from mendgraph.cli.show import show, threads
from mendgraph.cli.signalling import signal

RUNNING, LOOKING = "Running", "Looking"
LEARNED, BEGINNING = "What was learned", "Beginning"
COMMANDS: tuple[tuple[Callable[..., None], str], ...] = (
    (run, RUNNING),
    (resume, RUNNING),
    (signal, RUNNING),
    (rollback, RUNNING),
    (show, LOOKING),
    (threads, LOOKING),
    (report, LOOKING),
    (graph, LOOKING),
    (strategies, LEARNED),
    (rules, LEARNED),
    (rehearse, LEARNED),
    (new, BEGINNING),
    (demo, BEGINNING),
    (doctor, BEGINNING),
    (bench, BEGINNING),
)
"""Every command and the panel of the help it is shown in."""
GROUPS = ((memory.group, "memory", LEARNED), (evals.group, "eval", LEARNED))

app = typer.Typer(
    name="mendgraph",
    help="Plan a task as a DAG, watch every step, mend what fails, ask when needed.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command, panel in COMMANDS:
    app.command(rich_help_panel=panel, epilog=EPILOG)(guarded(command))
for group, name, panel in GROUPS:
    app.add_typer(group, name=name, rich_help_panel=panel)


def _version(*, wanted: bool) -> None:
    if wanted:
        from mendgraph import __version__

        sys.stdout.write(f"mendgraph {__version__}\n")
        raise typer.Exit


@app.callback()
def settings(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=lambda v: _version(wanted=v), is_eager=True),
    ] = False,
) -> None:
    """Plan a task as a DAG, watch every step, mend what fails, ask when needed."""


def _one_line(
    message: Warning | str,
    category: type[Warning],  # noqa: ARG001 (the signature is Python's)
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> str:
    return f"mendgraph: warning: {message}\n"


def main() -> None:
    """Run the command line and end the process with its exit code."""
    warnings.formatwarning = _one_line
    try:
        app()
    except SystemExit as ended:
        if ended.code == Code.INTERRUPTED:
            _leave(Code.INTERRUPTED)
        raise


def _leave(code: Code) -> None:
    """End at once: a tool that still runs in a thread would keep the process alive."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
