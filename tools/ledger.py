"""The effect ledger: intent before a call, outcome after it, in the store (F16)."""

from collections.abc import Callable
from itertools import count
from typing import Any
from urllib.parse import quote

from langgraph.store.base import BaseStore, PutOp

from mendgraph.state.effect import (
    TRANSITIONS,
    EffectStatus,
    LedgerEntry,
)

LEDGER = ("mendgraph", "ledger")
PAGE = 10_000


class LedgerError(Exception):
    """The ledger refuses to record what contradicts what it knows."""


def label(text: str) -> str:
    """Return text as one namespace label: no period, no slash, never empty."""
    return quote(text, safe="").replace(".", "%2E") or "%00"


def entry_key(
    thread_id: str, lineage: str, arguments_digest: str, generation: int = 0
) -> str:
    """Return the key of an effect, the same in every process."""
    parts = (label(thread_id), label(lineage), arguments_digest, str(generation))
    return "/".join(parts)


def _namespace(key: str) -> tuple[str, ...]:
    """Return where the entry of a key lives."""
    return (*LEDGER, key.split("/", 1)[0])


def _clean(value: Any) -> Any:
    """Return JSON values without the characters databases refuse in text."""
    if isinstance(value, str):
        safe = value.encode("utf-8", "backslashreplace").decode("utf-8")
        return safe.replace("\x00", "\\x00")
    if isinstance(value, dict):
        return {_clean(name): _clean(each) for name, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, list) else value


class Ledger:
    """Records of effects, by thread, in creation order.

    Every method returns once the store has the change. How much that is worth is
    the store's word: the SQLite store of `open_folder` keeps it through the death of
    the process, PostgreSQL through the death of the machine.
    """

    def __init__(self, store: BaseStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._last = 0.0

    async def get(self, key: str) -> LedgerEntry | None:
        """Return the entry of a key."""
        item = await self._store.aget(_namespace(key), key)
        return None if item is None else LedgerEntry.model_validate(item.value)

    async def find(
        self, thread_id: str, lineage: str, arguments_digest: str
    ) -> LedgerEntry | None:
        """Return the newest entry of this effect; an undone one only if none follows.

        Its `generation` is the one to go on with; after `compensated` it is the next.
        """
        found: LedgerEntry | None = None
        generation = 0
        while True:
            key = entry_key(thread_id, lineage, arguments_digest, generation)
            entry = await self.get(key)
            if entry is None:
                return found
            if entry.status is not EffectStatus.COMPENSATED:
                return entry
            found, generation = entry, generation + 1

    async def begin(self, entry: LedgerEntry) -> LedgerEntry:
        """Write the intent; the call may be made when this returns.

        Returns:
            The entry as stored, with its times.

        Raises:
            LedgerError: If the effect is done, pending or being undone, or in doubt
                under no or another idempotency key: `resolve` it first. A tool that
                is idempotent without a key is repeated with `reopen`.
        """
        known = await self.get(entry.key)
        if known is not None:
            _check_again(known, entry)
        now = self._now()
        created = now if known is None else known.created_at
        fresh = {"status": EffectStatus.INTENT, "output_ref": None}
        return await self._write(entry.but(**fresh, created_at=created, updated_at=now))

    async def reopen(self, key: str, note: str = "") -> LedgerEntry:
        """Write the intent to repeat an in-doubt call that is safe to repeat.

        Raises:
            LedgerError: If the effect is not in doubt.
        """
        known = await self._known(key)
        if not known.in_doubt:
            raise LedgerError(f"{known.tool} of step {known.step_id} is {known.status}")
        changes = {"status": EffectStatus.INTENT, "note": note or known.note}
        return await self._write(known.but(**changes, updated_at=self._now()))

    async def finish(
        self,
        key: str,
        status: EffectStatus,
        output_ref: str | None = None,
        note: str = "",
    ) -> LedgerEntry:
        """Write what became of the call.

        Raises:
            LedgerError: If there is no such entry, or the status cannot follow the
                one that is known (a done effect cannot turn into a failed one).
        """
        known = await self._known(key)
        if status is not known.status and status not in TRANSITIONS[known.status]:
            raise LedgerError(
                f"{known.tool} of step {known.step_id} is {known.status}; "
                f"it cannot become {status}"
            )
        changes = {
            "status": status,
            "output_ref": output_ref or known.output_ref,
            "note": note or known.note,
        }
        return await self._write(known.but(**changes, updated_at=self._now()))

    async def adopt(
        self, key: str, *, step_id: str, lineage: str, plan_version: int
    ) -> LedgerEntry:
        """Move an effect to the step that now stands for it, its key unchanged.

        Old and new place change in one batch, which the SQLite and PostgreSQL stores
        make one transaction.

        Raises:
            LedgerError: If there is no such entry, or the new place is taken.
        """
        known = await self._known(key)
        place = (known.thread_id, lineage, known.arguments_digest, known.generation)
        moved = known.but(
            key=entry_key(*place),
            step_id=step_id,
            lineage=lineage,
            plan_version=plan_version,
            note=f"adopted from step {known.step_id}; {known.note}".rstrip("; "),
        )
        if await self.get(moved.key) is not None:
            raise LedgerError(f"step {step_id} already has an effect of its own")
        await self._store.abatch(
            [
                PutOp(
                    _namespace(moved.key), moved.key, _clean(moved.plain()), index=False
                ),
                PutOp(_namespace(key), key, None),
            ]
        )
        return moved

    async def of_thread(self, thread_id: str) -> list[LedgerEntry]:
        """Return every entry of a thread in creation order."""
        return await self._entries(thread_id, None)

    async def of_lineage(self, thread_id: str, lineage: str) -> list[LedgerEntry]:
        """Return the entries of one step and of those that replaced it."""
        return await self._entries(thread_id, {"lineage": _clean(lineage)})

    async def _entries(
        self, thread_id: str, wanted: dict[str, Any] | None
    ) -> list[LedgerEntry]:
        found: dict[str, LedgerEntry] = {}
        place, owner = (*LEDGER, label(thread_id)), _clean(thread_id)
        for offset in count(step=PAGE):
            page = await self._store.asearch(
                place, filter=wanted, limit=PAGE, offset=offset
            )
            entries = (LedgerEntry.model_validate(item.value) for item in page)
            found |= {each.key: each for each in entries if each.thread_id == owner}
            if len(page) < PAGE:
                break
        return sorted(found.values(), key=lambda each: (each.created_at, each.key))

    async def _known(self, key: str) -> LedgerEntry:
        known = await self.get(key)
        if known is None:
            raise LedgerError(f"no intent was recorded under {key}")
        return known

    async def _write(self, entry: LedgerEntry) -> LedgerEntry:
        value = _clean(entry.plain())
        await self._store.aput(_namespace(entry.key), entry.key, value, index=False)
        return entry

    def _now(self) -> float:
        """Return the time, later than every time returned before."""
        self._last = max(self._clock(), self._last + 1e-6)
        return self._last


def _check_again(known: LedgerEntry, entry: LedgerEntry) -> None:
    """Refuse to begin again what may have happened."""
    key = known.idempotency_key
    same = key is not None and key == entry.idempotency_key
    if known.status is EffectStatus.FAILED or (known.in_doubt and same):
        return
    raise LedgerError(
        f"{known.tool} of step {known.step_id} is {known.status}; resolve it before "
        "it is called again"
    )
