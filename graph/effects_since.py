"""Effects that happened after a stable point, and what becomes of each (F43, F16)."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field

from mendgraph.state.effect import EffectStatus, LedgerEntry, compensation_order
from mendgraph.state.policy import ToolPolicy
from mendgraph.state.record import Record

NOTHING = frozenset({EffectStatus.FAILED, EffectStatus.COMPENSATED})
"""Statuses that leave nothing in the world."""


class Fate(StrEnum):
    """What becomes of an effect when its thread goes back to before it."""

    KEPT = "kept"
    """It stays in the ledger and is reused when the same call comes again."""
    TO_COMPENSATE = "to_compensate"
    """A preview: it will be undone."""
    COMPENSATED = "compensated"
    NOT_COMPENSATED = "not_compensated"
    """Undoing was tried and it still stands."""


class EffectSince(Record):
    """One effect since the stable point."""

    key: str
    tool: str
    step_id: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Masked."""
    status: EffectStatus
    fate: Fate
    why: str


def since(
    entries: Iterable[LedgerEntry], done: Iterable[Mapping[str, Any]], at: float
) -> list[LedgerEntry]:
    """Return the effects that stand, or may, and belong to nothing done by then."""
    belonging = {record.get("effect_key") for record in done}
    return [
        entry
        for entry in entries
        if entry.key not in belonging
        and entry.updated_at > at
        and entry.status not in NOTHING
        and entry.compensates is None
    ]


def undoable(
    entries: Sequence[LedgerEntry], policies: Mapping[str, ToolPolicy]
) -> list[LedgerEntry]:
    """Return those that can be undone, in the order to do it."""
    return compensation_order(entries, policies)


def describe(
    entries: Sequence[LedgerEntry],
    policies: Mapping[str, ToolPolicy],
    undoing: Sequence[LedgerEntry],
) -> tuple[EffectSince, ...]:
    """Say of each effect what is to become of it, the newest first."""
    chosen = {entry.key for entry in undoing}
    newest = sorted(entries, key=lambda each: each.created_at, reverse=True)
    return tuple(_one(entry, policies.get(entry.tool), chosen) for entry in newest)


def _one(
    entry: LedgerEntry, policy: ToolPolicy | None, chosen: set[str]
) -> EffectSince:
    undo = policy.compensate_with if policy else None
    if entry.key in chosen:
        fate, why = Fate.TO_COMPENSATE, f"undone with {_name(undo)}"
    else:
        fate, why = Fate.KEPT, _why_kept(entry, undo)
    return EffectSince(
        key=entry.key,
        tool=entry.tool,
        step_id=entry.step_id,
        arguments=entry.arguments,
        status=entry.status,
        fate=fate,
        why=why,
    )


def _why_kept(entry: LedgerEntry, undo: Any) -> str:
    if entry.in_doubt:
        return "whether it happened is not known; the next run finds out"
    if undo is None:
        return "it cannot be undone; the same call reuses it"
    return f"it stays; the same call reuses it ({_name(undo)} could undo it)"


def _name(undo: Any) -> str:
    return str(getattr(undo, "tool", undo))
