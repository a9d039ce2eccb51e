"""settle: after a superstep, decide from the records what the plan loop does next."""

from collections.abc import Mapping
from typing import Any

from mendgraph.nodes.events import event_due, heeded
from mendgraph.nodes.nested import keep_plan
from mendgraph.nodes.signals import unread_signals
from mendgraph.state.channels import MendState
from mendgraph.state.limits import Exhausted, Spent, check
from mendgraph.state.outcome import Escalation, StepStatus
from mendgraph.state.plan import Plan
from mendgraph.state.schedule import all_done, runnable, status_of
from mendgraph.tools.run import Run

ROUND_CAPS = ("executions", "rounds", "seconds", "total_tokens")
"""Caps that end the task when they leave no room for another round."""
REPLAN_CAPS = ("replans", "corrections", "model_calls", "reasoning_tokens")
"""Caps that leave no room for a plan anew."""
PRIORITY = ("clarify", "global_replan", "local_replan", "give_up")
"""Which of several escalations is dealt with first."""


async def settle(state: MendState, run: Run) -> dict[str, Any]:
    """Close the round and choose: another one, a replan, a question, or the end."""
    plan = Plan.model_validate(state["plan"])
    await keep_plan(run, state["plan"])
    records = state.get("steps") or {}
    run.charge(Spent(seconds=run.deps.boards.drop(state["round"]), rounds=1))
    spent = Spent.model_validate(state.get("spent") or {}).plus(run.meter)
    update = {"round": run.deps.new_id(), "round_at": run.now()}
    pending = await _next(run, plan, records, spent)
    event = None if pending else _event(state, run, plan, records, spent)
    if event:
        return {**update, "pending": event, "notes": [heeded(event, run.now())]}
    return {**update, "pending": pending}


def _event(
    state: MendState, run: Run, plan: Plan, records: Mapping[str, Any], spent: Spent
) -> dict[str, Any] | None:
    """Return the replan a changed environment asks for, where one can be made."""
    if run.deps.reasoner is None or check(run.limits, spent, *REPLAN_CAPS):
        return None
    return event_due(plan, records, state.get("notes") or ())


async def _next(
    run: Run, plan: Plan, records: Mapping[str, Any], spent: Spent
) -> dict[str, Any] | None:
    unread = await unread_signals(run)
    if unread:
        return {"kind": "signal", "signals": unread}
    return what_next(run, plan, records, spent)


def what_next(
    run: Run, plan: Plan, records: Mapping[str, Any], spent: Spent
) -> dict[str, Any] | None:
    """Return what the records ask for; None is another round."""
    if all_done(plan, records):
        return {"kind": "finish"}
    exhausted = check(run.limits, spent, *ROUND_CAPS)
    if exhausted:
        return stop(exhausted)
    if wanted := _escalated(plan, records):
        return wanted
    return None if runnable(plan, records) else {"kind": "finish"}


def stop(exhausted: Exhausted) -> dict[str, Any]:
    """Return the decision to end because a cap is reached."""
    return {"kind": "finish", "exhausted": str(exhausted)}


def _escalated(plan: Plan, records: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the failed steps ask for, the weightiest first."""
    asked: dict[str, list[str]] = {}
    for step_id in plan.ids:
        if status_of(records, step_id) is not StepStatus.FAILED:
            continue
        escalation = records[step_id].get("escalation") or {"action": "give_up"}
        asked.setdefault(escalation["action"], []).append(step_id)
    for action in PRIORITY:
        if action in asked and action != "give_up":
            first = Escalation.model_validate(records[asked[action][0]]["escalation"])
            return {"kind": action, "step_ids": asked[action], **first.plain()}
    return None
