"""Counters that several processes may raise at once: each writes its own record.

A grow-only counter after Shapiro et al., "Conflict-free Replicated Data Types" (2011):
a value is the sum over writers, so no update is lost and none is counted twice.
"""

from collections import Counter
from collections.abc import Iterator

from langgraph.store.base import BaseStore

from mendgraph.tools.uses import every


class Tallies:
    """Named counters of one kind in a store.

    Args:
        store: Where they are kept.
        kind: What is counted; one namespace each.
        writer: Identifies this process among the writers.
    """

    def __init__(self, store: BaseStore, kind: str, writer: str) -> None:
        self._store = store
        self._namespace = ("mendgraph", "tallies", kind)
        self._writer = writer
        self._mine: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        self._unsaved = False

    def add(self, name: str, amount: float = 1) -> None:
        """Raise a counter; saved by the next `flush`."""
        self._mine[name] += amount  # type: ignore[assignment]  # floats count too
        self._unsaved = True

    def value(self, name: str) -> float:
        """Return a counter's sum over the writers known since `load`."""
        return self._mine[name] + self._others[name]

    def names(self, prefix: str = "") -> Iterator[str]:
        """Yield the names of counters that begin with a prefix."""
        known = self._mine.keys() | self._others.keys()
        return (name for name in known if name.startswith(prefix))

    async def load(self) -> None:
        """Read what the other writers counted."""
        others: Counter[str] = Counter()
        for item in await every(self._store, self._namespace):
            if item.key != self._writer:
                others.update(item.value["counts"])
        self._others = others

    async def flush(self) -> None:
        """Save our own record when it changed: one write."""
        if self._unsaved:
            self._unsaved = False
            counts = dict(self._mine)
            await self._store.aput(
                self._namespace, self._writer, {"counts": counts}, index=False
            )
