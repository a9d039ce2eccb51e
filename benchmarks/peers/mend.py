"""mendgraph, with the policies its user would write for these tools."""

from typing import Any

from mendgraph import Limits, create_mend_agent
from peers.base import Said, Setup

LIMITS = Limits(steps=1_000, executions=5_000)
READ = {"effect": "read", "idempotent": True}
POLICIES: dict[str, Any] = {
    "fetch": READ,
    "fetch_mirror": READ,
    "derive": READ,
    "derive_mirror": READ,
    "published": {**READ, "may_be_empty": True},
    "publish": {
        "effect": "write",
        "confirm_with": {
            "tool": "published",
            "arguments": {"key": "{{ args.key }}"},
            "done_when": "output.found",
            "absent_when": "!output.found",
        },
    },
}


def mend_graph(setup: Setup, limits: Limits = LIMITS, **options: Any) -> Any:
    """Return the agent; time is the world's."""
    clock = setup.world.clock
    return create_mend_agent(
        setup.model,
        tools=setup.world.tools(),
        policies=POLICIES,
        limits=limits,
        clock=clock,
        sleep=clock.sleep,
        **options,
    )


async def mend_agent(setup: Setup) -> Said:
    """Carry out a task with mendgraph; nothing is learned from run to run."""
    result = await mend_graph(setup).ainvoke({"task": setup.task.text})
    told = {
        "report": result["report"],
        "planned_again": setup.model.counts["role:plan"] > 1,
    }
    return Said(result["answer"], result["status"] == "done", told)
