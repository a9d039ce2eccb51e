"""Distil a rule from repeated fixes: CEL that reproduces every one of them (F54).

No expression that explains all examples means no rule.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mendgraph.state.recipes import (
    MISSING,
    RECOGNISERS,
    Change,
    argument,
    literal,
)
from mendgraph.state.record import Record

FEWEST = 2
"""Examples that are needed."""
SHORTEST_PHRASE = 6
"""Characters a phrase shared by all errors must have to guard a rule."""
LONGEST_PHRASE = 120
_VARIABLE = re.compile(r"\d|[\"'`“”\[\]{}()<>/\\]")

Evaluate = Callable[[str, Mapping[str, Any]], Any]
"""Evaluates CEL over variables; raises ValueError when it cannot."""


class Example(Record):
    """One fix that worked: arguments before and after, and the error between."""

    args_before: dict[str, Any]
    args_after: dict[str, Any]
    error: str = ""


class Recipe(Record):
    """A distilled condition and patch, with what it does in words."""

    condition: str
    patch: dict[str, str]
    """Argument → CEL; `null` takes the argument away."""
    description: str


def variables(example: Example) -> dict[str, Any]:
    """Return what the CEL of a rule sees of an example."""
    return {
        "args": example.args_before,
        "error": {"message": example.error},
        "output": None,
        "tool": "",
    }


def distil(examples: Sequence[Example], evaluate: Evaluate) -> Recipe | None:
    """Return the recipe that reproduces every example, or None."""
    names = {frozenset(_changed(example)) for example in examples}
    if len(examples) < FEWEST or len(names) != 1:
        return None
    found = {name: _explain(name, examples, evaluate) for name in sorted(names.pop())}
    if not found or None in found.values():
        return None
    explained = {name: pair for name, pair in found.items() if pair is not None}
    patch = {name: source for name, (source, _) in explained.items()}
    guard = common_phrase([example.error for example in examples])
    if not guard and not any("error." in source for source in patch.values()):
        return None
    said = [f"{what} `{name}`" for name, (_, what) in explained.items()]
    return Recipe(
        condition=_condition(patch, examples, guard),
        patch=patch,
        description=_capital(" and ".join(said)),
    )


def _changed(example: Example) -> Iterator[str]:
    before, after = example.args_before, example.args_after
    for name in before.keys() | after.keys():
        if not same(before.get(name, MISSING), after.get(name, MISSING)):
            yield name


def _explain(
    name: str, examples: Sequence[Example], evaluate: Evaluate
) -> tuple[str, str] | None:
    """Return CEL that gives the new value in each example, and what it does."""
    changes = [
        Change(name, e.args_before.get(name, MISSING), e.args_after.get(name, MISSING))
        for e in examples
    ]
    if all(change.after is MISSING for change in changes):
        return "null", "leave out"
    for source, what in _proposals(changes, examples):
        if all(_gives(source, e, name, evaluate) for e in examples):
            return source, what
    return None


def _proposals(
    changes: Sequence[Change], examples: Sequence[Example]
) -> Iterator[tuple[str, str]]:
    if all(change.before is MISSING for change in changes):
        gone = [
            key for key in examples[0].args_before if key not in examples[0].args_after
        ]
        yield from ((argument(key), f"give `{key}` as") for key in gone)
    for what, recogniser in RECOGNISERS:
        yield from ((source, what) for source in recogniser(changes))


def _gives(source: str, example: Example, name: str, evaluate: Evaluate) -> bool:
    if name not in example.args_after:
        return False
    try:
        value = evaluate(source, variables(example))
    except ValueError:
        return False
    return same(value, example.args_after[name])


def same(first: Any, second: Any) -> bool:
    """Tell whether two values are equal and of one type (1, 1.0 and true differ)."""
    return type(first) is type(second) and bool(first == second)


def _condition(
    patch: Mapping[str, str], examples: Sequence[Example], guard: str
) -> str:
    needed = {
        key
        for key in examples[0].args_before
        if any(argument(key) in source for source in patch.values())
    }
    parts = [f"{literal(key)} in args" for key in sorted(needed)]
    if guard:
        parts.append(f"error.message.contains({literal(guard)})")
    return " && ".join(parts) or "true"


def common_phrase(messages: Sequence[str]) -> str:
    """Return the longest run of words that every message has, or nothing.

    Words with digits, quotes or brackets vary by case and end a run.
    """
    if not messages or not all(messages):
        return ""
    shortest = min(messages, key=len)[:2_000]
    runs = sorted(_runs(shortest), key=len, reverse=True)
    for run in runs:
        if all(run in message for message in messages):
            return run
    return ""


def _runs(message: str) -> Iterator[str]:
    """Yield each run of fixed words that is long enough."""
    words = message.split(" ")
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + 12) + 1):
            if _VARIABLE.search(words[end - 1]):
                break
            run = " ".join(words[start:end])
            if SHORTEST_PHRASE <= len(run) <= LONGEST_PHRASE:
                yield run


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
