"""Going back to a stable point of a thread; the branch left behind stays (F43).

The thread is forked at the point's checkpoint: what was done by then stays done, the
rest is open again, and the next `invoke(None, config)` goes on from there. Effects are
never forgotten: each one since then is kept (and reused) or, when asked, compensated.
"""

from langchain_core.runnables import RunnableConfig

from mendgraph.graph.agent import MendGraph, only_thread
from mendgraph.graph.bind import BACKGROUND
from mendgraph.graph.fork import RolledBack, undone, work_out
from mendgraph.graph.stable_points import Target
from mendgraph.nodes.compensate import Approve
from mendgraph.tools.errors import ConfigError
from mendgraph.tools.lease import ahold, hold

NODE = "settle"
"""The node in whose name the fork is written: what may run next is computed anew."""


def rollback(
    agent: MendGraph,
    config: RunnableConfig,
    to: Target,
    *,
    compensate: bool = False,
    approve: Approve | None = None,
) -> RolledBack:
    """Take a thread back; the next `invoke(None, config)` goes on from there.

    Args:
        agent: The graph, with a checkpointer.
        config: Names the thread.
        to: A plan version (`2` or `"v2"`: everything done under it stays), a step id
            (the moment right after its success), or a checkpoint id.
        compensate: Undo the effects since then whose policy says how.
        approve: Asked before an undoing where the rules want a person; without it such
            an effect is kept.

    Raises:
        ThreadError: There is no such thread or point (`RollbackTargetError`).
        ThreadBusy: Another run has the thread.
        ConfigError: The graph has no checkpointer, or no thread is named.
    """
    where, thread_id = _thread(agent, config)
    deps = agent.held.deps
    with hold(agent.held.lease, thread_id):
        history = list(agent.get_state_history(where))
        fork = BACKGROUND.run(work_out(deps, thread_id, history, to, undo=compensate))
        made = agent.update_state(fork.config, fork.update, as_node=NODE)
        return BACKGROUND.run(undone(deps, fork, made, approve))


async def arollback(
    agent: MendGraph,
    config: RunnableConfig,
    to: Target,
    *,
    compensate: bool = False,
    approve: Approve | None = None,
) -> RolledBack:
    """Take a thread back from a coroutine; as `rollback`."""
    where, thread_id = _thread(agent, config)
    deps = agent.held.deps
    async with ahold(agent.held.lease, thread_id):
        history = [each async for each in agent.aget_state_history(where)]
        fork = await work_out(deps, thread_id, history, to, undo=compensate)
        made = await agent.aupdate_state(fork.config, fork.update, as_node=NODE)
        return await undone(deps, fork, made, approve)


def plan_rollback(
    agent: MendGraph, config: RunnableConfig, to: Target, *, compensate: bool = False
) -> RolledBack:
    """Say what `rollback` would do; nothing is changed.

    Raises:
        ThreadError: There is no such thread or point (`RollbackTargetError`).
        ConfigError: The graph has no checkpointer, or no thread is named.
    """
    where, thread_id = _thread(agent, config)
    history = list(agent.get_state_history(where))
    work = work_out(agent.held.deps, thread_id, history, to, undo=compensate)
    return BACKGROUND.run(work).result


async def aplan_rollback(
    agent: MendGraph, config: RunnableConfig, to: Target, *, compensate: bool = False
) -> RolledBack:
    """Say what `arollback` would do; as `plan_rollback`."""
    where, thread_id = _thread(agent, config)
    history = [each async for each in agent.aget_state_history(where)]
    deps = agent.held.deps
    return (await work_out(deps, thread_id, history, to, undo=compensate)).result


def _thread(agent: MendGraph, config: RunnableConfig) -> tuple[RunnableConfig, str]:
    """Return a config that names the thread and nothing else, and the thread."""
    if not agent.checkpointer:
        raise ConfigError("there is no history to go back on; give a checkpointer")
    where = only_thread(config)
    thread_id = (where.get("configurable") or {}).get("thread_id")
    if thread_id is None:
        raise ConfigError('name the thread: {"configurable": {"thread_id": "…"}}')
    return where, str(thread_id)
