"""Taking a new plan version: proposed, recorded, what it replaced voided (F42)."""

from collections.abc import Mapping
from typing import Any

from mendgraph.nodes.drafting import read_records
from mendgraph.nodes.stable import failed_corrections, stable_point
from mendgraph.state.algebra import Proposal, ancestors, diff
from mendgraph.state.channels import MendState
from mendgraph.state.correction import Action, CorrectionEntry, Trigger
from mendgraph.state.events import EventKind
from mendgraph.state.outcome import StepRecord, StepStatus
from mendgraph.state.plan import Plan
from mendgraph.tools.run import Run

Pending = Mapping[str, Any]


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
    records, reason = state.get("steps") or {}, str(pending.get("reason", ""))
    failed = failed_corrections(state.get("corrections") or (), records, step_id)
    back = stable_point(before, records) if failed else None
    if back:
        reason = f"{failed} earlier replans of it failed; back at {back}: {reason}"
    return CorrectionEntry(
        step_id=step_id,
        trigger=Trigger(pending.get("trigger", Trigger.HARD)),
        category=verdict.get("category", "plan_error"),
        subclass=verdict.get("subclass", "-"),
        action=action,
        tier="plan",
        reason=reason[:300],
        at=run.now(),
        plan_version=before.version,
        returned_to=back,
        model_calls=run.meter.correction_model_calls,
        prompt_tokens=run.meter.prompt_tokens,
    ).plain()
