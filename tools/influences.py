"""What was seen of one argument's influence on a step's success, kept in the store.

One item for each observation, so processes never overwrite each other (F28).
"""

from collections.abc import Callable

from langgraph.store.base import BaseStore

from mendgraph.state.record import Record
from mendgraph.tools.uses import every

SENSITIVITY = ("mendgraph", "sensitivity")
KEPT = 1_000
"""Newest observations that are kept."""


class Influence(Record):
    """One experiment: the argument was given another value; did the outcome turn?"""

    cause: str
    """The tool whose argument was changed."""
    argument: str
    effect: str
    """The tool whose step was judged."""
    mattered: bool
    """The step passed where it had failed."""
    at: float
    """Seconds since the epoch."""
    how: str = "counterfactual"
    """`counterfactual`: replayed on safe tools; `correction`: a fix that was made."""


class InfluenceBook:
    """Observations in a store, held in memory after `load`.

    Args:
        store: Where they are kept.
        new_id: Returns a new id.
    """

    def __init__(self, store: BaseStore, new_id: Callable[[], str]) -> None:
        self._store = store
        self._new_id = new_id
        self._seen: list[Influence] = []

    async def load(self) -> None:
        """Read what is stored; the oldest beyond a thousand are deleted."""
        items = await every(self._store, SENSITIVITY)
        ordered = sorted(items, key=lambda item: item.key)
        for item in ordered[:-KEPT]:
            await self._store.adelete(SENSITIVITY, item.key)
        newest = ordered[-KEPT:]
        self._seen = [Influence.model_validate(item.value) for item in newest]

    async def add(self, influence: Influence) -> None:
        """Keep one observation."""
        key = f"{influence.at:020.6f}-{self._new_id()}"
        await self._store.aput(SENSITIVITY, key, influence.plain(), index=False)
        self._seen.append(influence)

    def all(self) -> tuple[Influence, ...]:
        """Return the observations known here, the oldest first."""
        return tuple(self._seen)
