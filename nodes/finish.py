"""finish: say truthfully what is done, what is not and why; close the task (F47)."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from mendgraph.nodes.economy import CAF_WARNING, caf
from mendgraph.nodes.remembering import close_task
from mendgraph.state.channels import MendState
from mendgraph.state.effect import IN_DOUBT, EffectStatus
from mendgraph.state.events import EventKind
from mendgraph.state.limits import Spent
from mendgraph.state.outcome import StepStatus, TaskStatus
from mendgraph.state.plan import Plan
from mendgraph.state.schedule import status_of
from mendgraph.tools.run import Run

NOT_ENDED = IN_DOUBT | {EffectStatus.PENDING, EffectStatus.COMPENSATING}
"""Ledger statuses a person must know of."""


async def finish(state: MendState, run: Run) -> dict[str, Any]:
    """Close the task with status, answer and report."""
    plan = _plan(state)
    records = state.get("steps") or {}
    pending = state.get("pending") or {}
    undone = _undone(plan, records, pending)
    status = _status(plan, records, undone, pending)
    doubts = await _open_effects(run)
    answer = _answer(plan, records, undone, status, pending)
    answer = "\n".join([answer, *map(_doubt, doubts)])
    report = _report(state, run, plan, undone, pending) | {"open_effects": doubts}
    notes = await close_task(state, run, status)
    run.emit(EventKind.TASK_FINISHED, answer[:300], status=status.value)
    return {
        "status": status.value,
        "answer": answer,
        "report": report,
        "messages": [AIMessage(content=answer)],
        "pending": None,
        "notes": notes,
    }


async def _open_effects(run: Run) -> list[dict[str, Any]]:
    """Return the task's effects whose end is not known."""
    entries = await run.library.ledger.of_thread(run.ledger_id)
    return [
        {
            "step_id": entry.step_id,
            "tool": entry.tool,
            "status": entry.status.value,
            "arguments": entry.arguments,
            "note": entry.note,
        }
        for entry in entries
        if entry.status in NOT_ENDED
    ]


def _doubt(effect: Mapping[str, Any]) -> str:
    told = f" ({effect['note']})" if effect["note"] else ""
    return (
        f"Not known to have ended: {effect['tool']} of step {effect['step_id']} is "
        f"{effect['status']}{told}; look it up before doing it again."
    )


def _plan(state: MendState) -> Plan:
    plan = state.get("plan")
    return Plan() if not plan or "given" in plan else Plan.model_validate(plan)


def _undone(
    plan: Plan, records: Mapping[str, Any], pending: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return every step that is not done, with the reason."""
    return [
        {
            "step_id": step.id,
            "status": status.value,
            "why": _why(records, step.id, pending),
        }
        for step in plan.steps
        if (status := status_of(records, step.id)) is not StepStatus.DONE
    ]


def _why(records: Mapping[str, Any], step_id: str, pending: Mapping[str, Any]) -> str:
    record = records.get(step_id)
    if record is None:
        return pending.get("exhausted") or pending.get("reason") or "it was not reached"
    if record["blocked_by"]:
        return "it waits for " + ", ".join(record["blocked_by"])
    escalation, summary = record["escalation"], record["summary"]
    parts = [summary["error_message"] if summary else None]
    parts.append(escalation["reason"] if escalation else None)
    told = "; ".join(dict.fromkeys(part for part in parts if part))
    return told or pending.get("exhausted") or "it did not end"


def _status(
    plan: Plan,
    records: Mapping[str, Any],
    undone: list[dict[str, Any]],
    pending: Mapping[str, Any],
) -> TaskStatus:
    if plan.steps and not undone:
        return TaskStatus.DONE
    if pending.get("kind") == "stopped" and pending.get("by") == "person":
        return TaskStatus.CANCELLED
    some = any(status_of(records, i) is StepStatus.DONE for i in plan.ids)
    return TaskStatus.PARTIAL if some else TaskStatus.FAILED


def _answer(
    plan: Plan,
    records: Mapping[str, Any],
    undone: list[dict[str, Any]],
    status: TaskStatus,
    pending: Mapping[str, Any],
) -> str:
    done = len(plan.steps) - len(undone)
    lines = [f"{done} of {len(plan.steps)} steps are done."]
    reason = pending.get("exhausted") or pending.get("reason")
    if status is not TaskStatus.DONE and reason:
        lines.append(f"Stopped: {reason}")
    lines += [
        f"Not done: {u['step_id']} ({u['status']}): {u['why']}" for u in undone[:20]
    ]
    lines += _results(plan, records)
    return "\n".join(lines)


def _results(plan: Plan, records: Mapping[str, Any]) -> list[str]:
    """Return the digests of the steps nothing else depends on."""
    needed = {i for step in plan.steps for i in step.dependencies}
    return [
        f"{step.id}: {records[step.id]['summary']['output_digest']}"
        for step in plan.steps
        if step.id not in needed
        and status_of(records, step.id) is StepStatus.DONE
        and records[step.id]["summary"]
    ]


def _report(
    state: MendState,
    run: Run,
    plan: Plan,
    undone: list[dict[str, Any]],
    pending: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the figures of the document's quantitative review (10.6) and more."""
    spent = Spent.model_validate(state.get("spent") or {}).plus(run.meter)
    trail = state.get("corrections") or []
    factor = caf(spent, len(trail))
    missing = {item["step_id"] for item in undone}
    return {
        "task_id": state.get("task_id"),
        "plan_version": plan.version,
        "steps": len(plan.steps),
        "done": [i for i in plan.ids if i not in missing],
        "not_done": undone,
        "stopped_by": pending.get("exhausted") or pending.get("reason"),
        "executions": spent.executions,
        "corrections": len(trail),
        "retries": {"tier1": spent.tier1, "tier2": spent.tier2, "tier3": spent.tier3},
        "replans": spent.replans,
        "clarifications": spent.clarifications,
        "model_calls": spent.model_calls,
        "caf": factor,
        "caf_warning": factor > CAF_WARNING,
        "tokens": spent.total_tokens,
        "reflections": len(state.get("reflections") or []),
        "seconds": round(run.now() - state.get("started_at", run.now()), 3),
        "spent": spent.plain(),
        "limits": run.limits.plain(),
        "conflicts": list(plan.conflicts),
        "notes": list(state.get("notes") or []),
    }
