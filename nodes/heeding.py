"""Heeding a message that came in during the run, at the smallest scope (F63).

An addition changes only steps that have not succeeded; another goal resets the plan and
keeps effects; an unclear message is asked about. Whatever cannot be planned in is noted
as a constraint and the run goes on: a message is never lost and never stops a task.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mendgraph.nodes.accepting import Pending, accepted
from mendgraph.nodes.brief import MendBrief
from mendgraph.nodes.drafting import (
    done_steps,
    draft_for,
    effect_steps,
    pending_of,
    read_records,
)
from mendgraph.nodes.planning import draft_patch
from mendgraph.nodes.settle import what_next
from mendgraph.nodes.signals import Heard, read_signals
from mendgraph.state.algebra import cone
from mendgraph.state.channels import MendState
from mendgraph.state.correction import Action, Trigger
from mendgraph.state.limits import Spent
from mendgraph.state.outcome import StepStatus
from mendgraph.state.plan import Plan
from mendgraph.state.schedule import status_of
from mendgraph.tools.run import Run

GO_ON = "go on"
"""The answer that leaves the plan as it is."""


async def heed(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Take what the user said into account."""
    heard = await read_signals(state, run, list(pending["signals"]))
    update = await KINDS[heard.kind](state, run, heard, pending)
    return {**update, "notes": [*heard.notes, *update.get("notes", ())]}


async def _note(state: MendState, run: Run, heard: Heard, _: Pending) -> dict[str, Any]:
    """Keep it as a constraint and go on as if nothing had been said."""
    plan = Plan.model_validate(state["plan"])
    spent = Spent.model_validate(state.get("spent") or {}).plus(run.meter)
    records = state.get("steps") or {}
    return {
        "constraints": _with(state, heard),
        "pending": what_next(run, plan, records, spent),
    }


async def _addition(
    state: MendState, run: Run, heard: Heard, pending: Pending
) -> dict[str, Any]:
    """Change what has not succeeded yet, and nothing else."""
    plan = Plan.model_validate(state["plan"])
    draft = await draft_patch(await _brief(state, run, plan, heard), run)
    if draft.plan is not None:
        update = _accepted(state, run, draft.plan, heard, Action.LOCAL_REPLAN)
        return {**update, "constraints": _with(state, heard), "notes": draft.notes}
    if draft.unavailable:
        return {"pending": pending_of(draft, again=pending)}
    if draft.impossible:
        asked = {**pending_of(draft), "origin": "signal", "options": [GO_ON]}
        return {"pending": asked, "constraints": _with(state, heard)}
    why = "it changes no step" if draft.unchanged else draft.problem or draft.question
    told = {"kind": "signal", "text": f"the plan stays: {why}", "at": run.now()}
    return {**await _note(state, run, heard, pending), "notes": [told]}


async def _brief(state: MendState, run: Run, plan: Plan, heard: Heard) -> MendBrief:
    records = read_records(state)
    effects = await effect_steps(run, plan, records)
    plain = state.get("steps") or {}
    failed = [i for i in plan.ids if status_of(plain, i) is StepStatus.FAILED]
    unfinished = (StepStatus.PENDING, StepStatus.BLOCKED)
    waiting = [i for i in plan.ids if status_of(plain, i) in unfinished]
    return MendBrief(
        task=str(state.get("task", "")),
        plan=plan,
        failed=frozenset(failed),
        cone=cone(plan, *failed, *waiting) - effects,
        tools=tuple(run.deps.registry),
        constraints=tuple(_with(state, heard)),
        records=records,
        done=done_steps(plan, records),
        effects=effects,
        reason=f"The user adds while the task runs: {heard.text}",
        context_tokens=run.limits.context_tokens,
    )


async def _changed_goal(
    state: MendState, run: Run, heard: Heard, pending: Pending
) -> dict[str, Any]:
    """Plan anew for the new goal; only effects that happened stay."""
    before = str(state.get("task", ""))
    changed: Any = {**state, "task": heard.text}
    why = f"the user changed the goal; before it was: {before[:300]}"
    draft = await draft_for(
        changed, run, heard.text, scope="reset", reason=why, again=pending
    )
    if (draft.pending or {}).get("again"):
        return {"pending": draft.pending, "notes": draft.notes}
    told = {"task": heard.text, "notes": draft.notes}
    if draft.plan is None:
        return {**told, "pending": draft.pending}
    update = _accepted(state, run, draft.plan, heard, Action.GLOBAL_REPLAN)
    return {**update, **told}


async def _unclear(
    state: MendState, run: Run, heard: Heard, pending: Pending
) -> dict[str, Any]:
    """Ask what is meant, where somebody can be asked."""
    if not run.can_ask or run.reserve("clarifications"):
        return await _addition(state, run, heard, pending)
    asked = heard.question or "What does it mean for the task?"
    question = f"You said while the task runs: {heard.text[:300]!r}. {asked}"
    asking = {"kind": "clarify", "origin": "signal", "question": question}
    return {"pending": {**asking, "options": [GO_ON]}}


Way = Callable[[MendState, Run, Heard, Pending], Awaitable[dict[str, Any]]]
KINDS: Mapping[str, Way] = {
    "note": _note,
    "addition": _addition,
    "changed_goal": _changed_goal,
    "unclear": _unclear,
}


def _accepted(
    state: MendState, run: Run, after: Plan, heard: Heard, action: Action
) -> dict[str, Any]:
    before = Plan.model_validate(state["plan"])
    why = {"reason": heard.text, "trigger": Trigger.SIGNAL.value}
    return accepted(state, run, before, after, why, action)


def _with(state: MendState, heard: Heard) -> list[str]:
    known = list(state.get("constraints") or ())
    return known if heard.text in known else [*known, heard.text]
