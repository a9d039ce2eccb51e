"""What is known of an effect on the world, and what to do when it is in doubt.

An effect is written down before its call and closed after it (F16). An entry that
was never closed is in doubt: it is resolved by the same idempotency key, else by
asking the service, else by a person, never by a blind second call. The rules are
those of sagas (Garcia-Molina and Salem, 1987) and of idempotency keys
(draft-ietf-httpapi-idempotency-key-header). Reads are no effects and have no entry.
"""

import hashlib
import json
import unicodedata
import uuid
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field
from pydantic_core import to_jsonable_python

from mendgraph.state.policy import ToolPolicy
from mendgraph.state.record import Record

KEY_SPACE = uuid.UUID("6d656e64-6772-5061-9068-656666656374")
"""Name space of idempotency keys; changing it would orphan the keys in use."""


class EffectStatus(StrEnum):
    """How far an effect is."""

    INTENT = "intent"
    """About to be called, or called and never heard of again."""
    DONE = "done"
    FAILED = "failed"
    """Known to have had no effect."""
    PENDING = "pending"
    """Accepted by the service, not final."""
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"
    UNKNOWN = "unknown"
    """Called, and the answer does not tell whether it happened."""


IN_DOUBT = frozenset({EffectStatus.INTENT, EffectStatus.UNKNOWN})

_FOLLOWERS = {
    "intent": "done failed pending unknown",
    "unknown": "done failed pending intent",
    "pending": "done failed unknown",
    "failed": "intent done pending unknown",
    "done": "compensating",
    "compensating": "compensated done",
    "compensated": "",
}
TRANSITIONS: dict[EffectStatus, frozenset[EffectStatus]] = {
    EffectStatus(first): frozenset(EffectStatus(each) for each in then.split())
    for first, then in _FOLLOWERS.items()
}
"""Which status may follow which; a done effect can be undone, never denied."""


class Resolution(StrEnum):
    """What to do about a call that may have happened before."""

    CALL = "call"
    REUSE = "reuse"
    REPEAT_SAME_KEY = "repeat_same_key"
    CONFIRM = "confirm"
    ASK_PERSON = "ask_person"
    WAIT = "wait"


RESOLUTIONS: dict[EffectStatus, Resolution] = {
    EffectStatus.FAILED: Resolution.CALL,
    EffectStatus.COMPENSATED: Resolution.CALL,
    EffectStatus.DONE: Resolution.REUSE,
    EffectStatus.PENDING: Resolution.WAIT,
}
"""What follows from a status whatever the policy says; the rest is in doubt."""


class LedgerEntry(Record):
    """One effect: what was to be done, for which step, and how far it is."""

    key: str
    """From `entry_key`; unique over all threads."""
    thread_id: str
    step_id: str
    lineage: str
    """The first step of the line of replacements `step_id` belongs to."""
    plan_version: int
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Masked."""
    arguments_digest: str
    """Of the unmasked arguments without the idempotency argument."""
    generation: int = Field(default=0, ge=0)
    """How often this very effect was done and undone before."""
    idempotency_key: str | None = None
    status: EffectStatus = EffectStatus.INTENT
    output_ref: str | None = None
    note: str = ""
    created_at: float = 0.0
    """Seconds since the epoch; stamped by the ledger."""
    updated_at: float = 0.0
    approval_id: str | None = None
    compensates: str | None = None
    """Key of the entry this call undoes."""

    @property
    def in_doubt(self) -> bool:
        """Whether the effect may or may not have happened."""
        return self.status in IN_DOUBT


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the mapping with normalised text keys."""
    found = {_canonical(str(name)): _canonical(each) for name, each in value.items()}
    if len(found) != len(value):
        raise ValueError("two argument names are the same text; rename one of them")
    return found


