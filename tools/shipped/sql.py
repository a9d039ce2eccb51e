"""SQL tools over any read-only database: inspect, query, batch, stream to a file."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mendgraph.state.policy import Effect, ToolKind, ToolPolicy
from mendgraph.tools.shipped.csv_file import write_csv
from mendgraph.tools.shipped.folding import Fold
from mendgraph.tools.shipped.paths import Root
from mendgraph.tools.shipped.toolkit import Toolkit, make_tool
from mendgraph.tools.shipped.values import plain_value

FILE_BATCH = 5_000
"""Rows held at once while streaming to a file."""


@dataclass(frozen=True)
class Reading:
    """An open query: its columns, and its rows in batches."""

    columns: tuple[str, ...]
    batches: Iterator[Sequence[Sequence[Any]]]


class Database(Protocol):
    """What the tools need of a database; every call opens and closes a connection."""

    def ping(self) -> dict[str, Any]:
        """Return at least `version` and `database`."""

    def tables(self) -> list[dict[str, Any]]:
        """Return `table`, `kind` and `row_estimate` of every user table and view."""

    def describe(self, table: str) -> dict[str, Any]:
        """Return `table`, `columns` and `row_estimate`; fail when there is no table."""

    def query(
        self, sql: str, params: dict[str, Any] | None, limit: int, timeout_s: float
    ) -> tuple[tuple[str, ...], list[Sequence[Any]]]:
        """Return the columns and at most `limit` rows of one reading statement."""

    def reading(
        self, sql: str, params: dict[str, Any] | None, size: int, timeout_s: float
    ) -> AbstractContextManager[Reading]:
        """Open one SELECT whose rows stay in the database until they are asked for."""


@dataclass(frozen=True)
class SqlTools:
    """The tools' functions over one database."""

    database: Database
    root: Root
    timeout_s: float

    def ping(self) -> dict[str, Any]:
        """Check that the database answers; returns its version."""
        return {"ok": True, **self.database.ping()}

    def tables(self) -> dict[str, Any]:
        """List the tables and views with their estimated number of rows."""
        return {"tables": self.database.tables()}

    def describe(self, table: str) -> dict[str, Any]:
        """Describe a table: columns with types and nullability, row estimate.

        `schema_fingerprint` changes exactly when a column is added, removed, renamed,
        retyped or changes its nullability.
        """
        found = self.database.describe(table)
        return {**found, "schema_fingerprint": fingerprint(found["columns"])}

    def query(
        self,
        sql: str,
        params: dict[str, Any] | None = None,
        max_rows: int = 1_000,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Run one read-only statement and return its first `max_rows` rows.

        The database itself refuses writes. `truncated` says that there were more rows.
        """
        limit = _positive("max_rows", max_rows)
        columns, rows = self.database.query(
            sql, params, limit + 1, timeout_s or self.timeout_s
        )
        return {
            "columns": list(columns),
            "rows": as_dicts(columns, rows[:limit]),
            "row_count": min(len(rows), limit),
            "truncated": len(rows) > limit,
        }

    def batch_query(
        self,
        sql: str,
        params: dict[str, Any] | None = None,
        batch_size: int = 1_000,
        max_rows: int = 10_000,
        aggregate: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Run one SELECT through a cursor, reading it batch by batch.

        With `aggregate`, for example `{"group_by": ["day"], "measures": {"views":
        "count", "people": "count_distinct:user_id"}}`, each batch is folded into the
        groups (measures: count, count_distinct, sum, min, max). At most `max_rows` rows
        are returned; `row_count` is exact all the same, `truncated` says that some are
        left out, and `rows_read` counts what the database sent.
        """
        fold = _fold(aggregate)
        kept: list[dict[str, Any]] = []
        read = batches = 0
        size = _positive("batch_size", batch_size)
        limit = _positive("max_rows", max_rows)
        with self.database.reading(
            sql, params, size, timeout_s or self.timeout_s
        ) as reading:
            if fold:
                fold.check(reading.columns)
            for batch in reading.batches:
                read, batches = read + len(batch), batches + 1
                if fold:
                    fold.add(as_dicts(reading.columns, batch))
                else:
                    kept += as_dicts(reading.columns, batch[: limit - len(kept)])
        rows, total = (fold.rows(), len(fold.groups)) if fold else (kept, read)
        return {
            "columns": fold.columns if fold else list(reading.columns),
            "rows": rows[:limit],
            "row_count": total,
            "rows_read": read,
            "batches": batches,
            "truncated": total > limit,
        }

    def query_to_file(
        self,
        sql: str,
        path: str,
        params: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Stream the rows of one SELECT into a CSV file without holding them.

        The file appears only when it is complete. Returns its path, rows, size,
        columns and the number of nulls in each column.
        """
        target = self.root.inside(path)
        with self.database.reading(
            sql, params, FILE_BATCH, timeout_s or self.timeout_s
        ) as reading:
            plain = (map(plain_row, batch) for batch in reading.batches)
            return write_csv(target, reading.columns, plain)


def sql_toolkit(
    database: Database, prefix: str, root: str | Path, timeout_s: float
) -> Toolkit:
    """Return the six tools over a database, named `{prefix}_ping` and so on."""
    tools = SqlTools(database, Root(Path(root)), timeout_s)
    made = tuple(
        make_tool(getattr(tools, name), f"{prefix}_{name}") for name in POLICIES
    )
    policies = {
        f"{prefix}_{name}": policy.but(service=prefix, timeout_s=timeout_s + 30)
        for name, policy in POLICIES.items()
    }
    return Toolkit(made, policies)


READING = ToolPolicy(effect=Effect.READ, idempotent=True, kind=ToolKind.QUERY)
ROWS = READING.but(
    tool_class="sql_query", required_fields=("columns", "rows", "row_count")
)
POLICIES: dict[str, ToolPolicy] = {
    "ping": READING.but(tool_class="sql_ping", required_fields=("version",)),
    "tables": READING.but(tool_class="sql_schema", required_fields=("tables",)),
    "describe": READING.but(
        tool_class="sql_schema", required_fields=("columns", "schema_fingerprint")
    ),
    "query": ROWS,
    "batch_query": ROWS,
    "query_to_file": ToolPolicy(
        effect=Effect.WRITE,
        idempotent=True,
        tool_class="sql_query",
        required_fields=("path", "rows", "size_bytes"),
    ),
}
"""Tool → policy. Writing a file again gives the same file, so it may be repeated."""


def fingerprint(columns: Sequence[dict[str, Any]]) -> str:
    """Return the SHA-256 of the columns' names, types and nullability (F20)."""
    facts = [[column["name"], column["type"], column["nullable"]] for column in columns]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def plain_row(row: Sequence[Any]) -> list[Any]:
    """Return a row's values as JSON values."""
    return [plain_value(value) for value in row]


def as_dicts(
    columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> list[dict[str, Any]]:
    """Return rows as JSON objects."""
    return [dict(zip(columns, plain_row(row), strict=True)) for row in rows]


def unique_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, or refuse a result in which one column would hide another.

    Raises:
        ValueError: Two columns have one name.
    """
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the query returns columns {twice} twice; give them aliases")
    return tuple(names)


def _fold(aggregate: dict[str, Any] | None) -> Fold | None:
    if aggregate is None:
        return None
    unknown = sorted(set(aggregate) - {"group_by", "measures"})
    if unknown or not aggregate.get("measures"):
        raise ValueError(
            'aggregate must look like {"group_by": ["a"], "measures": {"n": "count"}}'
        )
    return Fold(tuple(aggregate.get("group_by") or ()), dict(aggregate["measures"]))


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return value
