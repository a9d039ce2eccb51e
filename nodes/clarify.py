"""clarify: ask a person the concrete question; the answer re-enters think (F61)."""

from typing import Any

from mendgraph.nodes.asking import ask
from mendgraph.state.channels import MendState
from mendgraph.state.interrupts import Kind, Question
from mendgraph.tools.run import Run


async def clarify(state: MendState, run: Run) -> dict[str, Any]:
    """Ask, and hand question and answer to think."""
    asked = state.get("pending") or {}
    text = asked.get("question") or asked.get("reason") or "What should be done?"
    question = Question(
        kind=Kind(asked.get("interrupt", Kind.CLARIFICATION)),
        name=asked.get("name", "clarify"),
        description=text,
        step_id=next(iter(asked.get("step_ids") or ()), None),
        plan_version=asked.get("plan_version"),
        options=tuple(asked.get("options") or ()),
    )
    round_token = state.get("round") or state.get("task_id", "")
    decision = await ask(run, f"clarify:{round_token}:{text[:60]}", question)
    if decision is None:
        reason = f"a question is open and nobody can be asked: {text}"
        return {"pending": {**asked, "kind": "stopped", "reason": reason}}
    run.spend(clarifications=1)
    if decision.type == "reject":
        reason = decision.message or "a person stopped the task"
        return {
            "pending": {**asked, "kind": "stopped", "reason": reason, "by": "person"}
        }
    said = decision.message or ("go on" if decision.type == "approve" else "")
    answer = {"question": text, "answer": said, "at": run.now()}
    return {
        "pending": {**asked, "kind": "answered", "answer": said},
        "answers": [answer],
    }
