"""Steps of an ended task that are tried again when the task is taken up once more."""

from typing import Any

from mendgraph.state.channels import MendState
from mendgraph.state.outcome import StepRecord, StepStatus

OPEN = frozenset({StepStatus.FAILED, StepStatus.WAITING, StepStatus.BLOCKED})
"""Statuses that another try may change."""


def reopened_steps(state: MendState) -> dict[str, Any]:
    """Return records that make failed, waiting and blocked steps pending."""
    return {
        step_id: StepRecord(
            step_id=step_id,
            status=StepStatus.PENDING,
            lineage=record["lineage"],
        ).plain()
        for step_id, record in (state.get("steps") or {}).items()
        if record["status"] in OPEN
    }
