"""replan: change the plan at the smallest scope that can help, or say it is impossible.

Local first: the cone is computed here, the model proposes a patch, the merge checks it.
A patch refused twice leads to a global replan, an impossible one to a person.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mendgraph.nodes.brief import MendBrief
from mendgraph.nodes.drafting import (
    done_steps,
    draft_for,
    effect_steps,
    pending_of,
    read_records,
)
from mendgraph.nodes.planning import draft_patch
from mendgraph.nodes.signals import read_signals
from mendgraph.state.algebra import Proposal, ancestors, cone, diff
from mendgraph.state.channels import MendState
from mendgraph.state.correction import Action, CorrectionEntry, Trigger
from mendgraph.state.events import EventKind
from mendgraph.state.lesson import Reflection
from mendgraph.state.outcome import StepRecord, StepStatus
from mendgraph.state.plan import Plan
from mendgraph.tools.run import Run

Pending = Mapping[str, Any]


async def replan(state: MendState, run: Run) -> dict[str, Any]:
    """Propose the next version of the plan against the current one."""
    pending = state.get("pending") or {}
    if run.deps.reasoner is None:
        reason = f"{pending.get('reason', '')}; there is no model to plan anew with"
        return {"pending": {"kind": "finish", "reason": reason.strip("; ")}}
    return await KINDS[pending["kind"]](state, run, pending)


async def _local(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Replace the failed steps and what is downstream of them (F41)."""
    plan = Plan.model_validate(state["plan"])
    reflection = reflection_of(state, pending)
    effects = await effect_steps(run)
    failed = _to_blame(plan, frozenset(pending["step_ids"]), reflection, effects)
    brief = _brief(state, run, plan, failed, effects, pending, reflection)
    draft = await draft_patch(brief, run)
    if draft.plan is not None:
        return accepted(state, run, plan, draft.plan, pending, Action.LOCAL_REPLAN)
    if draft.impossible or draft.unavailable:
        asked = pending_of(draft)
        return {
            "pending": {**asked, "step_ids": pending["step_ids"], "origin": "failure"}
        }
    return await _global(state, run, {**pending, "reason": f"{draft.problem}"})


def _to_blame(
    plan: Plan,
    failed: frozenset[str],
    reflection: Reflection | None,
    effects: frozenset[str],
) -> frozenset[str]:
    """Return the steps to mend: the failed ones, and an ancestor whose output is to blame."""
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
        reason=str(pending.get("reason", "")),
        context_tokens=run.limits.context_tokens,
    )


