"""A rollback worked out: where to fork, with what, and which effects came after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite, StateSnapshot

from mendgraph.graph.effects_since import EffectSince, Fate, describe, since, undoable
from mendgraph.graph.stable_points import StablePoint, Target, checkpoint_id, find
from mendgraph.nodes.compensate import Approve, compensate
from mendgraph.state.effect import EffectStatus, LedgerEntry
from mendgraph.state.limits import Spent
from mendgraph.state.outcome import TaskStatus
from mendgraph.state.record import Record
from mendgraph.tools.errors import ThreadError
from mendgraph.tools.run import Deps
from mendgraph.tools.vault import Vault

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
class Fork:
    """A rollback worked out and not yet done."""

    config: RunnableConfig
    update: dict[str, Any]
    undo: list[LedgerEntry]
    result: RolledBack
    ledger_id: str


async def work_out(
    deps: Deps,
    thread_id: str,
    history: Sequence[StateSnapshot],
    to: Target,
    *,
    undo: bool,
) -> Fork:
    """Return what going back takes; nothing is changed.

    Raises:
        ThreadError: There is no such thread or point (`RollbackTargetError`).
    """
    if not history:
        raise ThreadError(f"there is no thread {thread_id!r}; nothing ran under it")
    vault = Vault(deps.store, thread_id)
    head = history[0]
    finished = await _finished(vault, head)
    point = find(history, checkpoint_id(head), to, finished)
    ledger_id = f"{thread_id}:{point.task_id}"
    entries = await deps.library(deps.store).ledger.of_thread(ledger_id)
    standing = since(entries, point.done.values(), point.at)
    policies = {entry.name: entry.policy for entry in deps.registry}
    chosen = undoable(standing, policies) if undo else []
    result = RolledBack(
        thread_id=thread_id,
        to=point.label,
        plan_version=point.plan.version,
        checkpoint_id=point.checkpoint_id,
        left=checkpoint_id(head),
        kept=tuple(point.done),
        open=tuple(i for i in point.plan.ids if i not in point.done),
        effects=describe(standing, policies, chosen),
        signals=await _heard_since(vault, point.at),
    )
    known = {checkpoint_id(each): each.config for each in history}
    update = await _update(vault, deps, point, result)
    return Fork(known[point.checkpoint_id], update, chosen, result, ledger_id)


async def _heard_since(vault: Vault, at: float) -> tuple[str, ...]:
    kept = (await vault.signals()).values()
    return tuple(str(s["text"]) for s in kept if float(s.get("read_at") or 0) > at)


async def _finished(vault: Vault, head: StateSnapshot) -> dict[str, Any]:
    """Return the records of steps that ended in the superstep not yet over."""
    if "step" not in {task.name for task in head.tasks}:
        return {}
    kept = await vault.outcomes(str(head.values.get("round", "")))
    return {step_id: outcome["record"] for step_id, outcome in kept.items()}


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


async def undone(
    deps: Deps, fork: Fork, made: RunnableConfig, approve: Approve | None
) -> RolledBack:
    """Undo what was chosen, after the fork: a crash between leaves no false `done`."""
    head = str((made.get("configurable") or {}).get("checkpoint_id", ""))
    result = fork.result.but(head=head)
    if not fork.undo:
        return result
    library = deps.library(deps.store)
    lines = await compensate(
        deps, library, fork.ledger_id, fork.undo, fork.config, approve=approve
    )
    told = {line["key"]: line for line in lines}
    return result.but(effects=tuple(_became(e, told) for e in result.effects))


def _became(effect: EffectSince, told: Mapping[str, Mapping[str, Any]]) -> EffectSince:
    """Return an effect with what the ledger says of it after the undoing."""
    if effect.fate is not Fate.TO_COMPENSATE:
        return effect
    line = told.get(effect.key)
    if line is None:
        why = "not tried: one that came after it could not be undone"
        return effect.but(fate=Fate.NOT_COMPENSATED, why=why)
    gone = line["status"] == EffectStatus.COMPENSATED
    fate = Fate.COMPENSATED if gone else Fate.NOT_COMPENSATED
    return effect.but(status=line["status"], fate=fate, why=line["why"])
