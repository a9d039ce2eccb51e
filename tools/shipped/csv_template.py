"""Strict types for CSV columns: which rows fit a template, and which can be cast."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

ColumnType = Literal["string", "integer", "number", "boolean"]
OnMismatch = Literal["skip", "cast", "error"]

SHOWN = 5
"""Kinds of mismatch kept in words; every row is counted."""


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_integer(value) or isinstance(value, float)


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _to_integer(value: Any) -> int:
    number = float(value)
    if number != int(number):
        raise ValueError("it has a fraction")
    return (
        int(value)
        if isinstance(value, str) and value.lstrip("+-").isdigit()
        else int(number)
    )


def _to_boolean(value: Any) -> bool:
    known = {"true": True, "false": False, "1": True, "0": False}
    return known[str(value).strip().lower()]


FITS: dict[str, Callable[[Any], bool]] = {
    "string": _is_string,
    "integer": _is_integer,
    "number": _is_number,
    "boolean": _is_boolean,
}
CASTS: dict[str, Callable[[Any], Any]] = {
    "string": str,
    "integer": _to_integer,
    "number": float,
    "boolean": _to_boolean,
}


@dataclass
class Template:
    """A strict filter of rows; it counts what it leaves out."""

    types: Mapping[str, ColumnType]
    on_mismatch: OnMismatch
    skipped: int = 0
    first: dict[tuple[str, str], str] = field(default_factory=dict)
    """Column and type found → the first such mismatch in words."""

    def fitting(
        self, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
    ) -> Iterator[list[Any]]:
        """Yield the values of the rows that fit, in the order of `columns`.

        Raises:
            TypeError: A row does not fit and `on_mismatch` is `error`.
            ValueError: A value cannot be cast and `on_mismatch` is `cast`.
        """
        for index, row in enumerate(rows):
            values = [row.get(name) for name in columns]
            wrong = self._wrong(columns, values)
            if wrong:
                mended = self._mend(
                    index, wrong, dict(zip(columns, values, strict=True))
                )
                if mended is None:
                    continue
                values = mended
            yield values

    def _wrong(self, columns: Sequence[str], values: Sequence[Any]) -> list[str]:
        pairs = zip(columns, values, strict=True)
        return [
            name
            for name, value in pairs
            if value is not None and name in self.types
            if not FITS[self.types[name]](value)
        ]

    def _mend(
        self, index: int, wrong: list[str], row: dict[str, Any]
    ) -> list[Any] | None:
        """Return the row's values after mending, or None to leave the row out."""
        mends = {"skip": self._skip, "cast": self._cast, "error": self._refuse}
        return mends[self.on_mismatch](index, wrong, row)

    def _say(self, index: int, name: str, value: Any) -> str:
        kind = type(value).__name__
        return f"row {index}, column {name!r}: {kind}, template says {self.types[name]}"

    def _skip(self, index: int, wrong: list[str], row: dict[str, Any]) -> None:
        self.skipped += 1
        kinds = {(name, type(row[name]).__name__): name for name in wrong}
        for kind, name in kinds.items():
            if kind not in self.first and len(self.first) < SHOWN:
                self.first[kind] = self._say(index, name, row[name])

    def _cast(self, index: int, wrong: list[str], row: dict[str, Any]) -> list[Any]:
        for name in wrong:
            try:
                row[name] = CASTS[self.types[name]](row[name])
            except (TypeError, ValueError, KeyError, OverflowError) as error:
                said = self._say(index, name, row[name])
                raise ValueError(f"cannot cast {said}: {row[name]!r}") from error
        return list(row.values())

    def _refuse(self, index: int, wrong: list[str], row: dict[str, Any]) -> None:
        raise TypeError("; ".join(self._say(index, name, row[name]) for name in wrong))
