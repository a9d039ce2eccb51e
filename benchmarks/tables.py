"""Markdown of the document."""

from collections.abc import Sequence
from typing import Any


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join(lines)
