"""Going back to a stable point of a thread; the branch left behind stays as it is (F43).

The thread is forked at the point's checkpoint: what was done by then stays done, the
rest is open again, and the next `invoke(None, config)` goes on from there. Effects are
never forgotten: each one since then is kept (and reused) or, when asked, compensated.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite, StateSnapshot

from mendgraph.graph.agent import MendGraph, only_thread
from mendgraph.graph.bind import BACKGROUND
from mendgraph.graph.effects_since import EffectSince, Fate, since, told, undoable
from mendgraph.graph.stable_points import (
    StablePoint,
    Target,
    branch,
    checkpoint_id,
    find,
)
from mendgraph.state.effect import EffectStatus, LedgerEntry
from mendgraph.state.limits import Spent
from mendgraph.state.outcome import TaskStatus
from mendgraph.state.policy import ToolPolicy
from mendgraph.state.record import Record
from mendgraph.tools.errors import ConfigError, ThreadError
from mendgraph.tools.lease import ahold, hold
from mendgraph.tools.run import Deps
from mendgraph.tools.vault import Vault

Value = TypeVar("Value")

NODE = "settle"
"""The node in whose name the fork is written: what may run next is computed anew."""
TRAILS = ("corrections", "reflections", "notes")


class RolledBack(Record):
    """What going back does, or did."""

    thread_id: str
    to: str
    """`version 2`, `step s3` or `checkpoint …`."""
    plan_version: int
    checkpoint_id: str
    """Where the thread is forked."""
    left: str
    """The checkpoint it stood at; `get_state` with this id still shows it."""
    head: str | None = None
    """The checkpoint it stands at now; None in a preview."""
    kept: tuple[str, ...]
    """Steps that stay done."""
    open: tuple[str, ...]
    """Steps that will run, or run again."""
    effects: tuple[EffectSince, ...] = ()
    """Effects since then, the newest first."""
    signals: tuple[str, ...] = ()
    """Messages heard since then; this branch does not know them any more."""


@dataclass(frozen=True)
class _Fork:
    """A rollback worked out and not yet done."""

    config: RunnableConfig
    update: dict[str, Any]
    undo: list[LedgerEntry]
    result: RolledBack
    ledger_id: str


def rollback(
    agent: MendGraph, config: RunnableConfig, to: Target, *, compensate: bool = False
) -> RolledBack:
    """Take a thread back; the next `invoke(None, config)` goes on from there.

    Args:
        agent: The graph, with a checkpointer.
        config: Names the thread.
        to: A plan version (`2` or `"v2"`: everything done under it stays), a step id
            (the moment right after its success), or a checkpoint id.
        compensate: Undo the effects since then whose policy says how.

    Raises:
        ThreadError: There is no such thread or point (`RollbackTargetError`).
        ThreadBusy: Another run has the thread.
        ConfigError: The graph has no checkpointer, or no thread is named.
    """
    where = _thread(agent, config)
    with hold(agent.held.lease, where["configurable"]["thread_id"]):
        fork = _on_loop(_plan(agent, where, _read(agent, where), to, undo=compensate))
        made = agent.update_state(fork.config, fork.update, as_node=NODE)
        return _on_loop(_undone(agent, fork, made))


async def arollback(
    agent: MendGraph, config: RunnableConfig, to: Target, *, compensate: bool = False
) -> RolledBack:
    """Take a thread back from a coroutine; as `rollback`."""
    where = _thread(agent, config)
    async with ahold(agent.held.lease, where["configurable"]["thread_id"]):
        history = await _aread(agent, where)
        fork = await _plan(agent, where, history, to, undo=compensate)
        made = await agent.aupdate_state(fork.config, fork.update, as_node=NODE)
        return await _undone(agent, fork, made)


def plan_rollback(
    agent: MendGraph, config: RunnableConfig, to: Target, *, compensate: bool = False
) -> RolledBack:
    """Say what `rollback` would do; nothing is changed.

    Raises:
        ThreadError: There is no such thread or point (`RollbackTargetError`).
        ConfigError: The graph has no checkpointer, or no thread is named.
    """
    where = _thread(agent, config)
    work = _plan(agent, where, _read(agent, where), to, undo=compensate)
    return _on_loop(work).result


async def aplan_rollback(
    agent: MendGraph, config: RunnableConfig, to: Target, *, compensate: bool = False
) -> RolledBack:
    """Say what `arollback` would do; as `plan_rollback`."""
    where = _thread(agent, config)
    history = await _aread(agent, where)
    return (await _plan(agent, where, history, to, undo=compensate)).result


def _on_loop(work: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine where the synchronous side of the nodes runs."""
    return asyncio.run_coroutine_threadsafe(work, BACKGROUND.loop()).result()


def _thread(agent: MendGraph, config: RunnableConfig) -> Any:
    """Return the config that names the thread and nothing else."""
    if not agent.checkpointer:
        raise ConfigError("there is no history to go back on; give a checkpointer")
    where: Any = only_thread(config)
    if where["configurable"].get("thread_id") is None:
        raise ConfigError('name the thread: {"configurable": {"thread_id": "…"}}')
    where["configurable"]["thread_id"] = str(where["configurable"]["thread_id"])
    return where


