"""What one expression sees of a value: only the fields it reads, so checks stay cheap.

Converting a hundred kilobytes of rows for a rule that reads one count takes
milliseconds. Lists whose size alone is asked for are seen as a text of that length.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from mendgraph.tools.cel import VISIBLE_ROWS, bounded_view, compile_rule

_LITERALS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
COUNT = "_count"
"""Ending of the exact count that stands beside a list that was cut."""


@lru_cache(maxsize=4_096)
def fields_read(source: str, name: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the fields an expression reads of a variable, and those it only counts.

    Returns:
        None where the variable is used other than by `name.field`.
    """
    bare = _LITERALS.sub('""', source)
    word = re.escape(name)
    uses = re.findall(rf"(?<![\w.]){word}\b", bare)
    fields = re.findall(rf"(?<![\w.]){word}\s*\.\s*([A-Za-z_]\w*)(?!\s*\()", bare)
    if len(uses) != len(fields):
        return None
    sized = re.findall(rf"\bsize\(\s*{word}\s*\.\s*([A-Za-z_]\w*)\s*\)", bare)
    only = {f for f in sized if fields.count(f) == sized.count(f)}
    return frozenset(fields), frozenset(only)


def view_for(source: str, name: str, value: Any) -> Any:
    """Return a value as the expression may see it, fields it does not read left out."""
    found = fields_read(source, name)
    if found is None or not isinstance(value, dict):
        return bounded_view(value)
    fields, sized = found
    kept = {key: value[key] for key in fields if key in value}
    for key in fields:
        counted = value.get(key.removesuffix(COUNT))
        if key not in value and key.endswith(COUNT) and isinstance(counted, list):
            kept |= {key: len(counted)} if len(counted) > VISIBLE_ROWS else {}
    lengths = {
        key: " " * min(len(field), VISIBLE_ROWS)
        for key, field in kept.items()
        if key in sized and isinstance(field, list)
    }
    return {**bounded_view(kept), **lengths}


def variables_for(source: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables an expression names, each as it may see it."""
    wanted = compile_rule(source).names()
    return {k: view_for(source, k, v) for k, v in known.items() if k in wanted}
