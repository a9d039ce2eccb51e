"""Arguments as a person or a model gives them back: what was masked stays as it was."""

from collections.abc import Mapping
from typing import Any

from mendgraph.nodes.prepare import masked
from mendgraph.state.interrupts import EditedAction
from mendgraph.state.masking import MASK
from mendgraph.tools.registry import Entry


def edited(
    arguments: Mapping[str, Any], wanted: EditedAction, entry: Entry
) -> dict[str, Any] | str:
    """Return the arguments as edited, or why they cannot be taken.

    Arguments left out stay; what comes back as it was shown stays what it was.
    """
    if wanted.name not in {None, entry.name}:
        return f"An edit cannot call another tool than {entry.name!r}."
    shown = masked(arguments, entry.policy)
    changed = {
        name: unmasked(value, shown.get(name), arguments.get(name))
        for name, value in wanted.args.items()
    }
    if any(_holds_mask(value) for value in changed.values()):
        return (
            f"Write a secret out, or leave it as {MASK!r}; a part of it is no secret."
        )
    result = {**arguments, **changed}
    problems = entry.problems(result)
    return "The edit does not fit: " + "; ".join(problems) if problems else result


def unmasked(given: Any, shown: Any, real: Any) -> Any:
    """Return a value with everything masked or cut in it as it really is."""
    if given in (shown, MASK):
        return real
    if isinstance(given, Mapping) and isinstance(real, Mapping):
        seen = shown if isinstance(shown, Mapping) else {}
        return {k: unmasked(v, seen.get(k), real.get(k)) for k, v in given.items()}
    alike = isinstance(given, list) and isinstance(real, list)
    if alike and isinstance(shown, list) and len(given) == len(shown) == len(real):
        return [unmasked(*each) for each in zip(given, shown, real, strict=True)]
    return given


def _holds_mask(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_mask(each) for each in value.values())
    if isinstance(value, list):
        return any(_holds_mask(each) for each in value)
    return isinstance(value, str) and MASK in value
