"""Which triggers of a round call for another plan: once for each resource (F20)."""

from collections.abc import Mapping, Sequence
from typing import Any

from mendgraph.nodes.watching import PLAN_WIDE
from mendgraph.state.algebra import downstream
from mendgraph.state.outcome import StepStatus
from mendgraph.state.plan import Plan, Step
from mendgraph.state.schedule import status_of

HEEDED = "trigger_heeded"
"""Kind of the note that a resource's trigger was dealt with."""


def event_due(
    plan: Plan, records: Mapping[str, Any], notes: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return the replan a trigger asks for, if it concerns steps that have not run.

    Args:
        plan: The current plan.
        records: Plain step records by id.
        notes: The thread's notes, triggers among them.
    """
    heeded = {note.get("resource") for note in notes if note.get("kind") == HEEDED}
    for note in notes:
        if note.get("kind") != "trigger" or note["action"] not in PLAN_WIDE:
            continue
        if note["resource"] in heeded:
            continue
        concerned = [s.id for s in plan.steps if _concerns(plan, s, records, note)]
        if concerned:
            return {
                "kind": "global_replan",
                "trigger": note["trigger"],
                "step_ids": [],
                "concerned": concerned,
                "resource": note["resource"],
                "reason": f"{note['text']}; not yet run: {', '.join(concerned)}"[:300],
            }
    return None


def _concerns(
    plan: Plan, step: Step, records: Mapping[str, Any], note: Mapping[str, Any]
) -> bool:
    """Tell whether a step that has not run uses what changed."""
    waits = (StepStatus.PENDING, StepStatus.BLOCKED)
    if status_of(records, step.id) not in waits:
        return False
    told_by = note["step_id"]
    below = told_by in plan.ids and step.id in downstream(plan, told_by)
    return below or str(note["resource"]) in str(step.templates)


def heeded(event: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Return the note that keeps a trigger from asking twice."""
    return {
        "kind": HEEDED,
        "resource": event["resource"],
        "text": f"planned anew because {event['reason']}"[:300],
        "at": at,
    }