async def _global(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Plan anew, finished results kept (F44)."""
    plan = Plan.model_validate(state["plan"])
    draft = await draft_for(
        state,
        run,
        str(state.get("task", "")),
        reason=str(pending.get("reason", "")),
        reflection=reflection_of(state, pending),
    )
    if draft.plan is None:
        asked = draft.pending or {"kind": "finish"}
        return {"pending": asked, "notes": draft.notes}
    update = accepted(state, run, plan, draft.plan, pending, Action.GLOBAL_REPLAN)
    return {**update, "notes": draft.notes}


async def _signal(state: MendState, run: Run, pending: Pending) -> dict[str, Any]:
    """Take a message that came in during the run (F63)."""
    heard = await read_signals(state, run, pending)
    if heard.question:
        return {
            "pending": {
                "kind": "clarify",
                "origin": "signal",
                "question": heard.question,
            },
            "notes": heard.notes,
        }
    plan = Plan.model_validate(state["plan"])
    constraints = [*(state.get("constraints") or ()), *heard.constraints]
    changed = {**state, "constraints": constraints, "task": heard.task}
    reason = "; ".join(heard.constraints) or heard.task
    draft = await draft_for(
        changed,  # type: ignore[arg-type]  # the same channels with two values changed
        run,
        heard.task,
        scope="reset" if heard.changed_goal else "keep",
        reason=reason,
    )
    told = {"constraints": constraints, "task": heard.task}
    notes = [*heard.notes, *draft.notes]
    if draft.plan is None:
        return {**told, "pending": draft.pending, "notes": notes}
    kind = {**pending, "reason": reason, "trigger": Trigger.SIGNAL.value}
    update = accepted(state, run, plan, draft.plan, kind, Action.GLOBAL_REPLAN)
    return {**update, **told, "notes": notes}


KINDS: dict[str, Callable[[MendState, Run, Pending], Awaitable[dict[str, Any]]]] = {
    "local_replan": _local,
    "global_replan": _global,
    "signal": _signal,
}


def reflection_of(state: MendState, pending: Pending) -> Reflection | None:
    """Return the reflection that led to the replan."""
    wanted = pending.get("reflection_id")
    for kept in reversed(state.get("reflections") or []):
        if kept["id"] == wanted:
            return Reflection.model_validate(kept)
    return None


def accepted(
    state: MendState,
    run: Run,
    before: Plan,
    after: Plan,
    pending: Pending,
    action: Action,
) -> dict[str, Any]:
    """Return the update that proposes a new version and voids what it replaced."""
    run.spend(replans=1, corrections=1)
    changed = diff(before, after)
    run.emit(
        EventKind.REPLANNED,
        f"version {after.version}: {_told(changed.plain())}",
        version=after.version,
        scope=action.value,
        **changed.plain(),
    )
    proposal = Proposal(base_version=before.version, plan=after, author=action.value)
    return {
        "plan": proposal.plain(),
        "steps": _records(state, before, after),
        "corrections": [_entry(state, run, before, pending, action)],
        "pending": None,
    }


def _told(changed: Mapping[str, Any]) -> str:
    parts = (
        f"{name} {', '.join(changed[name])}"
        for name in ("added", "dropped", "changed")
        if changed[name]
    )
    return "; ".join(parts) or "the same steps"


def _records(state: MendState, before: Plan, after: Plan) -> dict[str, Any]:
    """Void the records of steps planned away; reopen those that must run again."""
    records = read_records(state)
    gone = [i for i in before.ids if i not in after.ids]
    voided = {
        i: (records.get(i) or _empty(i)).but(status=StepStatus.VOID).plain()
        for i in gone
    }
    return voided | {i: r.plain() for i, r in _reopened(records, before, after).items()}


def _empty(step_id: str) -> StepRecord:
    return StepRecord(step_id=step_id, status=StepStatus.VOID, lineage=step_id)


def _reopened(
    records: Mapping[str, StepRecord], before: Plan, after: Plan
) -> dict[str, StepRecord]:
    """Return failed steps that stay, and finished ones whose input is made anew."""
    fresh = {i for i in after.ids if i not in before.ids}
    changed = fresh | set(diff(before, after).changed)
    again: dict[str, StepRecord] = {}
    for step_id in after.ids:
        record = records.get(step_id)
        if record is None:
            continue
        stale = step_id in changed or ancestors(after, step_id) & changed
        failed = record.status in {StepStatus.FAILED, StepStatus.WAITING}
        if failed or (record.status is StepStatus.DONE and stale):
            again[step_id] = StepRecord(
                step_id=step_id,
                status=StepStatus.PENDING,
                lineage=record.lineage,
                corrections=record.corrections + 1,
            )
    return again


def _entry(
    state: MendState, run: Run, before: Plan, pending: Pending, action: Action
) -> dict[str, Any]:
    step_id = next(iter(pending.get("step_ids") or ()), None)
    record = (state.get("steps") or {}).get(step_id or "") or {}
    verdict = (record.get("failure") or {}).get("classification") or {}
    return CorrectionEntry(
        step_id=step_id,
        trigger=Trigger(pending.get("trigger", Trigger.HARD)),
        category=verdict.get("category", "plan_error"),
        subclass=verdict.get("subclass", "-"),
        action=action,
        tier="plan",
        reason=str(pending.get("reason", ""))[:300],
        at=run.now(),
        plan_version=before.version,
        model_calls=run.meter.correction_model_calls,
        prompt_tokens=run.meter.prompt_tokens,
    ).plain()
