"""The closed table of argument changes that can become a rule (F54).

Each recogniser looks at how one argument changed and proposes CEL that may explain it.
Proposals are checked against every example elsewhere; here nothing is trusted.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

MISSING = object()
"""Stands for an argument that is not there."""

QUOTES = ('"', "`", "[")
FACTORS = (0.1, 0.2, 0.25, 0.5, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0, 100.0, 1000.0)
ROUNDINGS = ("int({})", "{}")
POSITIONS = (0, 1, 2)
"""Numbers or quoted texts of a message that are tried as the new value."""
TOKEN = re.compile(r"[\w.+/-]{1,32}|[;,|:\t]")
"""Text that may be a constant: a short word, such as `utf-8-sig`, or a separator."""


class Change(NamedTuple):
    """How one argument changed in one example."""

    name: str
    before: Any
    after: Any


Recogniser = Callable[[Sequence[Change]], Iterator[str]]


def literal(value: Any) -> str:
    """Return a value as CEL; JSON literals of plain values are CEL."""
    return json.dumps(value, ensure_ascii=False)


def argument(name: str) -> str:
    """Return the CEL that reads an argument."""
    return f"args[{literal(name)}]"


def _on_text(pattern: str) -> Recogniser:
    """Return a recogniser that proposes one expression over an argument with text."""
    propose = _applied(pattern)
    return lambda changes: propose(changes) if _texts(changes) else iter(())


def _applied(pattern: str) -> Recogniser:
    """Return a recogniser that always proposes one expression over the argument."""

    def propose(changes: Sequence[Change]) -> Iterator[str]:
        yield pattern.format(argument(changes[0].name))

    return propose


def quoted_name(changes: Sequence[Change]) -> Iterator[str]:
    """Propose to quote the name the error speaks of."""
    target = argument(changes[0].name)
    for mark in QUOTES if _texts(changes) else ():
        yield f"quoteName({target}, named(error.message), {literal(mark)})"


def suggested_name(changes: Sequence[Change]) -> Iterator[str]:
    """Propose the name the error suggests, inside a statement or as the value."""
    if not _texts(changes):
        return
    target = argument(changes[0].name)
    yield f"replaceName({target}, named(error.message), suggested(error.message))"
    yield "suggested(error.message)"


def from_error(changes: Sequence[Change]) -> Iterator[str]:
    """Propose a number or a quoted text of the error."""
    del changes
    for position in POSITIONS:
        yield f"numberIn(error.message, {position})"
        yield f"quotedIn(error.message, {position})"


def scaled(changes: Sequence[Change]) -> Iterator[str]:
    """Propose a common factor."""
    if not all(_number(c.before) and _number(c.after) for c in changes):
        return
    target = argument(changes[0].name)
    for factor in FACTORS:
        for rounding in ROUNDINGS:
            yield rounding.format(f"double({target}) * {float(factor)}")


def shifted(changes: Sequence[Change]) -> Iterator[str]:
    """Propose a common whole number to add."""
    first = changes[0]
    if isinstance(first.before, int) and isinstance(first.after, int):
        yield f"{argument(first.name)} + {first.after - first.before}"


def affixed(changes: Sequence[Change]) -> Iterator[str]:
    """Propose a common beginning or ending to add or to take away."""
    if not _texts(changes):
        return
    before, after = changes[0].before, changes[0].after
    target = argument(changes[0].name)
    if after.endswith(before):
        yield f"{literal(after.removesuffix(before))} + {target}"
    if after.startswith(before):
        yield f"{target} + {literal(after.removeprefix(before))}"


def exchanged(changes: Sequence[Change]) -> Iterator[str]:
    """Propose to replace one piece of text, the smallest that differs."""
    if not _texts(changes):
        return
    before, after = changes[0].before, changes[0].after
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    old, new = (text[: len(text) - tail][head:] for text in (before, after))
    for reach in (0, 1, 3, 8):
        left = before[max(0, head - reach) : head]
        right = before[len(before) - tail :][:reach]
        if old or reach:
            pieces = literal(left + old + right), literal(left + new + right)
            yield f"replaceText({argument(changes[0].name)}, {', '.join(pieces)})"


def listed(changes: Sequence[Change]) -> Iterator[str]:
    """Propose to make a list of one value or of text with commas."""
    target = argument(changes[0].name)
    yield f"[{target}]"
    if all(isinstance(change.before, str) for change in changes):
        yield f"splitAt({target}, ',')"


def constant(changes: Sequence[Change]) -> Iterator[str]:
    """Propose a constant: a truth value, a number, nothing, or one short word."""
    after = changes[0].after
    word = isinstance(after, str) and TOKEN.fullmatch(after)
    if word or after is None or isinstance(after, bool | int | float):
        yield literal(after)


RECOGNISERS: tuple[tuple[str, Recogniser], ...] = (
    ("strip the code fence from", _on_text("stripFences({})")),
    ("strip the byte order mark from", _on_text("stripBom({})")),
    ("quote the name the error speaks of in", quoted_name),
    ("take the name the error suggests for", suggested_name),
    ("trim", _on_text("trimmed({})")),
    ("write in lower case", _on_text("lowered({})")),
    ("write in upper case", _on_text("uppered({})")),
    ("convert to a whole number", _applied("int({})")),
    ("convert to a number", _applied("double({})")),
    ("convert to text", _applied("string({})")),
    ("take from the error the value of", from_error),
    ("scale", scaled),
    ("make a list of", listed),
    ("set to a constant", constant),
    ("shift", shifted),
    ("add text to", affixed),
    ("replace a piece of", exchanged),
)
"""What a rule says it does → recogniser; tried in this order."""


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shared(first: str, second: str) -> int:
    """Return how many characters two texts begin with in common."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _texts(changes: Sequence[Change]) -> bool:
    return all(isinstance(c.before, str) and isinstance(c.after, str) for c in changes)
