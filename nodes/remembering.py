"""What outlives the task: lessons in memory, statistics and feedback in the store."""

from typing import Any

from mendgraph.nodes.work import Work
from mendgraph.state.channels import MendState
from mendgraph.state.lesson import Reflection
from mendgraph.state.outcome import TaskStatus
from mendgraph.tools.run import Run


async def remember_reflection(work: Work, run: Run, reflection: Reflection) -> None:
    """Keep a deep reflection as a lesson for later tasks."""


async def close_task(
    state: MendState, run: Run, status: TaskStatus
) -> list[dict[str, Any]]:
    """Write what the task taught; return what there is to say about it."""
    return []
