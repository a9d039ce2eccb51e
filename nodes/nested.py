"""What a sub-task leaves in the ledger, seen from the step that stands for it (F17)."""

from collections.abc import Mapping
from typing import Any

from mendgraph.state.algebra import lineage
from mendgraph.state.effect import EffectStatus, LedgerEntry
from mendgraph.state.outcome import StepRecord
from mendgraph.state.plan import Plan
from mendgraph.tools.run import Run

NOTHING_HAPPENED = frozenset({EffectStatus.FAILED, EffectStatus.COMPENSATED})
"""Ledger statuses that leave nothing in the world."""


def subtask_id(task_id: str, first: str) -> str:
    """Return the task id of a step's sub-task; the same for every try.

    Args:
        task_id: The parent's.
        first: The lineage of the step.
    """
    return f"{task_id}/{first}"


async def standing(run: Run, task_id: str) -> list[LedgerEntry]:
    """Return the effects of a task that stand in the world, or may."""
    entries = await run.library.ledger.of_thread(f"{run.thread_id}:{task_id}")
    return [entry for entry in entries if entry.status not in NOTHING_HAPPENED]


async def mark_effects(run: Run, task_id: str) -> None:
    """Note on every task above that one of its sub-tasks has had an effect."""
    if not await standing(run, task_id):
        return
    while task_id != run.task_id and "/" in task_id:
        await run.vault.put_output(_mark(task_id), value=True)
        task_id = task_id.rpartition("/")[0]


async def affected(
    run: Run, plan: Plan, records: Mapping[str, StepRecord]
) -> frozenset[str]:
    """Return the steps whose sub-tasks have had effects, at any depth."""
    found = set()
    for step in plan.steps:
        if step.subtask is None:
            continue
        record = records.get(step.id)
        first = record.lineage if record else lineage(plan, step.id)
        task_id = subtask_id(run.task_id, first)
        if await _kept(run, _mark(task_id)) or await standing(run, task_id):
            found.add(step.id)
    return frozenset(found)


async def keep_plan(run: Run, plan: Mapping[str, Any] | None) -> None:
    """Keep the plan of a sub-task, so that another try of it can go on with it."""
    if run.deps.depth and plan and plan.get("steps"):
        await run.vault.put_output(f"plan@{run.task_id}", dict(plan))


async def plan_to_go_on(run: Run, task_id: str) -> dict[str, Any] | None:
    """Return the plan of an earlier try that has had effects: they are not repeated."""
    touched = await _kept(run, _mark(task_id)) or await standing(run, task_id)
    return await _kept(run, f"plan@{task_id}") if touched else None


async def _kept(run: Run, reference: str) -> Any:
    try:
        return await run.vault.get_output(reference)
    except KeyError:
        return None


def _mark(task_id: str) -> str:
    return f"effects@{task_id}"