def _read(agent: MendGraph, where: Any) -> list[StateSnapshot]:
    """Return the thread's snapshots, the one it stands at first."""
    return list(agent.get_state_history(where))


async def _aread(agent: MendGraph, where: Any) -> list[StateSnapshot]:
    return [each async for each in agent.aget_state_history(where)]


async def _plan(
    agent: MendGraph,
    where: Any,
    history: Sequence[StateSnapshot],
    to: Target,
    *,
    undo: bool,
) -> _Fork:
    thread_id, deps = where["configurable"]["thread_id"], agent.held.deps
    if not history:
        raise ThreadError(f"there is no thread {thread_id!r}; nothing ran under it")
    vault = Vault(deps.store, thread_id)
    head = history[0]
    finished = await _finished(vault, head)
    point = find(history, checkpoint_id(head), to, finished)
    ledger_id = f"{thread_id}:{point.task_id}"
    entries = await deps.library(deps.store).ledger.of_thread(ledger_id)
    standing = since(entries, point.done.values(), point.at)
    chosen = undoable(standing, _policies(deps)) if undo else []
    heard = [
        str(each["text"])
        for each in (await vault.signals()).values()
        if float(each.get("read_at") or 0.0) > point.at
    ]
    result = RolledBack(
        thread_id=thread_id,
        to=point.label,
        plan_version=point.plan.version,
        checkpoint_id=point.checkpoint_id,
        left=checkpoint_id(head),
        kept=tuple(point.done),
        open=tuple(i for i in point.plan.ids if i not in point.done),
        effects=told(standing, _policies(deps), chosen),
        signals=tuple(heard),
    )
    snapshot = next(
        each for each in history if checkpoint_id(each) == point.checkpoint_id
    )
    update = await _update(vault, deps, point, result)
    return _Fork(snapshot.config, update, chosen, result, ledger_id)


async def _finished(vault: Vault, head: StateSnapshot) -> dict[str, Any]:
    """Return the records of steps that ended in the superstep not yet over."""
    if "step" not in head.next:
        return {}
    kept = await vault.outcomes(str(head.values.get("round", "")))
    return {step_id: outcome["record"] for step_id, outcome in kept.items()}


def _policies(deps: Deps) -> Mapping[str, ToolPolicy]:
    return {entry.name: entry.policy for entry in deps.registry}


async def _update(
    vault: Vault, deps: Deps, point: StablePoint, result: RolledBack
) -> dict[str, Any]:
    """Return the update that makes the point's checkpoint the point itself."""
    outcomes = await vault.outcomes(point.round) if point.carried else {}
    carried = [outcomes[i] for i in point.carried if i in outcomes]
    spent = Spent()
    for outcome in carried:
        spent = spent.plus(Spent.model_validate(outcome["spent"]))
    update: dict[str, Any] = {
        name: [item for outcome in carried for item in outcome[name]] for name in TRAILS
    }
    update["notes"].append(_note(deps, result))
    return {
        **update,
        "steps": Overwrite(point.done),
        "spent": spent.plain(),
        "round": deps.new_id(),
        "round_at": deps.clock(),
        "pending": None,
        "status": TaskStatus.RUNNING.value,
        "answer": "",
        "report": {},
    }


def _note(deps: Deps, result: RolledBack) -> dict[str, Any]:
    text = f"rolled back to {result.to}: {len(result.kept)} steps stay done"
    if result.effects:
        text += f", {len(result.effects)} effects since then"
    left = {"left": result.left, "at": deps.clock()}
    return {"kind": "rollback", "text": text, **left}


async def _undone(agent: MendGraph, fork: _Fork, made: RunnableConfig) -> RolledBack:
    """Undo what was chosen, after the fork: a crash between leaves no false `done`."""
    head = str((made.get("configurable") or {}).get("checkpoint_id", ""))
    result = fork.result.but(head=head)
    if not fork.undo:
        return result
    from mendgraph.nodes.compensate import compensate

    deps = agent.held.deps
    library = deps.library(deps.store)
    await compensate(deps, library, fork.ledger_id, fork.undo, fork.config)
    entries = {e.key: e for e in await library.ledger.of_thread(fork.ledger_id)}
    asked = {entry.key for entry in fork.undo}
    return result.but(effects=tuple(_became(e, entries, asked) for e in result.effects))


def _became(
    effect: EffectSince, entries: Mapping[str, LedgerEntry], asked: set[str]
) -> EffectSince:
    """The ledger's word counts, not the caller's."""
    entry = entries.get(effect.key)
    if effect.key not in asked or entry is None:
        return effect
    if entry.status is EffectStatus.COMPENSATED:
        return effect.but(status=entry.status, fate=Fate.COMPENSATED)
    why = entry.note or f"it is {entry.status.value} still"
    return effect.but(status=entry.status, fate=Fate.NOT_COMPENSATED, why=why)
