"""The SQL tools over SQLite: reading only, bounded, honest about counts."""

import asyncio
import csv
import itertools
import sqlite3
from contextlib import closing

import pytest

from mendgraph.state.policy import Effect
from mendgraph.tools.registry import make_registry
from mendgraph.tools.shipped.sql_sqlite import SqliteDatabase, sqlite_tools

ROWS = 2_500


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as session:
        session.execute(
            "CREATE TABLE sale (id INTEGER NOT NULL, area TEXT, total REAL)"
        )
        rows = [(n, None if n % 5 == 0 else f"a{n % 3}", n / 2) for n in range(ROWS)]
        session.executemany("INSERT INTO sale VALUES (?, ?, ?)", rows)
        session.commit()
    return file


@pytest.fixture
def kit(path, tmp_path):
    return sqlite_tools(path, root=tmp_path / "out")


def test_every_tool_has_a_policy_and_fits_the_registry(kit):
    """Names, policies and argument schemas are what an agent needs."""
    registry = make_registry(kit.tools, kit.policies)
    assert set(registry.names) == set(kit.policies)
    assert registry.unannotated() == ()
    assert kit.policies["sqlite_query"].effect is Effect.READ
    assert kit.policies["sqlite_query_to_file"].effect is Effect.WRITE
    assert registry.get("sqlite_query").problems({"sql": 3}) != []


def test_ping_and_tables_tell_what_is_there(kit):
    """The version comes from the library, the counts from the file."""
    assert (
        kit["sqlite_ping"].invoke({})["version"] == f"SQLite {sqlite3.sqlite_version}"
    )
    expected = [{"table": "sale", "kind": "table", "row_estimate": ROWS}]
    assert expected == kit["sqlite_tables"].invoke({})["tables"]


def test_describe_gives_columns_and_a_fingerprint(kit, path):
    """The fingerprint follows the schema and not the rows."""
    found = kit["sqlite_describe"].invoke({"table": "sale"})
    kinds = [
        (each["name"], each["type"], each["nullable"]) for each in found["columns"]
    ]
    assert kinds == [
        ("id", "INTEGER", False),
        ("area", "TEXT", True),
        ("total", "REAL", True),
    ]
    with closing(sqlite3.connect(path)) as session:
        session.execute("INSERT INTO sale VALUES (1, 'x', 1)")
        session.commit()
        later = kit["sqlite_describe"].invoke({"table": "sale"})
        assert later["row_estimate"] == ROWS + 1
        assert later["schema_fingerprint"] == found["schema_fingerprint"]
        session.execute("ALTER TABLE sale ADD COLUMN note TEXT")
    changed = kit["sqlite_describe"].invoke({"table": "sale"})
    assert changed["schema_fingerprint"] != found["schema_fingerprint"]


def test_a_missing_table_or_file_is_said_clearly(kit, tmp_path):
    """Nothing is created by looking."""
    with pytest.raises(sqlite3.OperationalError, match="no such table: nope"):
        kit["sqlite_describe"].invoke({"table": "nope"})
    other = sqlite_tools(tmp_path / "none.db")
    with pytest.raises(FileNotFoundError, match=r"none\.db"):
        other["sqlite_ping"].invoke({})
    assert not (tmp_path / "none.db").exists()


def test_query_is_bounded_and_takes_parameters(kit):
    """At most `max_rows` rows, and `truncated` says that there are more."""
    sql = "SELECT id FROM sale WHERE id < :most ORDER BY id"
    call = {"sql": sql, "params": {"most": 5}, "max_rows": 3}
    found = kit["sqlite_query"].invoke(call)
    assert found["rows"] == [{"id": 0}, {"id": 1}, {"id": 2}]
    assert (found["row_count"], found["truncated"]) == (3, True)
    whole = asyncio.run(kit["sqlite_query"].ainvoke({**call, "max_rows": 5}))
    assert (whole["row_count"], whole["truncated"]) == (5, False)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("INSERT INTO sale VALUES (1, 'x', 1)", "readonly database"),
        ("DELETE FROM sale", "readonly database"),
        ("UPDATE sale SET total = 0", "readonly database"),
        ("DROP TABLE sale", "only reads"),
        ("CREATE TEMP TABLE x (a)", "only reads"),
        ("ATTACH 'other.db' AS other", "ATTACH"),
        ("PRAGMA writable_schema = ON", "PRAGMA writable_schema"),
        ("BEGIN", "transaction control"),
        ("SELECT load_extension('x')", "only reads|no such function"),
    ],
)
def test_writes_are_refused_and_named(kit, sql, said):
    """SQLite refuses, in its words or with what the authorizer refused."""
    with pytest.raises(sqlite3.DatabaseError, match=said):
        kit["sqlite_query"].invoke({"sql": sql})
    assert kit["sqlite_tables"].invoke({})["tables"][0]["row_estimate"] == ROWS


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT word FROM book WHERE book MATCH 'hello'", [{"word": "hello all"}]),
        ("SELECT id FROM box WHERE low < 1", [{"id": 7}]),
        ("SELECT value AS v FROM json_each('[1, 2]')", [{"v": 1}, {"v": 2}]),
    ],
)
def test_virtual_tables_are_read_and_not_written(path, sql, expected):
    """Full-text tables, R-trees and table functions are reading too."""
    with closing(sqlite3.connect(path)) as session:
        session.executescript(
            "CREATE VIRTUAL TABLE book USING fts5(word);"
            "INSERT INTO book VALUES ('hello all');"
            "CREATE VIRTUAL TABLE box USING rtree(id, low, high);"
            "INSERT INTO box VALUES (7, 0, 2);"
        )
    kit = sqlite_tools(path)
    assert kit["sqlite_query"].invoke({"sql": sql})["rows"] == expected
    with pytest.raises(sqlite3.DatabaseError, match="readonly database"):
        kit["sqlite_query"].invoke({"sql": "INSERT INTO book VALUES ('x')"})


