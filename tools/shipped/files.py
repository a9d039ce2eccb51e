"""File tools inside one folder: write CSV, read CSV, read text."""

import codecs
import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from mendgraph.state.policy import Effect, ToolPolicy
from mendgraph.tools.shipped.csv_file import write_csv
from mendgraph.tools.shipped.csv_template import ColumnType, OnMismatch, Template
from mendgraph.tools.shipped.paths import Root
from mendgraph.tools.shipped.toolkit import Toolkit, make_tool

MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""(byte order mark, encoding); UTF-32 first, whose mark starts like UTF-16's."""


@dataclass(frozen=True)
class FileTools:
    """The tools' functions over one folder."""

    root: Root

    def csv_writer(
        self,
        path: str,
        rows: list[dict[str, Any]],
        columns: list[str] | None = None,
        template: dict[str, ColumnType] | None = None,
        on_mismatch: OnMismatch = "skip",
        encoding: Literal["utf-8", "utf-8-sig"] = "utf-8",
    ) -> dict[str, Any]:
        """Write rows to a CSV file, by a strict template of column types when given.

        A row whose values are not of the template's types is left out and counted in
        `skipped` (`on_mismatch="skip"`, the default), converted (`"cast"`), or makes
        the call fail (`"error"`). Nulls fit every type. The header is written together
        with the first row: when every row was left out, the file has 0 bytes and the
        call still succeeds, so look at `rows`, `skipped` and `size_bytes`. Columns of
        the rows that are not written are named in `left_out_columns`.
        """
        target = self.root.inside(path)
        names = columns or list(template or ()) or _columns(rows)
        strict = Template(template or {}, on_mismatch)
        fitting = strict.fitting(names, rows)
        written = write_csv(
            target, names, [fitting], encoding=encoding, header_always=False
        )
        missing = [name for name in _columns(rows) if name not in names]
        told = {"skipped": strict.skipped, "mismatches": list(strict.first.values())}
        # What went wrong comes first: digests of outputs keep their beginning.
        return {**told, **written, "left_out_columns": missing}

    def csv_reader(
        self,
        path: str,
        max_rows: int = 100,
        encoding: str | None = None,
        delimiter: str = ",",
    ) -> dict[str, Any]:
        """Read the first rows of a CSV file as text, with exact counts of all rows.

        `row_count` and `null_counts` (empty cells) cover the whole file; `ragged_rows`
        counts rows with fewer or more cells than the header.
        """
        source = self.root.inside(path)
        with _opened(source, encoding) as (stream, used):
            reader = csv.reader(stream, delimiter=delimiter)
            columns = next(reader, [])
            counted = _count_rows(reader, columns, max_rows)
        return {
            "path": str(source),
            "columns": columns,
            **counted,
            "size_bytes": source.stat().st_size,
            "encoding": used,
            "truncated": counted["row_count"] > len(counted["rows"]),
        }

    def file_reader(
        self, path: str, max_bytes: int = 100_000, encoding: str | None = None
    ) -> dict[str, Any]:
        """Read the first `max_bytes` of a text file.

        The encoding is the given one, else that of the byte order mark, else UTF-8; a
        file that is none of these fails instead of being guessed at.
        """
        source = self.root.inside(path)
        with source.open("rb") as stream:
            head = stream.read(max_bytes)
        size = source.stat().st_size
        used = encoding or _marked(head)
        cut = size > len(head)
        # A character cut by `max_bytes` is dropped, a broken one inside is an error.
        text = codecs.getincrementaldecoder(used)().decode(head, final=not cut)
        return {
            "path": str(source),
            "text": text,
            "encoding": used,
            "size_bytes": size,
            "truncated": cut,
        }


def file_tools(root: str | Path) -> Toolkit:
    """Return `csv_writer`, `csv_reader` and `file_reader` for one folder."""
    tools = FileTools(Root(Path(root)))
    made = tuple(make_tool(getattr(tools, name), name) for name in POLICIES)
    return Toolkit(made, POLICIES)


POLICIES: dict[str, ToolPolicy] = {
    "csv_writer": ToolPolicy(
        effect=Effect.WRITE,
        idempotent=True,
        service="files",
        tool_class="file_write",
        required_fields=("path", "rows", "size_bytes", "columns"),
    ),
    "csv_reader": ToolPolicy(
        effect=Effect.READ,
        idempotent=True,
        service="files",
        tool_class="file_read",
        required_fields=("path", "columns", "rows", "row_count"),
    ),
    "file_reader": ToolPolicy(
        effect=Effect.READ,
        idempotent=True,
        service="files",
        tool_class="file_read",
        required_fields=("path", "text", "size_bytes"),
    ),
}
"""Writing the same rows again replaces the file by the same file."""


def _columns(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return every key of the rows, in the order they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _marked(head: bytes) -> str:
    return next((name for mark, name in MARKS if head.startswith(mark)), "utf-8")


@contextmanager
def _opened(source: Path, encoding: str | None) -> Iterator[tuple[IO[str], str]]:
    with source.open("rb") as raw:
        used = encoding or _marked(raw.read(4))
    with source.open(encoding=used, newline="") as stream:
        yield stream, used


def _count_rows(
    reader: Iterator[list[str]], columns: list[str], max_rows: int
) -> dict[str, Any]:
    """Read all rows, keep the first ones, count the rest."""
    nulls: Counter[str] = Counter(dict.fromkeys(columns, 0))
    total = ragged = 0
    kept: list[dict[str, Any]] = []
    for cells in reader:
        row = dict(zip(columns, cells, strict=False))
        total += 1
        ragged += len(cells) != len(columns)
        nulls.update(name for name in columns if not row.get(name))
        kept += islice([row], max(0, max_rows - len(kept)))
    return {
        "rows": kept,
        "row_count": total,
        "null_counts": dict(nulls),
        "ragged_rows": ragged,
    }
