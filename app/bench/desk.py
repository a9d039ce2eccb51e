"""mendgraph in the benchmarks' world, with the policies its user would write."""

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel

from mendgraph.bench.tasks import Task
from mendgraph.bench.world import World
from mendgraph.graph.agent import MendGraph
from mendgraph.graph.build import create_mend_agent
from mendgraph.state.limits import Limits

LIMITS = Limits(steps=1_000, executions=5_000)
READ = {"effect": "read", "idempotent": True}
POLICIES: Mapping[str, Any] = {
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


def desk(
    model: BaseChatModel | None, world: World, limits: Limits = LIMITS, **options: Any
) -> MendGraph:
    """Return the agent; waits pass in the world's time, so nobody sits through them."""
    return create_mend_agent(
        model,
        tools=world.tools(),
        policies=POLICIES,
        limits=limits,
        clock=world.clock,
        sleep=world.clock.sleep,
        **options,
    )


def holds(task: Task, world: World, answer: str) -> bool:
    """Tell whether an answer has the right values and every effect happened."""
    published = all(key in world.effects for key in task.published)
    return published and all(value in answer for value in task.last)
