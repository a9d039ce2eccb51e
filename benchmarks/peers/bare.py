"""Bare LangGraph with a given graph and its retry policy; and the agent that lies.

The bare graph is written for the task by hand, so it needs no model and cannot plan; it
shows what LangGraph's own retries mend. The null agent does nothing and says DONE.
"""

from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy
from simulated.mind import takes_sources

from mendgraph.bench.tasks import Wanted
from peers.base import Said, Setup


def _merged(left: dict[str, Any] | None, right: dict[str, Any]) -> dict[str, Any]:
    return {**(left or {}), **right}


class Known(TypedDict, total=False):
    """Values by step."""

    values: Annotated[dict[str, Any], _merged]


RETRY = RetryPolicy(
    max_attempts=3, initial_interval=0.0, jitter=False, retry_on=Exception
)


async def bare_langgraph(setup: Setup) -> Said:
    """Carry out a task as a LangGraph graph with one node a step."""
    tools = {tool.name: tool for tool in setup.world.tools()}
    builder: Any = StateGraph(Known)

    def node_of(step: Wanted) -> Any:
        async def node(state: Known) -> Known:
            args: dict[str, Any] = {"key": step.key}
            if takes_sources(step):
                args["sources"] = [state["values"][need] for need in step.needs]
            told = await tools[step.tool].ainvoke(args)
            return {"values": {step.id: told.get("value", "")}}

        return node

    for step in setup.task.steps:
        builder.add_node(step.id, node_of(step), retry_policy=RETRY)
        builder.add_edge(list(step.needs) or START, step.id)
    result = await builder.compile().ainvoke({"values": {}})
    return Said(f"DONE. {result['values']}", claims=True, extra={})


async def null_agent(setup: Setup) -> Said:
    """Do nothing and say that it is done."""
    del setup
    return Said("DONE.", claims=True, extra={})
