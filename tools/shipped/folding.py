"""Rows folded into groups batch by batch, holding the groups and never the rows."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Fold:
    """Grouped measures over rows that arrive in batches.

    `count_distinct` keeps the distinct values of each group, so its memory grows with
    them; every other measure keeps one value.
    """

    group_by: tuple[str, ...]
    measures: Mapping[str, str]
    """Output name → `count`, or `count_distinct:column`, `sum:`, `min:`, `max:`."""
    groups: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)

    def check(self, columns: Sequence[str]) -> None:
        """Refuse unknown measures and columns.

        Raises:
            ValueError: A measure or column is not there; the message names it.
        """
        needed = [*self.group_by]
        for name, measure in self.measures.items():
            kind, _, column = measure.partition(":")
            if kind not in STEPS or (kind != "count" and not column):
                known = ", ".join(STEPS)
                raise ValueError(f"measure {name!r}: {measure!r} is none of {known}")
            needed += [column] if column else []
        lost = [name for name in needed if name not in columns]
        if lost:
            raise ValueError(f"aggregate needs {lost}; the query has {list(columns)}")

    def add(self, batch: Iterable[Mapping[str, Any]]) -> None:
        """Fold one batch in."""
        for row in batch:
            key = tuple(row[name] for name in self.group_by)
            group = self.groups.setdefault(key, {})
            for name, measure in self.measures.items():
                group[name] = _step(measure, group.get(name), row)

    @property
    def columns(self) -> list[str]:
        """Names of the columns of `rows`."""
        return [*self.group_by, *self.measures]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a group, in the order the groups were first seen."""
        return [
            dict(zip(self.group_by, key, strict=True))
            | {name: _final(value) for name, value in group.items()}
            for key, group in self.groups.items()
        ]


def _step(measure: str, before: Any, row: Mapping[str, Any]) -> Any:
    kind, _, column = measure.partition(":")
    return STEPS[kind](before, row[column] if column else True)


def _count(before: int | None, value: Any) -> int:
    return (before or 0) + (value is not None)


def _distinct(before: set[Any] | None, value: Any) -> set[Any]:
    seen = set() if before is None else before
    if value is not None:
        seen.add(value)
    return seen


def _joined(join: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a step that ignores nulls, as SQL aggregates do."""

    def step(before: Any, value: Any) -> Any:
        if before is None or value is None:
            return before if value is None else value
        return join(before, value)

    return step


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "count": _count,
    "count_distinct": _distinct,
    "sum": _joined(operator.add),
    "min": _joined(min),
    "max": _joined(max),
}
"""Measure → how it takes one more value."""


def _final(value: Any) -> Any:
    return len(value) if isinstance(value, set) else value
