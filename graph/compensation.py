"""Undoing what a thread did, from outside a run: `compensate`, `acompensate` (F17)."""

from collections.abc import Callable, Collection
from typing import Any

from langchain_core.runnables import RunnableConfig

from mendgraph.graph.agent import MendGraph, only_thread
from mendgraph.graph.bind import BACKGROUND
from mendgraph.nodes.compensate import compensate as undo
from mendgraph.tools.errors import ConfigError, ThreadError
from mendgraph.tools.lease import ahold, hold

Approve = Callable[[dict[str, Any]], bool]
"""Shown the question in the middleware's shape; says whether the call may be made."""


def compensate(
    agent: MendGraph,
    config: RunnableConfig,
    effects: Collection[str] | None = None,
    *,
    approve: Approve | None = None,
) -> list[dict[str, Any]]:
    """Undo what the thread's task has done, the newest effect first.

    Args:
        agent: The graph, with its checkpointer and store.
        config: Names the thread.
        effects: Keys of ledger entries to undo, or None for all that can be undone.
        approve: Asked where an authorisation rule says so; without it such an undoing
            is refused.

    Returns:
        For each effect tried: `key`, `step_id`, `tool`, `status` and `why`. It ends
        with the first that could not be undone.

    Raises:
        ThreadBusy: The thread is being run.
        ThreadError: Nothing ran under this thread.
        ConfigError: There is no checkpointer, or no thread is named.
    """
    where = _where(agent, config)
    with hold(agent.held.lease, where["configurable"]["thread_id"]):
        task_id = agent.get_state(where).values.get("task_id")
        return BACKGROUND.run(_undo(agent, where, task_id, effects, approve))


async def acompensate(
    agent: MendGraph,
    config: RunnableConfig,
    effects: Collection[str] | None = None,
    *,
    approve: Approve | None = None,
) -> list[dict[str, Any]]:
    """Undo a thread's effects from a coroutine; as `compensate`."""
    where = _where(agent, config)
    async with ahold(agent.held.lease, where["configurable"]["thread_id"]):
        task_id = (await agent.aget_state(where)).values.get("task_id")
        return await _undo(agent, where, task_id, effects, approve)


def _where(agent: MendGraph, config: RunnableConfig) -> Any:
    if not agent.checkpointer:
        raise ConfigError("there is no thread to look at; give a checkpointer")
    where: Any = only_thread(config)
    if where["configurable"].get("thread_id") is None:
        raise ConfigError('name the thread: {"configurable": {"thread_id": "…"}}')
    where["configurable"]["thread_id"] = str(where["configurable"]["thread_id"])
    return where


async def _undo(
    agent: MendGraph,
    where: Any,
    task_id: str | None,
    effects: Collection[str] | None,
    approve: Approve | None,
) -> list[dict[str, Any]]:
    thread_id, deps = where["configurable"]["thread_id"], agent.held.deps
    if not task_id:
        raise ThreadError(f"there is no thread {thread_id!r}; nothing ran under it")
    library = deps.library(agent.store or deps.store)
    ledger_id = f"{thread_id}:{task_id}"
    entries = await library.ledger.of_thread(ledger_id)
    wanted = [each for each in entries if effects is None or each.key in effects]

    async def asked(question: dict[str, Any]) -> bool:
        return approve is not None and approve(question)

    return await undo(
        deps, library, ledger_id, wanted, where, approve=asked if approve else None
    )
