"""The books kept in one store: ledger, coordinator, strategies, rules, knowledge."""

from collections.abc import Awaitable, Callable
from functools import cached_property

from langgraph.store.base import BaseStore

from mendgraph.tools.calibration import CalibrationBook
from mendgraph.tools.coordinator import Coordinator
from mendgraph.tools.knowledge import KnowledgeBook
from mendgraph.tools.ledger import Ledger
from mendgraph.tools.rules import RuleBook
from mendgraph.tools.strategies import StrategyBook


class Library:
    """Opens each book when it is first needed."""

    def __init__(
        self,
        store: BaseStore,
        *,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.store = store
        self._clock = clock
        self._new_id = new_id
        self._sleep = sleep

    @cached_property
    def ledger(self) -> Ledger:
        """Effects: intents and outcomes."""
        return Ledger(self.store, self._clock)

    @cached_property
    def coordinator(self) -> Coordinator:
        """Retry timers and health of services."""
        return Coordinator(self.store, self._clock, self._sleep)

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
        return KnowledgeBook(self.store, self._clock)

    @cached_property
    def calibration(self) -> CalibrationBook:
        """How far stated confidence can be trusted."""
        return CalibrationBook(self.store, self._clock, self._new_id)
