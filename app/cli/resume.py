"""`mendgraph resume`: answer what is open and go on where a run stopped."""

import json
from typing import Annotated, Any

import typer

from mendgraph.cli.exits import Code
from mendgraph.cli.faults import WrongUse
from mendgraph.cli.options import PERSIST, AsJson, Persist, Plain, ThreadArgument
from mendgraph.cli.output import say
from mendgraph.cli.run import go_on


def resume(  # noqa: PLR0913, PLR0917 (each is an option of the command)
    thread: ThreadArgument,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=JSON",
            help='Answer a question by its id or step, as s2=\'{"type": "approve"}\'.',
        ),
    ] = None,
    approve: Annotated[
        bool, typer.Option("--approve", help="Approve the one open question.")
    ] = False,
    edit: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Approve it with other arguments."),
    ] = None,
    reject: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Reject it, and say why.")
    ] = None,
    respond: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Answer it in words.")
    ] = None,
    persist: Persist = PERSIST,
    as_json: AsJson = False,
    plain: Plain = False,
) -> None:
    """Go on with a thread: tools, model and limits are those it was run with."""
    single = _single(approve=approve, edit=edit, reject=reject, respond=respond)
    code = _resume(thread, answer or [], single, persist, as_json=as_json, plain=plain)
    raise typer.Exit(code)


def _single(
    *, approve: bool, edit: str | None, reject: str | None, respond: str | None
) -> dict[str, Any] | None:
    """Return the decision that was given for the one open question.

    Raises:
        WrongUse: There are several, or the edit is no JSON.
    """
    said: list[dict[str, Any]] = [{"type": "approve"}] if approve else []
    if edit is not None:
        said.append({"type": "edit", "args": _json(edit)})
    if reject is not None:
        said.append({"type": "reject", "message": reject})
    if respond is not None:
        said.append({"type": "respond", "message": respond})
    if len(said) > 1:
        raise WrongUse("give one of --approve, --edit, --reject and --respond")
    return said[0] if said else None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise WrongUse(f"--edit: no JSON: {error}") from error


def _resume(
    thread: str,
    answer: list[str],
    single: dict[str, Any] | None,
    persist: str,
    *,
    as_json: bool,
    plain: bool,
) -> Code:
    from langgraph.types import Command

    from mendgraph.cli.answers import read_answers
    from mendgraph.cli.opening import questions_of, reopened, snapshot_of
    from mendgraph.cli.results import print_result

    with reopened(persist, thread) as (agent, _):
        snapshot = snapshot_of(agent, thread)
        answers = read_answers(answer, single, questions_of(snapshot))
        if snapshot.next:
            given: Any = Command(resume=answers) if answers else None
            snapshot = go_on(
                agent, thread, given, persist, as_json=as_json, plain=plain
            )
        elif not as_json:
            say(f"Thread {thread} has ended; there is nothing to resume.")
        return print_result(snapshot, thread, persist, as_json=as_json)
