"""The books kept in one store: ledger, coordinator, strategies, rules, knowledge."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property

from langgraph.store.base import BaseStore

from mendgraph.tools.calibration import Calibration
from mendgraph.tools.coordinator import Coordinator
from mendgraph.tools.influences import InfluenceBook
from mendgraph.tools.knowledge import KnowledgeBook
from mendgraph.tools.ledger import Ledger
from mendgraph.tools.rules import RuleBook
from mendgraph.tools.strategies import StrategyBook
from mendgraph.tools.tallies import Tallies


class Library:
    """The books of a store, each made when it is first needed.

    Args:
        store: Where they are kept.
        clock: Seconds since the epoch.
        new_id: Gives unique ids.
        sleep: Waits that many seconds.
        seeded: Add the shipped strategies and rules that are not there.
    """

    def __init__(
        self,
        store: BaseStore,
        *,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        sleep: Callable[[float], Awaitable[None]],
        seeded: bool,
    ) -> None:
        self.store = store
        self._clock = clock
        self._new_id = new_id
        self._sleep = sleep
        self._seeded = seeded
        self._loaded = False

    @cached_property
    def ledger(self) -> Ledger:
        """Effects: intents and outcomes."""
        return Ledger(self.store, self._clock)

    @cached_property
    def coordinator(self) -> Coordinator:
        """Retry timers and health of services."""
        return Coordinator(self.store, self._clock, self._sleep, self._new_id)

    @cached_property
    def strategies(self) -> StrategyBook:
        """Strategies and their applications."""
        return StrategyBook(self.store, self._clock, self._new_id)

    @cached_property
    def rules(self) -> RuleBook:
        """Distilled rules."""
        return RuleBook(self.store, self._clock, self._new_id)

    @cached_property
    def knowledge(self) -> KnowledgeBook:
        """Statistics of tools."""
        return KnowledgeBook(self.store, self._clock, self._new_id)

    @cached_property
    def calibration(self) -> Calibration:
        """How far stated confidence can be trusted."""
        return Calibration(self.store, self._new_id)

    @cached_property
    def influences(self) -> InfluenceBook:
        """Which arguments decided which steps."""
        return InfluenceBook(self.store, self._new_id)

    @cached_property
    def tasks(self) -> Tallies:
        """How many tasks were closed, by all processes."""
        return Tallies(self.store, "tasks", self._new_id())

    async def load(self) -> None:
        """Read what other tasks and processes wrote; seeds come first, once."""
        if self._seeded and not self._loaded:
            await self.rules.seed()
            await self.strategies.seed()
        await asyncio.gather(
            self.rules.load(),
            self.knowledge.load(),
            self.calibration.load(),
            self.influences.load(),
            self.tasks.load(),
        )
        self._loaded = True

    async def ensure(self) -> None:
        """Load once in this process."""
        if not self._loaded:
            await self.load()

    async def flush(self) -> None:
        """Save what was counted."""
        await self.knowledge.flush()
        await self.calibration.flush()
        await self.tasks.flush()
