"""replan: change the plan at the smallest scope that can help, or say it is impossible."""

from typing import Any

from mendgraph.state.channels import MendState
from mendgraph.tools.run import Run


async def replan(state: MendState, run: Run) -> dict[str, Any]:
    """Propose a new version of the plan."""
    return {"pending": {"kind": "finish", "reason": "no model to replan with"}}
