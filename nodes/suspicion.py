"""What is suspicious about a value that fed a failed step: rules, no model (F26).

Each detector looks at one bound value beside the error and says what speaks against it.
A suspicion is evidence for a hypothesis, never a confirmed cause.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mendgraph.nodes.checks import error_inside, row_list
from mendgraph.state.failure import Category, Failure
from mendgraph.state.record import Record
from mendgraph.tools.cel_functions import named

BLAMED_FROM = 0.6
"""Strength from which a step is named as the likely cause."""
STRUCTURAL = 0.9
"""What is wrong whatever the error says; all that counts beside a transient fault."""
SCANNED = 200
MOSTLY = 0.5
SHORTEST_QUOTE = 4
NO_TEXT = re.compile(r"�|\ufeff|Ã[\x80-¿]|â€")
ERROR_PAGE = re.compile(
    r"\s*(?:<!doctype html|<html|traceback \(most recent|(?:fatal )?error:)",
    re.IGNORECASE,
)


class Suspicion(Record):
    """One thing that speaks against an upstream output."""

    step_id: str
    argument: str
    """The argument of the failed step that it fed."""
    what: str
    strength: float
    """0..1, how much it explains the failure by itself."""
    needle: str | None = None
    """The bad text itself, to look for its first appearance further up."""


@dataclass(frozen=True)
class Fed:
    """One argument of the failed step and what filled it."""

    argument: str
    expression: str
    steps: tuple[str, ...]
    value: Any
    missing: str | None = None
    """Why it could not be filled."""
    misfit: str | None = None
    """Why the value does not fit the tool's schema."""
    outputs: Mapping[str, Any] | None = None


Found = tuple[str, float] | tuple[str, float, str]
Detector = Callable[[Fed, Failure], Found | None]


def _missing(fed: Fed, _: Failure) -> Found | None:
    return (f"does not give `{fed.expression}`", 0.95) if fed.missing else None


def _null(fed: Fed, _: Failure) -> Found | None:
    gone = fed.value is None and not fed.missing
    return (f"gives null for `{fed.expression}`", 0.9) if gone else None


def _misfit(fed: Fed, _: Failure) -> Found | None:
    return (f"gives what the tool refuses: {fed.misfit}", 0.9) if fed.misfit else None


def _empty(fed: Fed, _: Failure) -> Found | None:
    blank = fed.value in ("", [], {}) and not isinstance(fed.value, bool | int)
    return (f"gives nothing for `{fed.expression}`", 0.75) if blank else None


def _error_text(fed: Fed, _: Failure) -> Found | None:
    text = fed.value if isinstance(fed.value, str) else ""
    inside = error_inside(fed.value) or (text if ERROR_PAGE.match(text) else None)
    if not inside:
        return None
    return (f"gives an error as its result: {inside[:80]!r}", 0.85, inside[:200])


def _undecoded(fed: Fed, _: Failure) -> Found | None:
    for text in _texts(fed.value):
        if found := NO_TEXT.search(text):
            around = text[max(0, found.start() - 8) : found.end() + 8]
            return (f"gives text that was decoded wrongly: {around!r}", 0.8, around)
    return None


def _fenced(fed: Fed, _: Failure) -> Found | None:
    if isinstance(fed.value, str) and "```" in fed.value:
        return ("gives text inside a Markdown fence", 0.85, fed.value[:200])
    return None


def _near_error(fed: Fed, failure: Failure) -> Found | None:
    """Find the word the error names in a text that an earlier step made."""
    word = named(failure.facts.message)
    text = fed.value if isinstance(fed.value, str) else ""
    if not word or len(text) <= len(word) or not _has_word(text, word):
        return None
    return (f"made the text with {word!r}, which the error names", 0.7, text)


def _quoted(fed: Fed, failure: Failure) -> Found | None:
    """Find the value itself quoted by the error."""
    if not isinstance(fed.value, str | int) or isinstance(fed.value, bool):
        return None
    text = str(fed.value)
    if len(text) < SHORTEST_QUOTE or text not in failure.facts.message:
        return None
    return (f"gave {text[:80]!r}, which the error quotes", 0.65, text)


def _absent_column(fed: Fed, failure: Failure) -> Found | None:
    rows = [row for row in _rows(fed.value) if isinstance(row, Mapping)]
    word = named(failure.facts.message)
    if not rows or not word or any(word in row for row in rows):
        return None
    similar = word in " ".join(map(str, rows[0]))
    return None if similar else (f"gives rows without {word!r}", 0.65)


def _null_column(fed: Fed, failure: Failure) -> Found | None:
    rows = [row for row in _rows(fed.value) if isinstance(row, Mapping)]
    for name in rows[0] if rows else ():
        share = sum(row.get(name) is None for row in rows) / len(rows)
        told = re.search(rf"\b{re.escape(str(name))}\b", failure.facts.message)
        if share >= MOSTLY or (share > 0 and told):
            return f"gives rows with {name!r} null in {share:.0%} of them", 0.7
    return None


def _incomplete(fed: Fed, _: Failure) -> Found | None:
    for output in (fed.outputs or {}).values():
        if not isinstance(output, Mapping):
            continue
        for sign in ("truncated", "skipped", "ragged_rows"):
            if output.get(sign):
                return f"says of its result `{sign}`: {output[sign]}", 0.5
    return None


DETECTORS: tuple[Detector, ...] = (
    _missing,
    _null,
    _misfit,
    _error_text,
    _fenced,
    _undecoded,
    _empty,
    _near_error,
    _null_column,
    _quoted,
    _absent_column,
    _incomplete,
)
"""The plainest first."""


def suspicions(fed: Fed, failure: Failure) -> list[Suspicion]:
    """Return what speaks against the value that filled one argument."""
    found = (detector(fed, failure) for detector in DETECTORS)
    return [
        Suspicion(
            step_id=step_id,
            argument=fed.argument,
            what=each[0],
            strength=each[1],
            needle=each[2] if len(each) > 2 else None,  # noqa: PLR2004  a pair or a triple
        )
        for each in found
        if each and _counts(each[1], failure)
        for step_id in fed.steps
    ]


def _counts(strength: float, failure: Failure) -> bool:
    """Beside a fault of the environment only what is plainly wrong counts."""
    outside = failure.classification.category is Category.ENVIRONMENT
    return not outside or strength >= STRUCTURAL


def _rows(value: Any) -> list[Any]:
    return (row_list(value) or [])[:SCANNED]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    cells = [c for row in _rows(value) if isinstance(row, Mapping) for c in row.items()]
    return [text for cell in cells for text in cell if isinstance(text, str)]


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
