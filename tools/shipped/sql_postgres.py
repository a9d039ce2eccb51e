"""PostgreSQL read by tools: every statement runs in a READ ONLY transaction.

Only single statements pass (extended query protocol), and the session runs a query
first, after which PostgreSQL refuses `SET TRANSACTION READ WRITE`. Functions with side
effects are bounded by the rights of the role: give the tools a role that may only read.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mendgraph.tools.shipped.sql import Reading, sql_toolkit, unique_columns
from mendgraph.tools.shipped.toolkit import Toolkit

if TYPE_CHECKING:
    import psycopg

CONNECT_TIMEOUT_S = 10

COLUMNS = """
SELECT a.attname AS name, quote_ident(a.attname) AS sql_name,
       format_type(a.atttypid, a.atttypmod) AS type, NOT a.attnotnull AS nullable
FROM pg_attribute a
WHERE a.attrelid = %(table)s::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
ESTIMATE = """
SELECT c.oid::regclass::text, nullif(c.reltuples, -1)::bigint
FROM pg_class c WHERE c.oid = %(table)s::regclass
"""
TABLES = """
SELECT c.oid::regclass::text AS table,
       CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END AS kind,
       nullif(c.reltuples, -1)::bigint AS row_estimate
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_'
  AND n.nspname <> 'information_schema'
ORDER BY 1
"""


def postgres_tools(
    uri: str,
    *,
    prefix: str = "postgres",
    root: str | Path = ".",
    timeout_s: float = 60.0,
) -> Toolkit:
    """Return read-only tools for one PostgreSQL database.

    Args:
        uri: Connection address; it is never part of an output.
        prefix: Start of the tools' names, and their service name.
        root: The folder `query_to_file` may write in.
        timeout_s: Limit of one statement in seconds.
    """
    return sql_toolkit(PostgresDatabase(uri, timeout_s), prefix, root, timeout_s)


@dataclass(frozen=True)
class PostgresDatabase:
    """A PostgreSQL database opened read-only, one connection a call."""

    uri: str = field(repr=False)
    timeout_s: float = 60.0

    def ping(self) -> dict[str, Any]:
        """Return version and names; needs a real round trip."""
        with self._session(self.timeout_s) as session:
            row = session.execute(
                "SELECT version(), current_database(), current_user, "
                "current_setting('TimeZone')"
            ).fetchone()
        return dict(
            zip(("version", "database", "user", "time_zone"), row or (), strict=True)
        )

    def tables(self) -> list[dict[str, Any]]:
        """Return the user's tables and views."""
        with self._session(self.timeout_s) as session:
            return _dicts(session.execute(TABLES))

    def describe(self, table: str) -> dict[str, Any]:
        """Return columns and estimate; `sql_name` is the name as SQL needs it."""
        with self._session(self.timeout_s) as session:
            columns = _dicts(session.execute(COLUMNS, {"table": table}))
            found = session.execute(ESTIMATE, {"table": table}).fetchone()
        name, estimate = found or (table, None)
        return {"table": name, "columns": columns, "row_estimate": estimate}

    def query(
        self, sql: str, params: dict[str, Any] | None, limit: int, timeout_s: float
    ) -> tuple[tuple[str, ...], list[Sequence[Any]]]:
        """Run one statement and fetch at most `limit` rows."""
        with self.reading(sql, params, limit, timeout_s) as reading:
            return reading.columns, list(next(reading.batches, ()))

    @contextmanager
    def reading(
        self, sql: str, params: dict[str, Any] | None, size: int, timeout_s: float
    ) -> Iterator[Reading]:
        """Open a server-side cursor; `FETCH` brings one batch at a time."""
        with self._session(timeout_s) as session:
            if not params:
                _require_rows(session, sql)
            with _open(session, sql, params or None) as cursor:
                names = [column.name for column in cursor.description or ()]
                batches = iter(lambda: cursor.fetchmany(size), [])
                yield Reading(unique_columns(names), batches)

    @contextmanager
    def _session(self, timeout_s: float) -> Iterator["psycopg.Connection[Any]"]:
        psycopg = _psycopg()
        with psycopg.connect(
            self.uri, connect_timeout=CONNECT_TIMEOUT_S, application_name="mendgraph"
        ) as session:
            session.read_only = True
            session.execute(
                "SELECT set_config('statement_timeout', %s, true)",
                (str(max(1, round(timeout_s * 1_000))),),
            )
            yield session


def _open(
    session: "psycopg.Connection[Any]", sql: str, params: dict[str, Any] | None
) -> "psycopg.Cursor[Any]":
    """Declare a server-side cursor; run what has rows but takes none (EXPLAIN, SHOW).

    The second way is for statements the server parsed already, so they are single.
    """
    from psycopg import errors

    cursor = session.cursor(name="mendgraph")
    try:
        with session.transaction():
            return cursor.execute(sql.encode(), params)
    except (errors.SyntaxError, errors.FeatureNotSupported):
        cursor.close()
        if params:
            raise
    return session.cursor().execute(sql.encode())


def _require_rows(session: "psycopg.Connection[Any]", sql: str) -> None:
    """Let the server parse one statement, and refuse one that returns no rows.

    Raises:
        psycopg.Error: The server's own error, or its error for a write (25006) when
            the statement returns no rows and so can only be an effect.
    """
    from psycopg import errors, pq

    link = session.pgconn
    encoding = session.info.encoding
    for result in (
        link.prepare(b"", sql.encode(encoding)),
        link.describe_prepared(b""),
    ):
        if result.status != pq.ExecStatus.COMMAND_OK:
            raise errors.error_from_result(result, encoding)
    if result.nfields == 0:
        raise errors.ReadOnlySqlTransaction(
            "this tool only reads, and the statement returns no rows: "
            f"{' '.join(sql.split())[:80]!r}"
        )


def _dicts(cursor: "psycopg.Cursor[Any]") -> list[dict[str, Any]]:
    names = [column.name for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _psycopg() -> Any:
    """Import the driver, or say which extra brings it."""
    try:
        import psycopg
    except ImportError as error:
        raise ImportError(
            "the PostgreSQL tools need psycopg: pip install 'mendgraph[postgres]'"
        ) from error
    return psycopg
