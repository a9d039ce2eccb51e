"""The retry coordinator: one timer and one health record per service (F36).

A healthy service costs no store traffic. Every process writes only its own record,
`("mendgraph", "service", <service>)` → instance, so none overwrites another's; the
shared view is the union of the outcomes and the latest of the timers.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from langgraph.store.base import BaseStore

from mendgraph.state.record import Record
from mendgraph.tools.ledger import label

SERVICES = ("mendgraph", "service")
WINDOW = 20
WINDOW_S = 60.0
ENOUGH = 4
MAX_FAILED_SHARE = 0.5
UNAVAILABLE = 503
ALTERNATE_AFTER = 3
FORGET_S = 3_600.0
INSTANCES = 1_000


class Outcome(Record):
    """How one call to a service went."""

    at: float
    """Seconds since the epoch."""
    ok: bool
    http_status: int | None = None


class ServiceRecord(Record):
    """What one process knows of a service."""

    outcomes: tuple[Outcome, ...] = ()
    """Oldest first, the newest 20."""
    not_before: float = 0.0
    """No retry before this time, seconds since the epoch."""

    def joined(self, other: "ServiceRecord") -> "ServiceRecord":
        """Return the union of two processes' knowledge."""
        every = sorted((*self.outcomes, *other.outcomes), key=lambda each: each.at)
        latest = max(self.not_before, other.not_before)
        return ServiceRecord(outcomes=tuple(every[-WINDOW:]), not_before=latest)

    def with_outcome(self, outcome: Outcome) -> "ServiceRecord":
        """Return the record with one outcome more."""
        return self.joined(ServiceRecord(outcomes=(outcome,)))


def is_healthy(record: ServiceRecord, now: float) -> bool:
    """Whether at most half of the last 20 calls of the last minute failed.

    Fewer than four calls tell nothing and count as healthy.
    """
    recent = [each for each in record.outcomes if each.at > now - WINDOW_S]
    failed = sum(not each.ok for each in recent)
    return len(recent) < ENOUGH or failed <= MAX_FAILED_SHARE * len(recent)


def unavailable_streak(record: ServiceRecord) -> int:
    """Return how many 503 in a row the newest outcomes are."""
    statuses = [each.http_status for each in reversed(record.outcomes)]
    others = (place for place, code in enumerate(statuses) if code != UNAVAILABLE)
    return next(others, len(statuses))


class Coordinator:
    """Serialises the retries to each service and remembers how it is doing.

    Args:
        store: Where processes meet.
        clock: Seconds since the epoch, the same clock in every process.
        sleep: Awaitable pause in seconds.
        new_id: Names this process.
    """

    def __init__(
        self,
        store: BaseStore,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        self._store = store
        self._clock = clock
        self._sleep = sleep
        self._instance = new_id()
        self._guard = threading.Lock()
        self._own: dict[str, ServiceRecord] = {}
        self._others: dict[str, ServiceRecord] = {}
        self._locks: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[str, asyncio.Lock]
        ] = WeakKeyDictionary()

    def healthy(self, service: str) -> bool:
        """Whether tiers 1 and 2 make sense; no store access."""
        return is_healthy(self._view(service), self._clock())

    def alternate_due(self, service: str) -> bool:
        """Whether the last three calls were all answered 503; no store access."""
        return unavailable_streak(self._view(service)) >= ALTERNATE_AFTER

    def hold_s(self, service: str) -> float:
        """Return for how many seconds a call had better wait; no store access."""
        return max(0.0, self._view(service).not_before - self._clock())

    async def record(
        self, service: str, ok: bool, http_status: int | None = None
    ) -> None:
        """Note how a call went; only a failure or a recovery touches the store."""
        before = self.healthy(service)
        outcome = Outcome(at=self._clock(), ok=ok, http_status=http_status)
        with self._guard:
            self._own[service] = self._mine(service).with_outcome(outcome)
        if ok and before:
            return
        await self._pull(service)
        if not ok or self.healthy(service):
            await self._push(service)

    async def delay(self, service: str, wait_s: float = 0.0) -> float:
        """Return the seconds a retry would wait now, other processes considered."""
        await self._pull(service)
        return max(wait_s, self.hold_s(service))

    @asynccontextmanager
    async def turn(self, service: str, wait_s: float) -> AsyncIterator[None]:
        """Wait for this retry's turn, and hold it while the body runs.

        One retry to a service runs at a time (per event loop), none before the
        timer every process shares. `wait_s` counts from the asking.
        """
        due = self._clock() + wait_s
        async with self._lock(service):
            await self._announce(service, due)
            while (left := max(due - self._clock(), self.hold_s(service))) > 0:
                await self._sleep(left)
                await self._pull(service)
            yield

    async def _announce(self, service: str, due: float) -> None:
        """Move the shared timer, when this retry is due later than it says."""
        await self._pull(service)
        if due <= max(self._view(service).not_before, self._clock()):
            return
        with self._guard:
            moved = self._mine(service).joined(ServiceRecord(not_before=due))
            self._own[service] = moved
        await self._push(service)

    def _mine(self, service: str) -> ServiceRecord:
        return self._own.get(service, ServiceRecord())

    def _view(self, service: str) -> ServiceRecord:
        others = self._others.get(service)
        mine = self._mine(service)
        return mine if others is None else mine.joined(others)

    def _lock(self, service: str) -> asyncio.Lock:
        """Return the lock of a service on the running loop."""
        with self._guard:
            locks = self._locks.setdefault(asyncio.get_running_loop(), {})
            return locks.setdefault(service, asyncio.Lock())

    async def _push(self, service: str) -> None:
        """Write what this process knows."""
        place = (*SERVICES, label(service))
        value = self._mine(service).plain()
        await self._store.aput(place, self._instance, value, index=False)

    async def _pull(self, service: str) -> None:
        """Read what the other processes know, and drop what is long dead."""
        place = (*SERVICES, label(service))
        joined = ServiceRecord()
        for item in await self._store.asearch(place, limit=INSTANCES):
            if item.namespace != place or item.key == self._instance:
                continue
            record = ServiceRecord.model_validate(item.value)
            joined = joined.joined(record)
            if _last_use(record) < self._clock() - FORGET_S:
                await self._store.adelete(place, item.key)
        self._others[service] = joined


def _last_use(record: ServiceRecord) -> float:
    """Return when the record last said something new."""
    return max([record.not_before, *(each.at for each in record.outcomes)])
