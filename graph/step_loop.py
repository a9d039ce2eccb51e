"""The step loop: execute → monitor → retry_tier or reflect, until a branch ends."""

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from mendgraph.graph.bind import BoundStep, Route
from mendgraph.graph.routes import retry_route, step_route
from mendgraph.nodes.execute import execute
from mendgraph.nodes.monitor import monitor
from mendgraph.nodes.reflect import reflect
from mendgraph.nodes.retry_tier import retry_tier
from mendgraph.state.channels import StepChannels, StepOutput
from mendgraph.tools.run import Deps

StepGraph = CompiledStateGraph[Any, Any, Any, Any]


def step_loop(deps: Deps) -> StepGraph:
    """Return the compiled subgraph every branch runs."""
    builder = StateGraph(StepChannels, output_schema=StepOutput)
    for name, node in (
        ("execute", execute),
        ("monitor", monitor),
        ("reflect", reflect),
        ("retry_tier", retry_tier),
    ):
        builder.add_node(name, BoundStep(name, node, deps))
    builder.add_edge(START, "execute")
    builder.add_edge("execute", "monitor")
    onward, again = Route(step_route), Route(retry_route)
    builder.add_conditional_edges("monitor", onward, ["retry_tier", "reflect", END])
    builder.add_conditional_edges("reflect", onward, ["retry_tier", END])
    builder.add_conditional_edges("retry_tier", again, ["execute", "reflect", END])
    return builder.compile(name="step")
