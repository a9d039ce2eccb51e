"""What a person's answer leads to: a plan, another try, a replan, or the end (F61)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mendgraph.nodes.accepting import Pending, accepted
from mendgraph.nodes.drafting import draft_for
from mendgraph.nodes.first_plan import drafted, typed
from mendgraph.state.channels import MendState
from mendgraph.state.correction import Action, Trigger
from mendgraph.state.outcome import StepRecord, StepStatus
from mendgraph.state.plan import Plan
from mendgraph.tools.run import Run

RETRY, STOP = "retry", "stop"
"""What can always be answered about a failed step."""
ONLY_THESE = f"Answer {RETRY!r} or {STOP!r}; there is no model to do anything else."


async def after_answer(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Return the update that goes on from an answer."""
    way = ORIGINS.get(str(pending.get("origin")), _failure)
    return await way(state, run, pending)


async def _plan(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Plan with the answer, or take it for the plan where there is no model."""
    if run.deps.reasoner is None:
        return typed(run, _said(pending))
    if Plan.model_validate(state["plan"]).steps:
        return _replan(pending, f"{pending.get('reason', '')}: {_said(pending)}")
    return {"pending": None, **await drafted(state, run, str(state.get("task", "")))}


async def _model(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Do again what no model had answered."""
    if again := pending.get("again"):
        return {"pending": again}
    return {"pending": None, **await drafted(state, run, str(state.get("task", "")))}


async def _signal(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Plan anew for a message that was asked about; the plan stays if that fails."""
    if _said(pending).lower() in {"", "go on"} or run.deps.reasoner is None:
        return {"pending": None}
    why = {"reason": str(pending.get("question", "")), "trigger": Trigger.SIGNAL.value}
    task, before = str(state.get("task", "")), Plan.model_validate(state["plan"])
    draft = await draft_for(state, run, task, reason=why["reason"])
    if draft.plan is None:
        because = (draft.pending or {}).get("reason", "no other plan was found")
        text = f"the plan stays: {because}"
        told = {"kind": "signal", "text": text, "at": run.now()}
        return {"pending": None, "notes": [*draft.notes, told]}
    update = accepted(state, run, before, draft.plan, why, Action.GLOBAL_REPLAN)
    return {**update, "notes": draft.notes}


async def _failure(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Try a failed step again, stop, or plan anew with what the person said."""
    said = _said(pending)
    if said.lower() == STOP:
        reason = f"a person answered {said!r}"
        return {"pending": {"kind": "stopped", "reason": reason, "by": "person"}}
    if said.lower() == RETRY:
        return {"pending": None, "steps": _reopened(state)}
    if run.deps.reasoner is None:
        text = str(pending.get("question", "")).removesuffix(ONLY_THESE).strip()
        asked = {**pending, "kind": "clarify", "question": f"{text} {ONLY_THESE}"}
        return {"pending": asked}
    return _replan(pending, f"{pending.get('reason', '')}; a person answered: {said}")


def _replan(pending: Pending, reason: str) -> dict[str, Any]:
    kept = {"step_ids", "reflection_id"} & pending.keys()
    wish = {"kind": "global_replan", "reason": reason[:600]}
    return {"pending": {**wish, **{name: pending[name] for name in kept}}}


def _said(pending: Pending) -> str:
    return str(pending.get("answer", "")).strip()


Way = Callable[[MendState, Run, Pending], Awaitable[dict[str, Any]]]
ORIGINS: Mapping[str, Way] = {
    "plan": _plan,
    "model": _model,
    "signal": _signal,
    "failure": _failure,
}
"""Where a question came from → what its answer leads to."""


def _reopened(state: MendState) -> dict[str, Any]:
    """Return records that make the plan's failed steps pending again."""
    records, plan = state.get("steps") or {}, Plan.model_validate(state["plan"])
    return {
        step_id: StepRecord(
            step_id=step_id,
            status=StepStatus.PENDING,
            lineage=records[step_id]["lineage"],
            corrections=records[step_id]["corrections"],
        ).plain()
        for step_id in plan.ids
        if step_id in records and records[step_id]["status"] == StepStatus.FAILED
    }
