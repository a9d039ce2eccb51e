"""Values of databases as plain JSON values, without loss where JSON allows it."""

import datetime as dt
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

KEPT = (str, bool, int, type(None))


def plain_value(value: Any) -> Any:
    """Return the value as JSON can hold it.

    Dates become ISO 8601 text, decimals become numbers when no digit is lost and text
    otherwise, bytes become hexadecimal text, NaN and infinities become text.
    """
    if type(value) in KEPT:
        return value
    for kind, convert in CONVERSIONS:
        if isinstance(value, kind):
            return convert(value)
    return str(value)


def _number(value: Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def _real(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _duration(value: dt.timedelta) -> float:
    return value.total_seconds()


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): plain_value(item) for key, item in value.items()}


def _sequence(value: Any) -> list[Any]:
    return [plain_value(item) for item in value]


CONVERSIONS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    ((dt.datetime, dt.date, dt.time), lambda value: value.isoformat()),
    (dt.timedelta, _duration),
    (float, _real),
    (Decimal, _number),
    (bytes | bytearray | memoryview, lambda value: bytes(value).hex()),
    (Mapping, _mapping),
    ((list, tuple, set, frozenset), _sequence),
)
"""(types, how they become JSON); the first match counts."""
