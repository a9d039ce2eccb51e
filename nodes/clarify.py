"""clarify: ask a person the concrete question; the answer re-enters think (F61)."""

from collections.abc import Mapping
from typing import Any

from mendgraph.nodes.asking import ask
from mendgraph.state.channels import MendState
from mendgraph.state.interrupts import Kind, Question
from mendgraph.tools.run import Run


async def clarify(state: MendState, run: Run) -> dict[str, Any]:
    """Ask, and hand question and answer to think."""
    asked = state.get("pending") or {}
    kind = Kind(asked.get("interrupt", Kind.CLARIFICATION))
    if exhausted := run.reserve(*METERS.get(kind, ())):
        return _stopped(asked, f"{exhausted}; open is: {_text(asked)}")
    round_token = state.get("round") or state.get("task_id", "")
    key = f"clarify:{round_token}:{_text(asked)[:60]}"
    decision = await ask(run, key, _question(asked, kind))
    if decision is None:
        return _stopped(
            asked, f"a question is open and nobody can be asked: {_text(asked)}"
        )
    if decision.type == "reject":
        said = decision.message or "a person stopped the task"
        why = asked.get("reason") if kind is Kind.MODEL_UNAVAILABLE else None
        return _stopped(asked, f"{said}; {why}" if why else said, by="person")
    said = decision.message or ("go on" if decision.type == "approve" else "")
    told = {"pending": {**asked, "kind": "answered", "answer": said}}
    if kind is not Kind.CLARIFICATION:
        return told
    run.spend(clarifications=1)
    answer = {"question": _text(asked), "answer": said, "at": run.now()}
    return {**told, "answers": [answer]}


METERS: Mapping[Kind, tuple[str, ...]] = {Kind.CLARIFICATION: ("clarifications",)}
"""What a question costs; waiting for a model costs nothing."""


def _text(asked: Mapping[str, Any]) -> str:
    return str(asked.get("question") or asked.get("reason") or "What should be done?")


def _question(asked: Mapping[str, Any], kind: Kind) -> Question:
    return Question(
        kind=kind,
        name=asked.get("name", "clarify"),
        description=_text(asked),
        step_id=next(iter(asked.get("step_ids") or ()), None),
        plan_version=asked.get("plan_version"),
        options=tuple(asked.get("options") or ()),
    )


def _stopped(
    asked: Mapping[str, Any], reason: str, by: str | None = None
) -> dict[str, Any]:
    return {"pending": {**asked, "kind": "stopped", "reason": reason, "by": by}}
