"""The step loop: execute → monitor → retry_tier or reflect, until a branch ends."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from mendgraph.graph.bind import CHECKPOINTER, BoundStep, Route
from mendgraph.graph.recast import recast
from mendgraph.graph.routes import retry_route, step_route
from mendgraph.nodes.execute import execute
from mendgraph.nodes.monitor import monitor
from mendgraph.nodes.reflect import reflect
from mendgraph.nodes.retry_tier import retry_tier
from mendgraph.state.channels import StepChannels, StepOutput
from mendgraph.tools.board import Boards
from mendgraph.tools.deferred import DeferredSaver
from mendgraph.tools.run import Deps


class StepGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """The compiled step loop, run once for each branch of a round.

    A step that passes at once keeps no checkpoints of it, and a branch that waits for
    others is set up after those that can begin.
    """

    def __init__(self, *, boards: Boards, **parts: Any) -> None:
        super().__init__(**parts)
        self.boards = boards

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> Iterator[Any]:
        """Run the loop and yield what it streams, as LangGraph does."""
        return super().stream(input, deferring(config), **options)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Run the loop and yield what it streams, as LangGraph does."""
        run = super().astream(input, deferring(config), **options)
        parts = cast("AsyncGenerator[Any, None]", run)
        async with self._in_turn(input), aclosing(parts):
            async for part in parts:
                yield part

    @asynccontextmanager
    async def _in_turn(self, input: Any) -> AsyncIterator[None]:
        """Let the branches that can begin go first."""
        brief = input["brief"] if isinstance(input, Mapping) else {}
        gate = self.boards.gate(str(brief.get("round", "")))
        step_id = str(brief.get("step", {}).get("id", ""))
        if brief.get("awaits"):
            await gate.passed()
        else:
            gate.enter(step_id)
        try:
            yield
        finally:
            gate.leave(step_id)


def deferring(config: RunnableConfig | None) -> RunnableConfig | None:
    """Return a config whose checkpointer holds back what nobody would miss."""
    settings = (config or {}).get("configurable") or {}
    saver = settings.get(CHECKPOINTER)
    if config is None or not isinstance(saver, BaseCheckpointSaver):
        return config
    space = str(settings.get("checkpoint_ns", ""))
    deferred = DeferredSaver(saver, space, something_failed)
    return {**config, "configurable": {**settings, CHECKPOINTER: deferred}}


def something_failed(channels: Mapping[str, Any]) -> bool:
    """Tell from a step's channels whether it was not done at the first try."""
    return bool(channels.get("decision"))


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
    return recast(StepGraph, builder.compile(name="step"), boards=deps.boards)