def _canonical(value: Any) -> Any:
    """Return `value` as JSON values in one spelling."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, list | tuple):
        return [_canonical(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((_canonical(each) for each in value), key=_text)
    if value is None or isinstance(value, bool | int | float):
        return value
    return _canonical(to_jsonable_python(value, bytes_mode="base64"))


def _text(value: Any) -> str:
    """Return canonical JSON text; lone surrogates survive as escapes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(
    tool: str, arguments: Mapping[str, Any], *, leave_out: Collection[str] = ()
) -> str:
    """Return the SHA-256 (hex) of a call, the identity approvals and effects bind to.

    Names are sorted, text is in Unicode NFC, dates and the like are JSON text.
    `1`, `1.0`, `True` and `"1"` stay four different values: an approval of one is
    not an approval of another.

    Args:
        tool: Name of the tool.
        arguments: The rendered arguments, unmasked.
        leave_out: Arguments that are no part of the identity, such as the
            idempotency key.

    Raises:
        ValueError: If two argument names are the same after normalisation, or a
            value has no JSON form (`PydanticSerializationError`).
    """
    kept = {name: each for name, each in arguments.items() if name not in leave_out}
    text = _text([_canonical(tool), _canonical(kept)])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def idempotency_key(
    thread_id: str, lineage: str, arguments_digest: str, generation: int = 0
) -> str:
    """Return a UUID that is the same for an unchanged retry and new otherwise.

    It is the same in every process and after every crash, so a repeated call is
    known to the service. A UUID fits the length and alphabet of every service
    looked at (Stripe, Square, Adyen, PayPal).

    Args:
        thread_id: The thread of the run.
        lineage: The lineage of the step.
        arguments_digest: From `digest`.
        generation: Raised once the effect has been undone and is wanted again.
    """
    name = _text([thread_id, lineage, arguments_digest, generation])
    return str(uuid.uuid5(KEY_SPACE, name))


def resolve(entry: LedgerEntry | None, policy: ToolPolicy) -> Resolution:
    """Return what to do about a call, given what the ledger knows of it.

    An in-doubt effect is repeated only under its own idempotency key or when the
    policy says repeating is harmless; else the service is asked, else a person.
    """
    if entry is None:
        return Resolution.CALL
    return RESOLUTIONS.get(entry.status) or _doubt(entry, policy)


def _doubt(entry: LedgerEntry, policy: ToolPolicy) -> Resolution:
    """Resolve an effect nobody knows the end of."""
    if entry.status is EffectStatus.COMPENSATING:
        return Resolution.ASK_PERSON
    keyed = policy.idempotency_arg is not None and entry.idempotency_key is not None
    if keyed or policy.idempotent:
        return Resolution.REPEAT_SAME_KEY
    return Resolution.CONFIRM if policy.confirm_with else Resolution.ASK_PERSON


def absence_believed_from(entry: LedgerEntry, policy: ToolPolicy) -> float:
    """Return from when on (seconds since the epoch) "it did not happen" is believed.

    Until the call's timeout has passed, a request of a killed run may still be on
    its way, and a confirm call that finds nothing proves nothing.
    """
    return entry.updated_at + policy.timeout_s


def next_generation(entry: LedgerEntry | None) -> int:
    """Return the generation to call under: a new one only after an undoing."""
    if entry is None:
        return 0
    return entry.generation + (entry.status is EffectStatus.COMPENSATED)


def compensation_order(
    entries: Iterable[LedgerEntry], policies: Mapping[str, ToolPolicy]
) -> list[LedgerEntry]:
    """Return the effects to undo, the newest first.

    Only effects known as done count, and those whose undoing was interrupted; a
    compensation is not itself compensated.
    """
    undoable = (EffectStatus.DONE, EffectStatus.COMPENSATING)
    found = [
        each
        for each in entries
        if each.status in undoable
        and each.compensates is None
        and (policy := policies.get(each.tool)) is not None
        and policy.compensate_with is not None
    ]
    return sorted(found, key=_age, reverse=True)


def _age(entry: LedgerEntry) -> tuple[float, str]:
    """Order entries by creation."""
    return entry.created_at, entry.key


def adoptable(
    entries: Iterable[LedgerEntry], arguments_digest: str, lineages: Collection[str]
) -> LedgerEntry | None:
    """Return the newest same effect whose step is no longer in the plan (F17).

    A global replan gives new ids to steps that want what was already done; two
    live steps with equal arguments remain two effects.

    Args:
        entries: The ledger of the thread.
        arguments_digest: From `digest`, of the call about to be made.
        lineages: Lineages in the current plan.
    """
    gone = (EffectStatus.FAILED, EffectStatus.COMPENSATED)
    found = [
        each
        for each in entries
        if each.arguments_digest == arguments_digest
        and each.lineage not in lineages
        and each.status not in gone
        and each.compensates is None
    ]
    return max(found, key=_age, default=None)
