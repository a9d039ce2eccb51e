"""A tool's result as plain JSON values; total: after an effect nothing may fail here.

What JSON cannot hold becomes the nearest it can: NaN and infinities null (as pydantic
writes them), integers beyond 64 bits text, objects their fields, the rest text.
"""

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from enum import Enum
from typing import Any

from mendgraph.state.wellformed import well_formed

DEEPEST = 200
"""Levels of nesting kept; stores refuse a little more."""
INTEGERS = range(-(2**63), 2**64)
"""Integers that every store takes."""
CUT, CIRCLE = "… (nested too deeply)", "… (refers to itself)"

_ODD = re.compile("[\ud800-\udfff]|[0-9]{19}")


def json_value(value: Any) -> Any:
    """Return the value as plain JSON values, whatever it is."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return _plain(value, ())
    return _plain(value, ()) if _ODD.search(text) else json.loads(text)


def _plain(value: Any, above: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if id(value) in above:
        return CIRCLE
    if len(above) > DEEPEST:
        return CUT
    known = (form for kind, form in FORMS if isinstance(value, kind))
    form = next(known, None) or _object
    return form(value, (*above, id(value)))


def _text(value: Any, _above: tuple[int, ...]) -> str:
    return str(well_formed(str(value)))


def _integer(value: int, _above: tuple[int, ...]) -> int | str:
    if value in INTEGERS:
        return int(value)
    with suppress(ValueError):  # Python's limit on the digits of decimal text
        return str(int(value))
    return hex(value)


def _float(value: float, _above: tuple[int, ...]) -> float | None:
    return float(value) if math.isfinite(value) else None


def _mapping(value: Mapping[Any, Any], above: tuple[int, ...]) -> dict[str, Any]:
    return {_key(name): _plain(each, above) for name, each in value.items()}


def _key(name: Any) -> str:
    with suppress(TypeError, ValueError):
        if not isinstance(name, str):
            return str(next(iter(json.loads(json.dumps({name: None})))))
    return str(well_formed(str(name)))


def _items(value: Any, above: tuple[int, ...]) -> list[Any]:
    return [_plain(each, above) for each in value]


def _sorted(value: Any, above: tuple[int, ...]) -> list[Any]:
    try:
        return _items(sorted(value), above)
    except TypeError:
        return _items(sorted(value, key=str), above)


def _bytes(value: Any, _above: tuple[int, ...]) -> str:
    return bytes(value).decode("utf-8", errors="replace")


def _object(value: Any, above: tuple[int, ...]) -> Any:
    """Return what an object says of itself: its fields, its values, else its text."""
    for shown in () if isinstance(value, type) else SHOWN:
        with suppress(Exception):  # a foreign object may do anything
            return _plain(shown(value), above)
    with suppress(Exception):
        return _text(value, above)
    return f"<{type(value).__name__}>"


def _fields(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}


SHOWN: tuple[Callable[[Any], Any], ...] = (
    lambda value: value.model_dump(mode="json"),  # pydantic
    _fields,  # dataclasses
    lambda value: value.to_dict(orient="records"),  # data frames
    lambda value: value.tolist(),  # arrays and their scalars
)
FORMS: tuple[tuple[Any, Callable[[Any, tuple[int, ...]], Any]], ...] = (
    (Enum, lambda value, above: _plain(value.value, above)),
    (str, _text),
    (int, _integer),
    (float, _float),
    (Mapping, _mapping),
    ((set, frozenset), _sorted),
    ((list, tuple, Iterator), _items),
    ((bytes, bytearray, memoryview), _bytes),
    ((datetime, date, time), lambda value, _above: value.isoformat()),
)
"""Kind → how it is written; the first that fits."""
