"""Rows streamed into a CSV file, with the counts a monitor needs (F19, F22)."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mendgraph.tools.shipped.paths import whole_file

LINE_END = "\n"
"""Line ending; CSV readers take it and diffs stay readable."""


@dataclass
class CsvCount:
    """What was written so far; counts only, never the rows."""

    columns: tuple[str, ...]
    rows: int = 0
    nulls: dict[str, int] = field(default_factory=dict)

    def add(self, row: Sequence[Any]) -> None:
        """Count one row and its nulls."""
        self.rows += 1
        for name, value in zip(self.columns, row, strict=True):
            if value is None:
                self.nulls[name] += 1


def write_csv(
    target: Path,
    columns: Sequence[str],
    batches: Iterable[Iterable[Sequence[Any]]],
    *,
    encoding: str = "utf-8",
    header_always: bool = True,
) -> dict[str, Any]:
    """Write batches of rows (values in the order of `columns`) to one whole file.

    Args:
        target: Final path; it changes only when everything was written.
        columns: Names for the header.
        batches: Batches of rows; one batch is held at a time.
        encoding: `utf-8`, or `utf-8-sig` for programs that need a byte order mark.
        header_always: Write the header even when no row follows.

    Returns:
        `path`, `rows`, `size_bytes`, `columns`, `null_counts`.
    """
    count = CsvCount(tuple(columns), nulls=dict.fromkeys(columns, 0))
    with whole_file(target, encoding) as stream:
        writer = csv.writer(stream, lineterminator=LINE_END)
        if header_always:
            writer.writerow(columns)
        for batch in batches:
            _write_batch(writer, batch, count, headed=header_always)
    return {
        "path": str(target),
        "rows": count.rows,
        "size_bytes": target.stat().st_size,
        "columns": list(columns),
        "null_counts": count.nulls,
    }


def _write_batch(
    writer: Any, batch: Iterable[Sequence[Any]], count: CsvCount, *, headed: bool
) -> None:
    for row in batch:
        if not headed and count.rows == 0:
            writer.writerow(count.columns)
        writer.writerow(row)
        count.add(row)
