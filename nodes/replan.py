"""replan: change the plan at the smallest scope that can help, or say it is impossible.

Local first: the cone is computed here, the model proposes a patch, the merge checks it.
A patch refused twice leads to a global replan, an impossible one to a person.
"""

from collections.abc import Awaitable, Callable
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
from mendgraph.nodes.heeding import heed
from mendgraph.nodes.planning import draft_patch
from mendgraph.nodes.stable import evidence
from mendgraph.state.algebra import ancestors, cone
from mendgraph.state.channels import MendState
from mendgraph.state.correction import Action, Trigger
from mendgraph.state.lesson import Reflection
from mendgraph.state.limits import Exhausted
from mendgraph.state.plan import Plan
from mendgraph.tools.run import Run

METERS = ("replans", "corrections", "model_calls", "reasoning_tokens")
"""Caps that leave no room for another replan."""


async def replan(state: MendState, run: Run) -> dict[str, Any]:
    """Propose the next version of the plan against the current one."""
    pending = state.get("pending") or {}
    kind = pending["kind"]
    if kind == "signal":
        return await heed(state, run, pending)
    if run.deps.reasoner is None:
        reason = f"{pending.get('reason', '')}; there is no model to plan anew with"
        return {"pending": {"kind": "finish", "reason": reason.strip("; ")}}
    exhausted = run.reserve(*METERS) or _lineage_spent(state, run, pending)
    if exhausted:
        return {"pending": {"kind": "finish", "exhausted": str(exhausted)}}
    return await KINDS[kind](state, run, pending)


def _lineage_spent(state: MendState, run: Run, pending: Pending) -> Exhausted | None:
    """Return the cap of a failed step's lineage, replacements counted (F45)."""
    records, allowed = state.get("steps") or {}, run.limits.corrections_per_step
    failed = [records[i] for i in pending.get("step_ids") or () if i in records]
    made = max((record["corrections"] for record in failed), default=0)
    if made < allowed:
        return None
    return Exhausted(limit="corrections_per_step", spent=made, allowed=allowed)


async def _local(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Replace the failed steps and what is downstream of them (F41)."""
    plan = Plan.model_validate(state["plan"])
    reflection = reflection_of(state, pending)
    effects = await effect_steps(run, plan, read_records(state))
    failed = _to_blame(plan, frozenset(pending["step_ids"]), reflection, effects)
    brief = _brief(state, run, plan, failed, effects, pending, reflection)
    draft = await draft_patch(brief, run)
    if draft.plan is not None:
        return accepted(state, run, plan, draft.plan, pending, Action.LOCAL_REPLAN)
    if draft.unavailable:
        return {"pending": pending_of(draft, again=pending)}
    if draft.impossible:
        asked = pending_of(draft)
        kept = {name: pending.get(name) for name in ("step_ids", "reflection_id")}
        return {"pending": {**asked, **kept, "origin": "failure"}}
    return await _global(state, run, {**pending, "reason": f"{draft.problem}"})


def _to_blame(
    plan: Plan,
    failed: frozenset[str],
    reflection: Reflection | None,
    effects: frozenset[str],
) -> frozenset[str]:
    """Return the steps to mend: the failed, and an ancestor that is to blame."""
    cause = reflection.cause_step if reflection else None
    above = frozenset[str]().union(*(ancestors(plan, i) for i in failed))
    blamed = cause is not None and cause in above and cause not in effects
    return failed | {cause} if blamed and cause else failed


def _brief(
    state: MendState,
    run: Run,
    plan: Plan,
    failed: frozenset[str],
    effects: frozenset[str],
    pending: Pending,
    reflection: Reflection | None,
) -> MendBrief:
    records = read_records(state)
    return MendBrief(
        task=str(state.get("task", "")),
        plan=plan,
        failed=failed,
        cone=cone(plan, *failed),
        tools=tuple(run.deps.registry),
        constraints=tuple(state.get("constraints") or ()),
        records=records,
        done=done_steps(plan, records),
        effects=effects,
        reflection=reflection,
        reason=_why(state, pending),
        context_tokens=run.limits.context_tokens,
    )


async def _global(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Plan anew, finished results kept (F44)."""
    plan = Plan.model_validate(state["plan"])
    draft = await draft_for(
        state,
        run,
        str(state.get("task", "")),
        reason=_why(state, pending),
        reflection=reflection_of(state, pending),
        again=pending,
    )
    if draft.plan is None:
        asked: dict[str, Any] | None = draft.pending or {"kind": "finish"}
        if pending.get("trigger") == Trigger.ENVIRONMENT:
            asked = None  # nothing has failed: the plan there is goes on
        return {"pending": asked, "notes": draft.notes}
    update = accepted(state, run, plan, draft.plan, pending, Action.GLOBAL_REPLAN)
    return {**update, "notes": draft.notes}


KINDS: dict[str, Callable[[MendState, Run, Pending], Awaitable[dict[str, Any]]]] = {
    "local_replan": _local,
    "global_replan": _global,
}


def _why(state: MendState, pending: Pending) -> str:
    """Return the reason, and how earlier corrections of the same steps failed (F43)."""
    before = evidence(state.get("steps") or {}, pending.get("step_ids") or ())
    return "\n".join(part for part in (str(pending.get("reason", "")), before) if part)


def reflection_of(state: MendState, pending: Pending) -> Reflection | None:
    """Return the reflection that led to the replan."""
    wanted = pending.get("reflection_id")
    for kept in reversed(state.get("reflections") or []):
        if kept["id"] == wanted:
            return Reflection.model_validate(kept)
    return None
