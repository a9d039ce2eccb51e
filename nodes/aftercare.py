"""What is done for later tasks when one ends: judge, distil, tune, sweep, review.

Everything here is bounded and happens once a task, most of it only where something was
corrected; the sweep comes once a day, the review every hundred tasks.
"""

from collections.abc import Mapping
from typing import Any

from mendgraph.nodes.economy import caf_over, caf_warning
from mendgraph.nodes.meta import review_due
from mendgraph.nodes.outcomes import judge_alarms, judge_reflections
from mendgraph.nodes.sensitivity import loose_dependencies, sensitivity_map
from mendgraph.nodes.tuning import tune
from mendgraph.state.channels import MendState
from mendgraph.state.limits import Spent
from mendgraph.state.masking import mask
from mendgraph.state.outcome import TaskStatus
from mendgraph.state.plan import Plan
from mendgraph.tools.run import Run
from mendgraph.tools.uses import every

TASKS = ("mendgraph", "tasks")
"""Where figures of closed tasks are kept, for the window of the CAF (F46)."""
MARKS = ("mendgraph", "marks")
"""When something was last done that is done now and then."""
CLOSED = "closed"
DAY_S = 86_400.0
CAF_WINDOW = 100
"""Newest tasks the amplification factor is measured over."""
LOOK_EVERY = 10
"""Tasks between two looks at the window."""
KEPT_TASKS = 300


async def aftercare(
    state: MendState, run: Run, status: TaskStatus
) -> list[dict[str, Any]]:
    """Do what the end of a task is the time for; return what there is to say."""
    judge_reflections(state, run)
    judge_alarms(state, run, status)
    for entry in run.deps.registry:
        run.library.knowledge.note_schema(
            entry.name, mask(entry.tool.description), entry.schema
        )
    notes = await _lifecycle(state, run)
    figures = figures_of(state, run, status)
    await run.library.store.aput(TASKS, run.task_id, figures, index=False)
    run.library.tasks.add(CLOSED)
    notes += await _swept(run)
    notes += await _window(run, figures)
    notes += await review_due(run, int(run.library.tasks.value(CLOSED)))
    return [*notes, *_loose(state, run)]


async def _lifecycle(state: MendState, run: Run) -> list[dict[str, Any]]:
    """Distil what has earned it, tune what has lost its use; only after corrections."""
    if not state.get("corrections"):
        return []
    for strategy in await run.library.strategies.ready_to_distil():
        await run.library.rules.distil(strategy)
    return await tune(run)


def figures_of(state: MendState, run: Run, status: TaskStatus) -> dict[str, Any]:
    """Return what is kept of a closed task."""
    spent = Spent.model_validate(state.get("spent") or {}).plus(run.meter)
    return {
        "at": run.now(),
        "thread_id": run.thread_id,
        "status": status.value,
        "corrections": len(state.get("corrections") or ()),
        "correction_model_calls": spent.correction_model_calls,
        "model_calls": spent.model_calls,
        "tokens": spent.total_tokens,
    }


async def _swept(run: Run) -> list[dict[str, Any]]:
    """Sweep the memory at most once a day, whichever process comes first."""
    memory, store = run.deps.memory, run.library.store
    if memory is None:
        return []
    mark = await store.aget(MARKS, "sweep")
    if mark is None:  # the first task begins the day
        await store.aput(MARKS, "sweep", {"at": run.now()}, index=False)
        return []
    if run.now() - mark.value["at"] < DAY_S:
        return []
    await store.aput(MARKS, "sweep", {"at": run.now()}, index=False)
    report = await memory.sweep(run.now())
    text = (
        f"memory swept: {report.kept} lessons kept, {len(report.forgotten)} forgotten, "
        f"{len(report.merged)} merged, {len(report.generalised)} generalised"
    )
    return [{"kind": "sweep", "text": text, "at": run.now()}]


async def _window(run: Run, figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Warn when corrections cost too many model calls over the last tasks (F46)."""
    own = caf_over([_pair(figures)])
    if int(run.library.tasks.value(CLOSED)) % LOOK_EVERY and not caf_warning(own):
        return []
    tasks = await closed_tasks(run)
    value = caf_over(_pair(task) for task in tasks[-CAF_WINDOW:])
    warning = caf_warning(value)
    if warning is None:
        return []
    text = f"over {min(len(tasks), CAF_WINDOW)} tasks: {warning}"
    return [{"kind": "caf", "text": text, "value": round(value, 3), "at": run.now()}]


async def closed_tasks(run: Run) -> list[dict[str, Any]]:
    """Return the figures of the newest tasks, oldest first; the old are deleted."""
    items = await every(run.library.store, TASKS)
    ordered = sorted(items, key=lambda item: (item.value["at"], item.key))
    for item in ordered[:-KEPT_TASKS]:
        await run.library.store.adelete(TASKS, item.key)
    return [dict(item.value) for item in ordered[-KEPT_TASKS:]]


def _pair(figures: Mapping[str, Any]) -> tuple[int, int]:
    return figures["correction_model_calls"], figures["corrections"]


def _loose(state: MendState, run: Run) -> list[dict[str, Any]]:
    """Propose dependencies to drop, so that steps could run in parallel (F28)."""
    plain = state.get("plan") or {}
    if not plain or "given" in plain:
        return []
    reading = {e.name for e in run.deps.registry if not e.policy.has_effect}
    edges = sensitivity_map(run.library.influences.all())
    found = loose_dependencies(Plan.model_validate(plain), edges, reading)
    if not found:
        return []
    why = "; ".join(each.why for each in found[:5])
    text = f"these could run in parallel: {why}"
    return [{"kind": "sensitivity", "text": text[:600], "at": run.now()}]
