"""The call that undoes an effect: its arguments, and its own entry in the ledger."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from mendgraph.nodes.looking import hidden, with_key
from mendgraph.nodes.prepare import call_digest, masked
from mendgraph.state.effect import LedgerEntry, idempotency_key
from mendgraph.tools.bindings import BindingError, render
from mendgraph.tools.ledger import entry_key
from mendgraph.tools.library import Library
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Deps
from mendgraph.tools.vault import Vault

Approve = Callable[[dict[str, Any]], Awaitable[bool]]
"""Shown the question in the middleware's shape; says whether the call may be made."""


class CannotUndo(Exception):
    """An effect stays as it is; the text says why."""


@dataclass(frozen=True)
class Undoing:
    """One undoing, ready to be made."""

    entry: LedgerEntry
    """The effect that is undone."""
    tool: Entry
    arguments: dict[str, Any]
    own: LedgerEntry
    """The undoing's own entry in the ledger."""


@dataclass(frozen=True)
class Undoer:
    """What undoing needs of the world."""

    deps: Deps
    library: Library
    ledger_id: str
    config: RunnableConfig
    approve: Approve | None


async def prepared_undoing(undoer: Undoer, entry: LedgerEntry) -> Undoing:
    """Return the undoing's call, with its arguments rendered."""
    undo = undoer.deps.registry.get(entry.tool).policy.compensate_with
    if undo is None:
        raise CannotUndo(f"{entry.tool} has no compensation")
    tool = undoer.deps.registry.get(undo.tool)
    arguments = with_key(entry.arguments, undoer.deps, entry)
    known = {"args": arguments, "output": await _output(undoer, entry)}
    try:
        given = {k: render(v, known) for k, v in undo.arguments.items()}
    except BindingError as error:
        raise CannotUndo(f"its arguments cannot be filled: {error}") from error
    if any(hidden(value) for value in given.values()):
        raise CannotUndo("the arguments it needs are masked or cut in the ledger")
    problems = tool.problems(given)
    if problems:
        raise CannotUndo("; ".join(problems))
    own = _own_entry(undoer.ledger_id, entry, tool, given)
    return Undoing(entry, tool, given, own)


async def _output(undoer: Undoer, entry: LedgerEntry) -> Any:
    """Return what the effect's call gave; nothing where that is lost."""
    settings = undoer.config.get("configurable") or {}
    vault = Vault(undoer.library.store, str(settings.get("thread_id")))
    try:
        return await vault.get_output(entry.output_ref) if entry.output_ref else {}
    except KeyError:
        return {}


def _own_entry(
    ledger_id: str, entry: LedgerEntry, tool: Entry, arguments: Mapping[str, Any]
) -> LedgerEntry:
    """Return the undoing's entry; its key is the same in every process."""
    place = (ledger_id, f"undo:{entry.key}", call_digest(tool, arguments))
    keyed = tool.policy.idempotency_arg is not None
    return LedgerEntry(
        key=entry_key(*place),
        thread_id=ledger_id,
        step_id=entry.step_id,
        lineage=place[1],
        plan_version=entry.plan_version,
        tool=tool.name,
        arguments=masked(arguments, tool.policy),
        arguments_digest=place[2],
        idempotency_key=idempotency_key(*place) if keyed else None,
        compensates=entry.key,
    )
