"""What the branches of one superstep share live: outcomes, budgets, slots, lessons.

The board only wakes; the stored outcome is the truth. A board belongs to one round and
one event loop. A resume in another process makes a new one from what was stored.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from mendgraph.state.limits import Exhausted, Limits, Spent, check
from mendgraph.state.outcome import StepStatus
from mendgraph.state.record import Record
from mendgraph.tools.gate import Gate
from mendgraph.tools.limiter import Limiter

KEPT_VALUES = 64
"""Outputs held in memory for the steps that follow; the rest is read from the store."""
KEPT_BOARDS = 256


class Outcome(Record):
    """How a branch ended, as its dependents see it."""

    status: StepStatus
    output_ref: str | None = None


SUSPENDED = Outcome(status=StepStatus.WAITING)
"""A branch that waits for a person releases its dependents with this."""


class Board:
    """The shared live view of one round."""

    def __init__(
        self,
        limits: Limits,
        spent: Spent,
        outcomes: Mapping[str, Outcome],
        now: Callable[[], float],
        asides: Mapping[str, Spent] | None = None,
    ) -> None:
        self.limits = limits
        self.spent = spent
        self.asides: dict[str, Spent] = {}
        """Slices of sub-tasks that have not ended, by step; they count as spent."""
        for step_id, slice_ in (asides or {}).items():
            self.set_aside(step_id, slice_)
        self.resolved: list[dict[str, Any]] = []
        """Reflections that helped, for the steps that follow (F38)."""
        self.said: set[str] = set()
        """What need not be said twice."""
        self.signals_seen_at = float("-inf")
        self._now = now
        self._resumed_at = now()
        self._active = 0
        self._idle_since = self._resumed_at
        self._idle = 0.0
        self._outcomes = dict(outcomes)
        self._waiters: dict[str, asyncio.Future[None]] = {}
        self._values: OrderedDict[str, Any] = OrderedDict()
        self._slots: dict[str, Limiter] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def enter(self, step_id: str) -> None:
        """Begin a branch: forget that it was suspended."""
        if self._outcomes.get(step_id) == SUSPENDED:
            del self._outcomes[step_id]
        self._waiters.setdefault(step_id, asyncio.get_running_loop().create_future())

    def outcome(self, step_id: str) -> Outcome | None:
        """Return how a branch ended, if it has."""
        return self._outcomes.get(step_id)

    def resolve(self, step_id: str, outcome: Outcome) -> None:
        """End a branch and wake those that wait for it."""
        self._outcomes[step_id] = outcome
        waiter = self._waiters.pop(step_id, None)
        if waiter and not waiter.done():
            waiter.set_result(None)

    async def ready(self, step_ids: Iterable[str]) -> dict[str, Outcome]:
        """Wait until each of these branches has ended; return how."""
        found: dict[str, Outcome] = {}
        for step_id in step_ids:
            while step_id not in self._outcomes:
                loop = asyncio.get_running_loop()
                waiter = self._waiters.setdefault(step_id, loop.create_future())
                await asyncio.shield(waiter)
            found[step_id] = self._outcomes[step_id]
        return found

    def remember(self, reference: str, value: Any) -> None:
        """Hold an output in memory for the steps that follow."""
        self._values[reference] = value
        if len(self._values) > KEPT_VALUES:
            self._values.popitem(last=False)

    def recall(self, reference: str) -> tuple[bool, Any]:
        """Return whether an output is held, and the output."""
        held = reference in self._values
        return held, self._values.get(reference)

    def reserve(self, *meters: str) -> Exhausted | None:
        """Return the cap that leaves no room, looking at what all branches spent."""
        return check(self.limits, self.spent, *meters, elapsed=self.elapsed())

    def charge(self, delta: Spent) -> None:
        """Add what a branch spent."""
        self.spent = self.spent.plus(delta)

    def set_aside(self, step_id: str, slice_: Spent) -> None:
        """Set a slice of every budget aside until the step's sub-task has ended."""
        self.give_back(step_id)
        self.asides[step_id] = slice_
        self.charge(slice_)

    def give_back(self, step_id: str) -> None:
        """Free a slice; what was used of it is charged apart."""
        self.spent = self.spent.minus(self.asides.pop(step_id, Spent()))

    def elapsed(self) -> float:
        """Seconds of work since the round began or was resumed."""
        idle = self._idle if self._active else self._idle + self._since_idle()
        return self._now() - self._resumed_at - idle

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the time while a node works; waits for people lie between."""
        if not self._active:
            self._idle += self._since_idle()
        self._active += 1
        try:
            yield
        finally:
            self._active -= 1
            self._idle_since = self._now()

    def _since_idle(self) -> float:
        return self._now() - self._idle_since

    @asynccontextmanager
    async def slot(self, service: str, concurrency: int | None) -> AsyncIterator[None]:
        """Hold one of the graph's slots and, where limited, one of the service's."""
        total = self._slot("*", self.limits.concurrency)
        if not concurrency:
            async with total:
                yield
            return
        async with self._slot(service, concurrency), total:
            yield

    def _slot(self, name: str, size: int) -> Limiter:
        return self._slots.setdefault(name, Limiter(size))

    def lock(self, name: str) -> asyncio.Lock:
        """Return the lock of this name; no effect is begun twice at once."""
        return self._locks.setdefault(name, asyncio.Lock())


class Boards:
    """The boards of this process, the newest 256, by round and event loop."""

    def __init__(self) -> None:
        self._boards: OrderedDict[tuple[str, int], Board] = OrderedDict()
        self._gates: OrderedDict[tuple[str, int], Gate] = OrderedDict()
        self.newest: Board | None = None

    def find(self, round_token: str) -> Board | None:
        """Return the board of a round on the running loop."""
        return self._boards.get(self._key(round_token))

    def keep(self, round_token: str, board: Board) -> Board:
        """Keep a board, or return the one that was quicker."""
        kept = self._boards.setdefault(self._key(round_token), board)
        self.newest = kept
        if len(self._boards) > KEPT_BOARDS:
            self._boards.popitem(last=False)
        return kept

    def gate(self, round_token: str) -> Gate:
        """Return the gate of a round on the running loop, made when first asked for."""
        gate = self._gates.setdefault(self._key(round_token), Gate())
        if len(self._gates) > KEPT_BOARDS:
            self._gates.popitem(last=False)
        return gate

    def drop(self, round_token: str) -> float:
        """Forget a round's board; return its seconds of work."""
        self._gates.pop(self._key(round_token), None)
        board = self._boards.pop(self._key(round_token), None)
        return board.elapsed() if board else 0.0

    @staticmethod
    def _key(round_token: str) -> tuple[str, int]:
        return round_token, id(asyncio.get_running_loop())
