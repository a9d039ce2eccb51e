"""What may run next: always computed from the plan and the records in state.

A replaced plan's waiting steps are not in it any more, so they cannot be scheduled.
"""

from collections.abc import Mapping
from typing import Any

from mendgraph.state.algebra import topological
from mendgraph.state.outcome import StepStatus
from mendgraph.state.plan import Plan, Step

SETTLED = frozenset(
    {StepStatus.DONE, StepStatus.FAILED, StepStatus.VOID, StepStatus.WAITING}
)
"""Statuses that another round does not change by itself."""


def status_of(records: Mapping[str, Any], step_id: str) -> StepStatus:
    """Return where a step stands; one without a record is pending."""
    record = records.get(step_id)
    return StepStatus(record["status"]) if record else StepStatus.PENDING


def runnable(plan: Plan, records: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return the steps to send, in topological order.

    A step is sent when everything it depends on is done or is sent with it. A failed
    dependency never counts as satisfied.
    """
    sent: dict[str, Step] = {}
    for step in topological(plan):
        if status_of(records, step.id) in SETTLED:
            continue
        if all(
            needed in sent or status_of(records, needed) is StepStatus.DONE
            for needed in step.dependencies
        ):
            sent[step.id] = step
    return tuple(sent.values())


def all_done(plan: Plan, records: Mapping[str, Any]) -> bool:
    """Tell whether every step of the current plan is done."""
    return all(status_of(records, i) is StepStatus.DONE for i in plan.ids)
