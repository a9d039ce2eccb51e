"""mendgraph, with the policies its user would write for these tools."""

from typing import Any

from mendgraph import Limits
from mendgraph.bench.desk import LIMITS, desk
from peers.base import Said, Setup


def mend_graph(setup: Setup, limits: Limits = LIMITS, **options: Any) -> Any:
    """Return the agent; time is the world's."""
    return desk(setup.model, setup.world, limits, **options)


async def mend_agent(setup: Setup) -> Said:
    """Carry out a task with mendgraph; nothing is learned from run to run."""
    result = await mend_graph(setup).ainvoke({"task": setup.task.text})
    told = {
        "report": result["report"],
        "planned_again": setup.model.counts["role:plan"] > 1,
    }
    return Said(result["answer"], result["status"] == "done", told)
