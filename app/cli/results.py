"""The last words of a run: for people, or as one JSON object."""

from typing import Any

from langgraph.types import StateSnapshot

from mendgraph.cli.driving import code_of
from mendgraph.cli.exits import Code
from mendgraph.cli.opening import questions_of
from mendgraph.cli.output import command_line, console, print_json, say
from mendgraph.live import summary
from mendgraph.state.interrupts import Question


def result(snapshot: StateSnapshot, thread: str) -> dict[str, Any]:
    """Return a thread's outcome as plain values."""
    values, code = snapshot.values, code_of(snapshot)
    return {
        "thread_id": thread,
        "status": "waiting" if code is Code.WAITING else values.get("status"),
        "answer": values.get("answer") or "",
        "report": values.get("report") or {},
        "questions": [
            plain_question(key, question)
            for key, question in questions_of(snapshot).items()
        ],
        "exit_code": code.value,
    }


def plain_question(key: str, question: Question) -> dict[str, Any]:
    """Return an open question as plain values, its id first."""
    return {"id": key, **question.payload()}


def print_result(
    snapshot: StateSnapshot, thread: str, persist: str, *, as_json: bool
) -> Code:
    """Print how the run ended; return the exit code."""
    code = code_of(snapshot)
    if as_json:
        print_json(result(snapshot, thread))
    elif code is Code.WAITING:
        _print_open(snapshot, thread, persist)
    else:
        summary(snapshot.values, console())
        say(f"Thread {thread}: {command_line('show', thread, persist=persist)}")
    return code


def _print_open(snapshot: StateSnapshot, thread: str, persist: str) -> None:
    for key, question in questions_of(snapshot).items():
        step = f" for step {question.step_id}" if question.step_id else ""
        say(f"Open {question.kind.value}{step} [{key[:8]}]: {question.description}")
    say(
        "Nothing done so far is lost. Answer at a terminal with:",
        f"  {command_line('resume', thread, persist=persist)}",
        "or in a script with --approve, --reject TEXT, --respond TEXT, --edit JSON or "
        "--answer ID=JSON.",
    )
