"""SQLite read by tools: opened read-only, with an authorizer for the rest.

Source for the action codes: https://sqlite.org/c3ref/c_alter_table.html
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mendgraph.tools.shipped.sql import Reading, sql_toolkit, unique_columns
from mendgraph.tools.shipped.toolkit import Toolkit

INSTRUCTIONS = 10_000
"""Virtual machine instructions between two looks at the clock."""

TABLES = """
SELECT name AS "table", type AS kind FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name
"""
COLUMNS = """
SELECT name, '"' || replace(name, '"', '""') || '"' AS sql_name, type,
       NOT "notnull" AS nullable
FROM pragma_table_info(:table) ORDER BY cid
"""


def sqlite_tools(
    path: str | Path,
    *,
    prefix: str = "sqlite",
    root: str | Path = ".",
    timeout_s: float = 60.0,
) -> Toolkit:
    """Return read-only tools for one SQLite file.

    Args:
        path: The database file; it must exist when a tool is called.
        prefix: Start of the tools' names, and their service name.
        root: The folder `query_to_file` may write in.
        timeout_s: Limit of one call in seconds.
    """
    database = SqliteDatabase(Path(path), timeout_s)
    return sql_toolkit(database, prefix, root, timeout_s)


@dataclass(frozen=True)
class SqliteDatabase:
    """A SQLite file opened read-only, one connection a call."""

    path: Path
    timeout_s: float = 60.0
    clock: Callable[[], float] = time.monotonic

    def ping(self) -> dict[str, Any]:
        """Return the library's version and the file's schema version."""
        with self._session(self.timeout_s) as session:
            version = session.execute("SELECT sqlite_version()").fetchone()[0]
            tables = session.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        return {
            "version": f"SQLite {version}",
            "database": self.path.name,
            "objects": tables,
        }

    def tables(self) -> list[dict[str, Any]]:
        """Return the user's tables and views with exact counts."""
        with self._session(self.timeout_s) as session:
            found = _dicts(session.execute(TABLES))
            return [
                {**row, "row_estimate": _count(session, row["table"])} for row in found
            ]

    def describe(self, table: str) -> dict[str, Any]:
        """Return columns and the exact count as estimate."""
        with self._session(self.timeout_s) as session:
            columns = _dicts(session.execute(COLUMNS, {"table": table}))
            if not columns:
                raise sqlite3.OperationalError(f"no such table: {table}")
            for column in columns:
                column["nullable"] = bool(column["nullable"])
            count = _count(session, table)
        return {"table": table, "columns": columns, "row_estimate": count}

    def query(
        self, sql: str, params: dict[str, Any] | None, limit: int, timeout_s: float
    ) -> tuple[tuple[str, ...], list[Sequence[Any]]]:
        """Run one statement and stop reading after `limit` rows."""
        with self.reading(sql, params, limit, timeout_s) as reading:
            return reading.columns, list(next(reading.batches, ()))

    @contextmanager
    def reading(
        self, sql: str, params: dict[str, Any] | None, size: int, timeout_s: float
    ) -> Iterator[Reading]:
        """Open one statement; SQLite computes rows as they are fetched."""
        with self._session(timeout_s) as session:
            cursor = session.execute(sql, params or {})
            names = [column[0] for column in cursor.description or ()]
            batches = iter(lambda: cursor.fetchmany(size), [])
            yield Reading(unique_columns(names), batches)

    @contextmanager
    def _session(self, timeout_s: float) -> Iterator[sqlite3.Connection]:
        if not self.path.is_file():
            raise FileNotFoundError(f"no SQLite file {self.path.name!r} to read")
        address = f"{self.path.resolve().as_uri()}?mode=ro"
        end, refused = self.clock() + timeout_s, list[str]()
        opened = sqlite3.connect(
            address, uri=True, timeout=timeout_s, isolation_level=None
        )
        with closing(opened) as session:
            session.set_authorizer(_authorizer(refused))
            session.set_progress_handler(lambda: self.clock() > end, INSTRUCTIONS)
            try:
                yield session
            except sqlite3.DatabaseError as error:
                explained = _explained(error, refused, timeout_s)
                if explained is None:
                    raise
                raise explained from error


PASSED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
}
"""Actions let by. Full-text and R-tree tables prepare writes even when they are read;
a write that runs is refused by SQLite, for the file is open read-only."""
ACTIONS = {
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_TRANSACTION: "transaction control",
    sqlite3.SQLITE_CREATE_TEMP_TABLE: "CREATE TEMP TABLE",
}
PRAGMAS = {"table_info", "data_version"}
"""Pragmas that only tell; the second is asked by full-text tables."""
FUNCTIONS_WITH_EFFECTS = {"load_extension", "writefile", "edit"}


def _authorizer(refused: list[str]) -> Callable[..., int]:
    """Return SQLite's callback; what it denies is noted in `refused`."""

    def decide(action: int, first: str | None, second: str | None, *_rest: Any) -> int:
        passes = action in PASSED and second not in FUNCTIONS_WITH_EFFECTS
        if passes or (action == sqlite3.SQLITE_PRAGMA and first in PRAGMAS):
            return sqlite3.SQLITE_OK
        refused.append(
            f"{ACTIONS.get(action, f'action {action}')} {first or ''}".strip()
        )
        return sqlite3.SQLITE_DENY

    return decide


def _explained(
    error: sqlite3.DatabaseError, refused: list[str], timeout_s: float
) -> Exception | None:
    """Return an error that says what SQLite's leaves unsaid; None when nothing is."""
    if refused:
        return sqlite3.DatabaseError(
            f"{error}: this tool only reads, {refused[0]} is refused"
        )
    if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
        return TimeoutError(f"the statement took longer than {timeout_s:g} s")
    return None


def _count(session: sqlite3.Connection, table: str) -> int:
    name = table.replace('"', '""')
    # Identifiers cannot be parameters; the name is quoted above.
    found = session.execute(f'SELECT count(*) FROM "{name}"').fetchone()  # noqa: S608
    return int(found[0])


def _dicts(cursor: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
