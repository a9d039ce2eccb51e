"""From a state to the planner's brief, and from its draft to an update."""

from typing import Any

from mendgraph.state.channels import MendState
from mendgraph.state.plan import Plan
from mendgraph.state.record import Record
from mendgraph.tools.run import Run


class Drafted(Record):
    """A plan that may run, or what has to happen first."""

    plan: Plan | None = None
    pending: dict[str, Any] | None = None
    notes: list[dict[str, Any]] = []


async def draft_for(state: MendState, run: Run, task: str) -> Drafted:
    """Let the model plan."""
    raise NotImplementedError
