"""`mendgraph rollback`: go back to a stable point, and say what that means first."""

from typing import TYPE_CHECKING, Annotated

import typer

from mendgraph.cli.faults import WrongUse
from mendgraph.cli.options import PERSIST, AsJson, Persist, ThreadArgument
from mendgraph.cli.output import command_line, print_json, print_table, say

if TYPE_CHECKING:
    from mendgraph.graph.fork import RolledBack


def rollback(
    thread: ThreadArgument,
    to: Annotated[
        str,
        typer.Option(
            metavar="VERSION|STEP|CHECKPOINT",
            help="A plan version (2 or v2), a step (right after its success), or a "
            "checkpoint id.",
        ),
    ],
    compensate: Annotated[
        bool, typer.Option("--compensate", help="Undo effects that can be undone.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    persist: Persist = PERSIST,
    as_json: AsJson = False,
) -> None:
    """Take a thread back; effects since then are named, and kept or undone.

    Nothing is changed before you agree. The branch left behind stays in the history.
    """
    from mendgraph.cli.opening import config_of, reopened
    from mendgraph.graph.rollback import plan_rollback
    from mendgraph.graph.rollback import rollback as go_back

    with reopened(persist, thread) as (agent, _):
        config = config_of(thread)
        preview = plan_rollback(agent, config, to, compensate=compensate)
        if not as_json:
            _print(preview, "Going back")
        if not yes and not _agreed(as_json=as_json):
            say("Nothing was changed.")
            return
        done = go_back(agent, config, to, compensate=compensate)
    if as_json:
        print_json(done.plain())
        return
    _print_effects(done)
    say("Done. Go on with:", f"  {command_line('resume', thread, persist=persist)}")


def _agreed(*, as_json: bool) -> bool:
    """Ask whether to go on.

    Raises:
        WrongUse: Nobody can be asked here.
    """
    from mendgraph.cli.asking import someone_is_there

    if as_json or not someone_is_there():
        raise WrongUse("nobody can be asked here; add --yes to go back without asking")
    return input("Go back? [y/N] > ").strip().lower() in {"y", "yes"}


def _print(done: "RolledBack", what: str) -> None:
    say(f"{what} to {done.to} (plan version {done.plan_version})", style="bold")
    say(f"  stay done: {', '.join(done.kept) or 'no steps'}")
    say(f"  run again: {', '.join(done.open) or 'no steps'}")
    for text in done.signals:
        say(f"  no longer known: your message {text!r}")
    _print_effects(done)


def _print_effects(done: "RolledBack") -> None:
    rows = [
        (each.step_id, each.tool, each.status.value, each.fate.value, each.why)
        for each in done.effects
    ]
    heads = ("step", "effect since then", "status", "what becomes of it", "why")
    print_table(heads, rows, "  no effects since then")
