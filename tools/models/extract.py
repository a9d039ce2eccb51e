"""Find the JSON values in a model's text, without ever completing a cut-off one.

A reader of RFC 8259 that forgives what models do wrong without losing data: raw line
breaks and invalid escapes in strings, trailing commas, Python literals. Two different
values for one key, or a value that never closes, are not forgiven.
"""

import ast
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mendgraph.state.wellformed import well_formed

logger = logging.getLogger(__name__)

START = re.compile(r"\{(?=\s*[\"'}])|\[(?=\s*[{\[])|\{(?=\s*\Z)")
"""Where JSON begins inside prose: `{"`, `{}`, `[{`; not `{name}` and not `[1]`."""
WHOLE_START = re.compile(r"\s*[{\[]")
BAD_ESCAPE = re.compile(r"\\(\\|[\"/bfnrt]|u[0-9a-fA-F]{4})|\\")
TRAILING_COMMA = re.compile(r"(\"(?:[^\"\\]|\\.)*\")|,(?=\s*[}\]])", re.DOTALL)
STEPS = {"{": 1, "[": 1, "}": -1, "]": -1}
"""Bracket → how it changes the depth."""
IN_DOUBLE = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)'
IN_SINGLE = r"'[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?\Z)"
DOUBLE_QUOTE = re.compile(rf"[{{}}\[\]]|{IN_DOUBLE}", re.DOTALL)
EITHER_QUOTE = re.compile(rf"[{{}}\[\]]|{IN_DOUBLE}|{IN_SINGLE}", re.DOTALL)
"""A bracket, or a whole string, whose brackets do not count."""


class BrokenJson(ValueError):
    """Text that looks like JSON and cannot be read without guessing."""


@dataclass(frozen=True, slots=True)
class Found:
    """The values found, in order, and whether one of them never closes."""

    values: tuple[Any, ...]
    cut_off: bool
    broken: tuple[str, ...]
    """Why closed candidates could not be read."""
    end: int
    """Where the last value ends in the text."""


def find_json(text: str) -> Found:
    """Return every outermost JSON object or list in the text."""
    values: list[Any] = []
    broken: list[str] = []
    last = 0
    for start, end in _spans(text):
        if end is None:
            return Found(tuple(values), cut_off=True, broken=tuple(broken), end=last)
        try:
            values.append(read(text[start:end]))
            last = end
        except BrokenJson as error:
            broken.append(str(error))
    return Found(tuple(values), cut_off=False, broken=tuple(broken), end=last)


def _spans(text: str) -> Iterator[tuple[int, int | None]]:
    """Yield (start, end) of outermost values; end is None for one that never closes."""
    whole = WHOLE_START.match(text)
    position = whole.end() - 1 if whole else _next_start(text, 0)
    while position is not None:
        end = _closing(text, position)
        yield position, end
        if end is None:
            return
        position = _next_start(text, end)


def _next_start(text: str, position: int) -> int | None:
    match = START.search(text, position)
    return match.start() if match else None


def _closing(text: str, start: int) -> int | None:
    """Return the index after the bracket that closes the one at `start`."""
    depth = 0
    single = re.match(r"[{\[\s]+'", text[start : start + 80])
    for match in (EITHER_QUOTE if single else DOUBLE_QUOTE).finditer(text, start):
        if match[0] in STEPS:
            depth += STEPS[match[0]]
            if depth == 0:
                return match.end()
    return None


def read(text: str) -> Any:
    """Return the JSON value that the whole text is.

    Raises:
        BrokenJson: It cannot be read without guessing.
    """
    attempts = (_strict, _lenient, _python)
    reasons = []
    for attempt in attempts:
        try:
            value = attempt(text)
            return well_formed(value) if "\\u" in text else value
        except BrokenJson:
            raise
        except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
            reasons.append(str(error))
    raise BrokenJson(reasons[0])


def _strict(text: str) -> Any:
    return json.loads(
        text, strict=False, object_pairs_hook=_unique, parse_constant=_no_constant
    )


def _lenient(text: str) -> Any:
    escaped = BAD_ESCAPE.sub(_escape, text)
    value = _strict(TRAILING_COMMA.sub(lambda match: match[1] or "", escaped))
    logger.info("mended escapes or commas in a model's JSON")
    return value


def _escape(match: re.Match[str]) -> str:
    return match[0] if match[1] else r"\\"


def _python(text: str) -> Any:
    value = ast.literal_eval(text.strip())
    if not isinstance(value, dict | list):
        raise BrokenJson("neither an object nor a list")
    logger.info("read a model's Python literal as JSON")
    return json.loads(json.dumps(value))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise BrokenJson(f"the key {key!r} has two different values")
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise BrokenJson(f"{name} is no JSON value")