def test_sqlite_s_own_errors_pass_unchanged(kit):
    """Fenced SQL and unknown columns are the database's to refuse."""
    with pytest.raises(
        sqlite3.OperationalError, match="no such column: nope"
    ) as caught:
        kit["sqlite_query"].invoke({"sql": "SELECT nope FROM sale"})
    assert caught.value.__cause__ is None
    with pytest.raises(sqlite3.OperationalError):
        kit["sqlite_query"].invoke({"sql": "```sql\nSELECT 1\n```"})


def test_a_statement_over_its_time_is_stopped(path):
    """The clock is looked at while SQLite works."""
    ticks = itertools.count()
    database = SqliteDatabase(path, clock=lambda: float(next(ticks)))
    endless = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        "SELECT max(x) FROM n"
    )
    with pytest.raises(TimeoutError, match="longer than 3 s"):
        database.query(endless, None, 1, 3)
    assert next(ticks) == 5


def test_batches_fold_to_what_sql_computes(kit):
    """Every measure equals SQL's own aggregate, nulls left out as SQL does."""
    measures = {
        "n": "count",
        "areas": "count_distinct:area",
        "named": "count:area",
        "sum": "sum:total",
        "low": "min:total",
        "top": "max:total",
    }
    found = kit["sqlite_batch_query"].invoke(
        {
            "sql": "SELECT id % 2 AS odd, area, total FROM sale",
            "batch_size": 400,
            "aggregate": {"group_by": ["odd"], "measures": measures},
        }
    )
    direct = kit["sqlite_query"].invoke(
        {
            "sql": "SELECT id % 2 AS odd, count(*) AS n, count(DISTINCT area) AS areas,"
            " count(area) AS named, sum(total) AS sum, min(total) AS low,"
            " max(total) AS top FROM sale GROUP BY 1"
        }
    )
    assert found["rows"] == direct["rows"]
    assert (found["rows_read"], found["batches"], found["row_count"]) == (ROWS, 7, 2)


@pytest.mark.parametrize(
    ("aggregate", "said"),
    [
        ({"measures": {"n": "median:total"}}, "median"),
        ({"measures": {"n": "sum"}}, "none of count"),
        ({"measures": {"n": "sum:nope"}}, r"needs \['nope'\]"),
        ({"group_by": ["area"]}, "must look like"),
        ({"measures": {"n": "count"}, "having": 1}, "must look like"),
    ],
)
def test_a_wrong_aggregate_is_refused_before_reading(kit, aggregate, said):
    """The message names the measure or the column."""
    call = {"sql": "SELECT area, total FROM sale", "aggregate": aggregate}
    with pytest.raises(ValueError, match=said):
        kit["sqlite_batch_query"].invoke(call)


def test_query_to_file_reports_what_it_wrote(kit, tmp_path):
    """Rows, size, columns and nulls are those of the file."""
    sql = "SELECT id, area FROM sale ORDER BY id"
    found = kit["sqlite_query_to_file"].invoke({"sql": sql, "path": "sale.csv"})
    target = tmp_path / "out" / "sale.csv"
    with target.open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert (found["rows"], len(lines)) == (ROWS, ROWS)
    assert found["size_bytes"] == target.stat().st_size
    assert found["null_counts"] == {"id": 0, "area": ROWS // 5}


def test_a_file_outside_the_root_is_refused(kit):
    """The output folder is given at construction and cannot be left."""
    with pytest.raises(PermissionError, match="inside the allowed folder"):
        kit["sqlite_query_to_file"].invoke({"sql": "SELECT 1", "path": "../x.csv"})


@pytest.mark.parametrize("field", ["max_rows", "batch_size"])
def test_bounds_below_one_are_refused(kit, field):
    """Zero rows is no bound."""
    with pytest.raises(ValueError, match=f"{field} must be at least 1"):
        kit["sqlite_batch_query"].invoke({"sql": "SELECT 1", field: 0})
