"""Binding a node to its dependencies: one coroutine serves `invoke` and `ainvoke`.

The synchronous side runs the same coroutine on one background event loop;
`run_coroutine_threadsafe` copies the context, so interrupts, the stream writer and the
config work. A step's node never raises: a fault of ours becomes an internal failure.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import get_runtime

from mendgraph.graph.settings import settled
from mendgraph.nodes.internal import internal_failure
from mendgraph.state.limits import Spent
from mendgraph.tools.board import SUSPENDED
from mendgraph.tools.run import Deps, Run, open_board
from mendgraph.tools.vault import Vault

Value = TypeVar("Value")
Node = Callable[[Any, Run], Awaitable[dict[str, Any]]]

CHECKPOINTER = "__pregel_checkpointer"
"""Key of the config under which LangGraph passes the checkpointer on."""


class Background:
    """One event loop on a daemon thread, started when needed, and anew when it died."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop; a forked process has the loop, not its thread."""
        with self._guard:
            if self._loop is None or not self._lives(self._loop):
                self._loop = self._started()
            return self._loop

    def _lives(self, loop: asyncio.AbstractEventLoop) -> bool:
        served = self._thread is not None and self._thread.is_alive()
        return served and not loop.is_closed()

    def _started(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=loop.run_forever, name="mendgraph-loop", daemon=True
        )
        self._thread.start()
        return loop

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run a coroutine on the loop and wait for it."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop())
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise


BACKGROUND = Background()


class Bound(Runnable[Any, Any]):
    """A node with its dependencies."""

    def __init__(self, name: str, node: Node, deps: Deps) -> None:
        self.name = name
        self._node = node
        self._deps = deps

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Run the node on the background loop and wait for it."""
        return BACKGROUND.run(self.ainvoke(input, config))

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> Any:
        """Run the node; its `spent` is what its meter counted."""
        run = await open_run(self._deps, input, config or {})
        with run.board.working():
            update = await self._safely(input, run)
        return _with_spent(update, run.meter)

    async def _safely(self, state: Any, run: Run) -> dict[str, Any]:
        return await self._node(state, run)


class BoundStep(Bound):
    """A node of the step loop: it releases its dependents whatever happens."""

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> Any:
        """Run the node with what its branch began with beside its channels."""
        return await super().ainvoke({**input.get("brief", {}), **input}, config)

    async def _safely(self, state: Any, run: Run) -> dict[str, Any]:
        step_id = str(state["step"]["id"])
        try:
            return await self._node(state, run)
        except GraphBubbleUp:
            run.board.resolve(step_id, SUSPENDED)
            if step_id not in run.board.asides:
                run.board.charge(Spent().minus(run.meter))  # the node runs again
            raise
        except asyncio.CancelledError:
            run.board.resolve(step_id, SUSPENDED)
            raise
        except Exception as error:  # noqa: BLE001  our own fault becomes data
            return await internal_failure(state, run, error)


class Route(Runnable[Any, Any]):
    """A conditional edge that is looked up on the loop, not on a thread of its own."""

    def __init__(self, choose: Callable[[Any], Any]) -> None:
        self.name = choose.__name__
        self._choose = choose

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,  # noqa: ARG002  LangChain's signature
        **_: Any,
    ) -> Any:
        """Return where to go."""
        return self._choose(input)

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,  # noqa: ARG002  as above
        **_: Any,
    ) -> Any:
        """Return where to go."""
        return self._choose(input)


NOTHING = Spent()


def _with_spent(update: dict[str, Any], meter: Spent) -> dict[str, Any]:
    if meter == NOTHING:
        return update
    kept = update.get("spent") or {}
    if "fresh" in kept:
        return {**update, "spent": {"fresh": meter.plain()}}
    total = meter.plus(Spent.model_validate(kept))
    return {**update, "spent": total.plain()}


async def open_run(deps: Deps, state: Mapping[str, Any], config: RunnableConfig) -> Run:
    """Return a node call's view of the world."""
    runtime = get_runtime()
    deps = await settled(deps, runtime.context)
    store = runtime.store or deps.store
    settings = config.get("configurable") or {}
    task_id = str(state.get("task_id") or deps.new_id())
    thread_id = str(settings.get("thread_id") or task_id)
    vault = Vault(store, thread_id)
    board = await open_board(
        deps,
        vault,
        str(state.get("round") or ""),
        state.get("base") or state.get("spent") or {},
    )
    library = deps.library(store)
    await library.ensure()
    return Run(
        deps=deps,
        thread_id=thread_id,
        task_id=task_id,
        vault=vault,
        library=library,
        board=board,
        config=config,
        write=runtime.stream_writer,
        can_ask=settings.get(CHECKPOINTER) is not None,
    )
