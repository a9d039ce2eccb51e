"""Rules and bindings in CEL, the Common Expression Language (cel.dev).

Rules are compiled once and kept. Length and macro nesting are limited here, so a plan
cannot hold the interpreter; rules see a bounded view of outputs (`bounded_view`).
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import cel

MAX_LENGTH = 2_000
"""Characters of one expression."""
MAX_MACROS = 2
"""Comprehension macros in one expression; two nested ones over 300 rows take 26 ms."""
VISIBLE_ROWS = 1_000
"""Rows of a list that a rule sees; exact counts stand beside them."""

_MACRO = r"\.(?:all|exists|exists_one|map|filter)\s*\("
_MACROS, _BOUND = re.compile(_MACRO), re.compile(rf"{_MACRO}\s*(\w+)")
_LITERALS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_INDEXED = re.compile(r"\bsteps\s*\[\s*(?:\"([^\"]+)\"|'([^']+)')\s*\]")
_STEPS = re.compile(r"\bsteps\b")
_WORDLIKE = re.compile(r"\d+|in|true|false|null")
"""Ids that also mean something else where no field of theirs is read."""


class RuleError(ValueError):
    """An expression that does not compile or could not be evaluated."""


class Expression:
    """A compiled CEL expression."""

    def __init__(self, source: str) -> None:
        if len(source) > MAX_LENGTH:
            raise RuleError(
                f"the rule has {len(source)} characters, {MAX_LENGTH} allowed"
            )
        if len(_MACROS.findall(_LITERALS.sub('""', source))) > MAX_MACROS:
            raise RuleError(f"more than {MAX_MACROS} comprehension macros: {source!r}")
        self.source = source
        try:
            self._program = cel.compile(source)
        except ValueError as error:
            first = str(error).splitlines()[0] if str(error) else "syntax error"
            raise RuleError(f"the rule {source!r} does not compile: {first}") from error
        self._variables = frozenset(self._program.references()["variables"])

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """Return the value of the expression.

        Raises:
            RuleError: A name or field is missing, or the types do not fit.
        """
        try:
            return self._program.execute(dict(variables))
        except Exception as error:
            # The library raises KeyError, RuntimeError, TypeError, ValueError, …
            raise RuleError(f"the rule {self.source!r} failed: {error}") from error

    def holds(self, variables: Mapping[str, Any]) -> bool:
        """Tell whether the expression is true.

        Raises:
            RuleError: It has no boolean value for these variables.
        """
        value = self.evaluate(variables)
        if not isinstance(value, bool):
            raise RuleError(
                f"the rule {self.source!r} gave {value!r}, not true or false"
            )
        return value

    def names(self) -> frozenset[str]:
        """Return the names it refers to, those bound by its macros among them."""
        return self._variables

    def step_references(self, known: frozenset[str]) -> frozenset[str]:
        """Return the ids of steps it reads, by name or as `steps["id"]`."""
        indexed = {a or b for a, b in _INDEXED.findall(self.source)}
        return frozenset(indexed) | (self._variables & known)

    def reads_steps_dynamically(self) -> bool:
        """Tell whether it reads `steps` other than by a literal id."""
        bare = _STEPS.findall(_LITERALS.sub('""', self.source))
        return "steps" in self._variables and len(bare) != len(
            _INDEXED.findall(self.source)
        )


@lru_cache(maxsize=4_096)
def compile_rule(source: str) -> Expression:
    """Compile an expression, or return the one compiled before.

    Raises:
        RuleError: It does not compile, is too long or nests too deep.
    """
    return Expression(source)


def macro_names(source: str) -> frozenset[str]:
    """Return the variables that the macros of an expression bind."""
    return frozenset(_BOUND.findall(source))


def indexed(source: str, ids: Iterable[str]) -> str | None:
    """Return an expression with the steps that CEL cannot name as `steps["id"]`.

    Such are ids with signs, spaces or other letters, and reserved words.

    Returns:
        None where it names no such step.
    """
    unnamed = sorted((i for i in ids if not _is_name(i)), key=len, reverse=True)
    if not unnamed:
        return None
    bare = "|".join(map(_bare, unnamed))
    pattern = re.compile(rf"{_LITERALS.pattern}|(?P<id>(?<![\w.])(?:{bare}))")
    written = pattern.sub(_index, source)
    return written if written != source else None


def _bare(step_id: str) -> str:
    after = r"(?=\.[A-Za-z_]|\[)" if _WORDLIKE.fullmatch(step_id) else r"(?![\w-])"
    return re.escape(step_id) + after


def _index(found: re.Match[str]) -> str:
    step_id = found["id"]
    if step_id is None:
        return found[0]  # inside a text
    quote = "'" if '"' in step_id else '"'
    return f"steps[{quote}{step_id}{quote}]"


def _is_name(step_id: str) -> bool:
    try:
        return compile_rule(step_id).names() == {step_id}
    except RuleError:
        return False


def bounded_view(value: Any) -> Any:
    """Return the value as rules see it: lists cut at 1,000 rows, with exact counts.

    Where a list field `name` of a mapping is cut, `name_count` stands beside it.
    """
    if isinstance(value, list):
        return value[:VISIBLE_ROWS] if len(value) > VISIBLE_ROWS else value
    if not isinstance(value, dict):
        return value
    long = {
        key: field
        for key, field in value.items()
        if isinstance(field, list) and len(field) > VISIBLE_ROWS
    }
    if not long:
        return value
    counts = {f"{key}_count": len(field) for key, field in long.items()}
    cut = {key: field[:VISIBLE_ROWS] for key, field in long.items()}
    return {**value, **cut, **counts}
