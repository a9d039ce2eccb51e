"""The plan loop: think → steps → settle, with clarify, replan and finish around it."""

from typing import Any

from langgraph.graph import END, START, StateGraph

from mendgraph.graph.bind import Bound, Route
from mendgraph.graph.routes import plan_route
from mendgraph.graph.settings import RunSettings
from mendgraph.graph.step_loop import step_loop
from mendgraph.nodes.clarify import clarify
from mendgraph.nodes.finish import finish
from mendgraph.nodes.replan import replan
from mendgraph.nodes.settle import settle
from mendgraph.nodes.think import think
from mendgraph.state.channels import MendInput, MendOutput, MendState
from mendgraph.tools.run import Deps

Builder = StateGraph[Any, Any, Any, Any]


def plan_loop(deps: Deps) -> Builder:
    """Return the uncompiled graph of both loops."""
    builder: Builder = StateGraph(
        MendState,
        context_schema=RunSettings,
        input_schema=MendInput,
        output_schema=MendOutput,
    )
    for name, node in (
        ("think", think),
        ("settle", settle),
        ("replan", replan),
        ("clarify", clarify),
        ("finish", finish),
    ):
        builder.add_node(name, Bound(name, node, deps))
    builder.add_node("step", step_loop(deps))
    onward = Route(plan_route)
    builder.add_edge(START, "think")
    builder.add_conditional_edges(
        "think", onward, ["step", "replan", "clarify", "finish"]
    )
    builder.add_edge("step", "settle")
    builder.add_conditional_edges(
        "settle", onward, ["step", "replan", "clarify", "finish"]
    )
    builder.add_conditional_edges(
        "replan", onward, ["step", "replan", "clarify", "finish"]
    )
    builder.add_edge("clarify", "think")
    builder.add_edge("finish", END)
    return builder
