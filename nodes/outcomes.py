"""Judging, when a task has ended, what was believed on the way (F21, F30)."""

from typing import Any

from mendgraph.state.channels import MendState
from mendgraph.state.correction import Trigger
from mendgraph.state.lesson import NextAction, Reflection
from mendgraph.state.outcome import StepStatus, TaskStatus
from mendgraph.state.plan import Plan
from mendgraph.state.schedule import status_of
from mendgraph.tools.run import Run

PLANNED = frozenset(
    {NextAction.LOCAL_REPLAN, NextAction.GLOBAL_REPLAN, NextAction.CLARIFY}
)
"""Fixes that the plan loop carried out; the step loop judges the others at once."""


def judge_reflections(state: MendState, run: Run) -> None:
    """Record for the calibration whether the causes that led to a new plan held."""
    newest = {kept["id"]: kept for kept in state.get("reflections") or ()}
    for kept in newest.values():
        reflection = Reflection.model_validate(kept)
        if reflection.light or reflection.resolved is not None:
            continue
        if reflection.decision in PLANNED:
            run.library.calibration.record(
                reflection.category,
                reflection.subclass,
                reflection.stated,
                mended(state, reflection.step_id),
            )


def mended(state: MendState, step_id: str) -> bool:
    """Tell whether what stands in the place of a failed step is done.

    A step the new plan has no need of counts as mended when the plan was carried out.
    """
    plan = Plan.model_validate(state.get("plan") or {})
    records: dict[str, Any] = state.get("steps") or {}
    lineage = (records.get(step_id) or {}).get("lineage") or step_id
    own = [i for i in plan.ids if (records.get(i) or {}).get("lineage", i) == lineage]
    wanted = own or plan.ids
    return bool(wanted) and all(
        status_of(records, i) is StepStatus.DONE for i in wanted
    )


def judge_alarms(state: MendState, run: Run, status: TaskStatus) -> None:
    """Count soft triggers, and those after which nothing turned out wrong."""
    records: dict[str, Any] = state.get("steps") or {}
    blamed = {r.get("cause_step") for r in state.get("reflections") or ()}
    for step_id, tool in _alarmed(state).items():
        record = records.get(step_id) or {}
        right = record.get("status") == StepStatus.DONE and step_id not in blamed
        false = right and status is TaskStatus.DONE
        run.library.knowledge.alarm(tool, false=false)
    for entry in state.get("corrections") or ():
        changed = entry["trigger"] == Trigger.SOFT and entry["tier"] != "none"
        owner = (records.get(entry["step_id"]) or {}).get("tool")
        if changed and entry["worked"] and owner:
            run.library.knowledge.alarm(str(owner), false=False)


def _alarmed(state: MendState) -> dict[str, str]:
    """Return the steps whose passing result set off a soft trigger, with their tool."""
    return {
        str(note["step_id"]): str(note["tool"])
        for note in state.get("notes") or ()
        if note.get("kind") == "trigger"
        and note.get("trigger") == Trigger.SOFT
        and "slow" not in note.get("signs", ())
    }
