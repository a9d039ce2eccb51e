"""What the rehearsal model can read in a prompt: two kinds of fault, and two lessons.

Everything is decided from the words of the prompt; nothing is known beforehand of which
step fails.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from mendgraph.state.record import Record

SYNTAX = re.compile(r'syntax error at or near "(?P<word>\w+)"')
SQL = re.compile(r"""["']sql["']\s*:\s*(?P<sql>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
"""A statement in JSON or in Python's notation."""
EMPTY = re.compile(r"\b0 bytes|no rows|file is empty")
TEMPLATE = re.compile(r'"template"\s*:\s*(?P<types>\{[^{}]*\})')
NUMBER = r"""["']{column}["']\s*:\s*(?P<value>-?\d+(?:\.\d+)?)\b"""
MISMATCH = re.compile(
    r"column '(?P<column>\w+)': (?P<found>\w+), template says (?P<wanted>\w+)"
)
STEP_OF_CODEGEN = re.compile(r"\bs\d+\b(?=\.sql\b)")

QUOTE_LESSON = (
    "Reserved words need quotes as column names: "
    "call sql_codegen with quote_identifiers=true."
)
CAST_LESSON = (
    "Template types must fit the values: call csv_writer with on_mismatch=cast."
)
KNOWS_QUOTING = re.compile(
    r"quote_identifiers\s*=\s*true|quote the reserved word", re.IGNORECASE
)
"""Its own words, and those of the shipped strategy for the same fault."""
KNOWS_CASTING = re.compile(r"on_mismatch\s*=\s*['\"]?cast", re.IGNORECASE)


class Finding(Record):
    """One fault found in a prompt and how it can be mended."""

    patch: dict[str, Any]
    subclass: str
    issue: str
    hypothesis: str
    lesson: str
    cause_step: str | None = None
    probes: tuple[dict[str, Any], ...] = ()
    counterfactual: dict[str, Any] | None = None


def find_fault(prompt: str) -> Finding | None:
    """Return the fault the prompt shows, or None when it shows none of the two."""
    text = prompt.replace('\\"', '"') if '\\"sql\\"' in prompt else prompt
    found = (reader(each) for reader in READERS for each in (prompt, text))
    return next((finding for finding in found if finding), None)


def lessons_in(prompt: str) -> dict[str, Any]:
    """Return the arguments of `pvuv_plan` that lessons in the prompt ask for."""
    casting = "cast" if KNOWS_CASTING.search(prompt) else None
    return {
        "quote_identifiers": bool(KNOWS_QUOTING.search(prompt)),
        "on_mismatch": casting,
    }


def quoted(sql: str, word: str) -> str:
    """Return the SQL with every bare use of a word in double quotes.

    Strings and names in quotes stay as they are.
    """
    bare = re.compile(rf"('[^']*'|\"[^\"]*\")|\b{re.escape(word)}\b", re.IGNORECASE)
    return bare.sub(lambda match: match[1] or f'"{match[0]}"', sql)


def _told_mismatch(text: str) -> Finding | None:
    """Find the mismatch in the words of the CSV tool's own output."""
    found = MISMATCH.search(text)
    return (
        _mismatch(found["column"], found["found"], found["wanted"]) if found else None
    )


def _seen_mismatch(text: str) -> Finding | None:
    """Find it by comparing the template with a row, where the result was empty."""
    template = TEMPLATE.search(text)
    if not template or not EMPTY.search(text):
        return None
    for column, wanted in json.loads(template["types"]).items():
        value = re.search(NUMBER.format(column=re.escape(column)), text)
        if wanted == "string" and value:
            return _mismatch(column, "number", wanted)
    return None


def _mismatch(column: str, found: str, wanted: str) -> Finding:
    return Finding(
        patch={"on_mismatch": "cast"},
        subclass="parse_error",
        issue="the CSV file is empty although the call succeeded",
        hypothesis=f"column {column} holds {found} values, its template asks {wanted}",
        lesson=CAST_LESSON,
        probes=({"expression": "output.skipped > 0", "confirms": 0},),
    )


def _reserved_word_fault(text: str) -> Finding | None:
    found = SYNTAX.search(text.replace('\\"', '"'))
    if not found:
        return None
    for sql in _statements(text):
        mended = quoted(sql, found["word"])
        if mended != sql:
            return _reserved(found["word"], mended, text)
    return None


def _reserved(word: str, mended: str, text: str) -> Finding:
    cause = STEP_OF_CODEGEN.search(text)
    step = cause[0] if cause else None
    tried = {"tool": "postgres_query", "arguments": {"sql": f"EXPLAIN {mended}"}}
    return Finding(
        patch={"sql": mended},
        subclass="param_error",
        issue=f"PostgreSQL refused the SQL near the word {word}",
        hypothesis=f"{word} is a reserved word and is used as a column without quotes",
        lesson=QUOTE_LESSON,
        cause_step=step,
        probes=({**tried, "confirms": 0},),
        counterfactual=_other_world(step),
    )


def _other_world(step: str | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {"step": step, "argument": "quote_identifiers", "value": True}


def _statements(text: str) -> Iterator[str]:
    for found in SQL.finditer(text):
        with suppress(ValueError, SyntaxError):
            yield ast.literal_eval(found["sql"])


READERS: tuple[Callable[[str], Finding | None], ...] = (
    _told_mismatch,
    _seen_mismatch,
    _reserved_word_fault,
)
"""Later steps first: a prompt may still show how an earlier step was mended."""
