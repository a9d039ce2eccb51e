"""What a stated confidence turned out to be worth, by class of failure.

Outcomes are only ever added, by any number of processes.
"""

from collections.abc import Callable

from langgraph.store.base import BaseStore

from mendgraph.state.record import Record
from mendgraph.state.statistics import FEW_OUTCOMES, calibrated, laplace
from mendgraph.tools.tallies import Tallies

BANDS = 5
"""Bands of raw confidence that are told apart."""
UNSTATED = "-"
"""The band of outcomes for which no confidence was stated."""
BETWEEN = "\x1f"


class CalibrationRow(Record):
    """How one class of failure did."""

    category: str
    subclass: str
    outcomes: int
    stated: float | None
    """Mean stated confidence, 0..1; None when none was stated."""
    right: float
    """Share that was right, with one right and one wrong added."""
    enough: bool
    """Whether there are enough outcomes to go by."""


class Calibration:
    """Recorded outcomes in a store.

    Args:
        store: Where they are kept.
        new_id: Returns a new id.
        few: Outcomes a class needs before it is calibrated.
    """

    def __init__(
        self,
        store: BaseStore,
        new_id: Callable[[], str],
        few: int = FEW_OUTCOMES,
    ) -> None:
        self._few = few
        self._counts = Tallies(store, "calibration", new_id())

    async def load(self) -> None:
        """Read the outcomes that other processes recorded."""
        await self._counts.load()

    async def flush(self) -> None:
        """Save the outcomes recorded here: one write."""
        await self._counts.flush()

    def record(
        self, category: str, subclass: str, raw: float | None, right: bool
    ) -> None:
        """Record whether an attribution with a stated confidence was right.

        Args:
            category: Category of the failure.
            subclass: Its subclass.
            raw: The stated confidence, 0..1, or None.
            right: What came out.
        """
        for scope in ((category, subclass), (category, "")):
            parts = (*scope, _band(raw))
            self._add("n", *parts)
            if right:
                self._add("right", *parts)
            if raw is not None:
                self._counts.add(BETWEEN.join(("sum", *parts)), raw)

    def calibrated(
        self, category: str, subclass: str, raw: float | None
    ) -> float | None:
        """Return what a stated confidence is worth, 0..1; None with too little data.

        The subclass decides when it has enough outcomes, else the whole category.
        """
        for scope, few in (((category, subclass), 1), ((category, ""), 2)):
            group = self._total("right", *scope), self._total("n", *scope)
            found = calibrated(self._band(scope, raw), group, few * self._few)
            if found is not None:
                return found
        return None

    def report(self) -> list[CalibrationRow]:
        """Return one row for each class that has outcomes, the commonest first."""
        names = (name.split(BETWEEN) for name in self._counts.names("n" + BETWEEN))
        scopes = sorted({(part[1], part[2]) for part in names if part[2]})
        rows = [self._row(*scope) for scope in scopes]
        return sorted(rows, key=lambda row: -row.outcomes)

    def _row(self, category: str, subclass: str) -> CalibrationRow:
        scope = category, subclass
        count = self._total("n", *scope)
        stated = count - self._value("n", *scope, UNSTATED)
        total = self._total("sum", *scope)
        return CalibrationRow(
            category=category,
            subclass=subclass,
            outcomes=int(count),
            stated=total / stated if stated else None,
            right=laplace(self._total("right", *scope), count),
            enough=count >= self._few,
        )

    def _band(self, scope: tuple[str, str], raw: float | None) -> tuple[float, float]:
        band = _band(raw)
        return self._value("right", *scope, band), self._value("n", *scope, band)

    def _total(self, what: str, category: str, subclass: str) -> float:
        bands = (*(str(number) for number in range(BANDS)), UNSTATED)
        return sum(self._value(what, category, subclass, band) for band in bands)

    def _add(self, *parts: str) -> None:
        self._counts.add(BETWEEN.join(parts))

    def _value(self, *parts: str) -> float:
        return self._counts.value(BETWEEN.join(parts))


def _band(raw: float | None) -> str:
    if raw is None:
        return UNSTATED
    return str(min(BANDS - 1, max(0, int(raw * BANDS))))
