"""`mendgraph show` and `mendgraph threads`: where things stand."""

import asyncio
import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from mendgraph.cli.options import PERSIST, AsJson, Persist, ThreadArgument
from mendgraph.cli.output import (
    command_line,
    console,
    print_json,
    print_table,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mendgraph.graph.agent import MendGraph
    from mendgraph.report import RunView
    from mendgraph.state.interrupts import Question

NEWEST = 500
"""Checkpoints among which threads of other programs are looked for."""


def show(
    thread: ThreadArgument, persist: Persist = PERSIST, as_json: AsJson = False
) -> None:
    """Show a thread: plan, attempts, corrections with reasons, questions, effects."""
    from mendgraph.cli.gather import gather
    from mendgraph.cli.opening import questions_of, reading, snapshot_of
    from mendgraph.cli.results import plain_question

    with reading(persist) as agent:
        snapshot = snapshot_of(agent, thread)
        found = asyncio.run(gather(agent, thread, snapshot))
    questions = questions_of(snapshot)
    if as_json:
        plain = [plain_question(key, each) for key, each in questions.items()]
        print_json({"thread_id": thread, "questions": plain, **found.plain()})
        return
    _print(found, questions)
    if snapshot.next:
        say("", f"Go on with: {command_line('resume', thread, persist=persist)}")


def _print(found: "RunView", questions: "Mapping[str, Question]") -> None:
    from mendgraph.live import summary

    say(f"Task: {found.task}", style="bold")
    say("", f"Plan {found.plan_id} version {found.version}", style="bold")
    _print_plan(found)
    _print_corrections(found)
    _print_effects(found)
    for key, question in questions.items():
        say("", f"Open {question.kind.value} [{key[:8]}]", style="bold magenta")
        say(question.description)
    for said in found.answers:
        say("", f"Asked: {said.text}", f"Answered: {said.answer}")
    say()
    summary(found, console())


def _print_plan(found: "RunView") -> None:
    rows = [
        (
            node.id,
            "void" if node.retired else node.status.value,
            node.tool,
            node.attempts,
            ", ".join(node.dependencies),
            node.why or node.result,
        )
        for node in found.nodes
    ]
    heads = ("step", "status", "tool", "attempts", "after", "result or reason")
    print_table(heads, rows, "  no steps yet")


def _print_corrections(found: "RunView") -> None:
    from mendgraph.report.words import duration, phrase

    if not found.corrections:
        return
    say("", "Corrections", style="bold")
    worked = {True: "worked", False: "did not work", None: "open"}
    rows = [
        (
            duration(mend.at),
            mend.step_id,
            mend.cause,
            f"{phrase(mend.action)} ({mend.tier})",
            worked[mend.worked],
            mend.reason,
        )
        for mend in found.corrections
    ]
    print_table(("at", "step", "cause", "action", "outcome", "reason"), rows, "")


def _print_effects(found: "RunView") -> None:
    if not found.effects:
        return
    say("", "Effects", style="bold")
    rows = [
        (
            entry.step_id,
            entry.tool,
            entry.status.value,
            _json(entry.arguments),
            entry.note,
        )
        for entry in found.effects
    ]
    print_table(("step", "tool", "status", "arguments", "note"), rows, "")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def threads(persist: Persist = PERSIST, as_json: AsJson = False) -> None:
    """List the threads of a persist folder, the newest first."""
    from mendgraph.cli.opening import reading

    with reading(persist) as agent:
        rows = _threads(agent)
    if as_json:
        print_json({"threads": rows})
        return
    cells = [
        (row["thread_id"], row["status"], row["started"], row["task"]) for row in rows
    ]
    print_table(("thread", "status", "started", "task"), cells, "There are no threads.")


def _threads(agent: "MendGraph") -> list[dict[str, Any]]:
    from mendgraph.cli.settings import remembered

    known = remembered(agent.held.deps.store)
    ordered = sorted(known, key=lambda name: -known[name])
    names = dict.fromkeys((*ordered, *_checkpointed(agent)))
    return [_thread(agent, name) for name in names]


def _checkpointed(agent: "MendGraph") -> list[str]:
    """Return the threads of the newest checkpoints, whoever ran them."""
    saver: Any = agent.checkpointer
    newest = islice(saver.list(None, limit=NEWEST), NEWEST)
    places = (each.config["configurable"] for each in newest)
    return [each["thread_id"] for each in places if not each.get("checkpoint_ns")]


def _thread(agent: "MendGraph", name: str) -> dict[str, Any]:
    from mendgraph.cli.opening import config_of
    from mendgraph.report.words import fit, moment

    config = config_of(name)
    snapshot = agent.get_state(config)
    values = snapshot.values
    waits = "waiting" if snapshot.interrupts else values.get("status")
    started = values.get("started_at")
    return {
        "thread_id": name,
        "status": waits or "not started",
        "started": moment(started) if started else "",
        "task": fit(str(values.get("task") or ""), 70),
    }
