"""The SQL tools and the demo's two faults on a real PostgreSQL."""

import asyncio
import csv
import signal
import subprocess
import sys
import time

import psycopg
import pytest

from mendgraph.demo.data import create_log_table
from mendgraph.demo.plan import CSV_TEMPLATE
from mendgraph.demo.reference import compare_csv, reference_counts
from mendgraph.demo.server import embedded_postgres
from mendgraph.demo.tools import demo_toolkit
from mendgraph.tools.shipped.sql_postgres import postgres_tools

pytestmark = pytest.mark.postgres

ROWS = 20_000
HOURS = 500


@pytest.fixture(scope="module")
def uri(postgres_uri):
    """A database with the demo's log."""
    create_log_table(postgres_uri, rows=ROWS, hours=HOURS)
    return postgres_uri


@pytest.fixture
def kit(uri, tmp_path):
    return postgres_tools(uri, root=tmp_path, timeout_s=10)


@pytest.fixture
def demo(uri, tmp_path):
    return demo_toolkit(uri, tmp_path)


def count_rows(uri):
    with psycopg.connect(uri) as session:
        return session.execute("SELECT count(*) FROM user_log").fetchone()[0]


def test_ping_tells_the_version(kit):
    """A ping makes a real round trip and says what answered."""
    found = kit["postgres_ping"].invoke({})
    assert found["ok"] is True
    assert found["version"].startswith("PostgreSQL")


def test_describe_tells_columns_and_how_sql_must_name_them(kit):
    """Types, nullability, estimate, and quotes for a reserved word."""
    found = kit["postgres_describe"].invoke({"table": "user_log"})
    assert found["table"] == "user_log"
    assert found["row_estimate"] == ROWS
    assert found["columns"][2] == {
        "name": "when",
        "sql_name": '"when"',
        "type": "timestamp without time zone",
        "nullable": False,
    }
    assert len(found["schema_fingerprint"]) == 64


def test_the_fingerprint_changes_with_the_schema_only(uri, kit):
    """Rows leave the fingerprint as it is; a retyped column does not."""

    def now():
        return kit["postgres_describe"].invoke({"table": "shape"})["schema_fingerprint"]

    with psycopg.connect(uri, autocommit=True) as session:
        session.execute("DROP TABLE IF EXISTS shape")
        session.execute("CREATE TABLE shape (a int, b text)")
        first = now()
        session.execute("INSERT INTO shape VALUES (1, 'x')")
        assert now() == first
        session.execute("ALTER TABLE shape ALTER COLUMN a TYPE bigint")
        assert now() != first


def test_tables_lists_the_log(kit):
    """The list holds the user's tables and none of the server's."""
    names = [row["table"] for row in kit["postgres_tables"].invoke({})["tables"]]
    assert "user_log" in names
    assert not [name for name in names if name.startswith("pg_")]


def test_a_missing_table_is_the_servers_own_error(kit):
    """The SQLSTATE of the server reaches the caller."""
    with pytest.raises(psycopg.errors.UndefinedTable, match="nope") as caught:
        kit["postgres_describe"].invoke({"table": "nope"})
    assert caught.value.sqlstate == "42P01"


def test_query_is_bounded_and_says_so(kit):
    """One row more than allowed is never returned, and `truncated` tells of it."""
    sql = 'SELECT user_id, "when" FROM user_log'
    found = kit["postgres_query"].invoke({"sql": sql, "max_rows": 3})
    assert (found["row_count"], found["truncated"]) == (3, True)
    assert found["columns"] == ["user_id", "when"]
    assert isinstance(found["rows"][0]["when"], str)


def test_query_takes_parameters(kit):
    """Values are bound by the driver and never pasted into SQL."""
    sql = "SELECT %(text)s::text AS said"
    found = kit["postgres_query"].invoke({"sql": sql, "params": {"text": "'; DROP"}})
    assert found["rows"] == [{"said": "'; DROP"}]


@pytest.mark.parametrize("tool", ["postgres_query", "postgres_batch_query"])
@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO user_log VALUES (1, 'x', now())",
        "INSERT INTO user_log VALUES (1, 'x', now()) RETURNING user_id",
        "WITH gone AS (DELETE FROM user_log RETURNING 1) SELECT * FROM gone",
        "DROP TABLE user_log",
        "SET TRANSACTION READ WRITE",
        "COMMIT",
        "DO $$ BEGIN DELETE FROM user_log; END $$",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "EXPLAIN ANALYZE DELETE FROM user_log",
    ],
)
def test_writes_are_refused(uri, kit, tool, sql):
    """Everything that is no reading has SQLSTATE 25006 and changes nothing."""
    with pytest.raises(psycopg.Error) as caught:
        kit[tool].invoke({"sql": sql})
    assert caught.value.sqlstate == "25006"
    assert count_rows(uri) == ROWS


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; DELETE FROM user_log",
        "COMMIT; DELETE FROM user_log",
        "SELECT set_config('transaction_read_only', 'off', true)",
    ],
)
def test_a_second_statement_or_a_setting_opens_no_way_to_write(uri, kit, sql):
    """The read-only transaction cannot be left from inside."""
    with pytest.raises(psycopg.Error):
        kit["postgres_query"].invoke({"sql": sql})
    assert count_rows(uri) == ROWS


def test_fenced_sql_is_the_servers_to_refuse(kit):
    """A Markdown fence is neither stripped nor hidden."""
    with pytest.raises(psycopg.errors.SyntaxError, match="```"):
        kit["postgres_query"].invoke({"sql": "```sql\nSELECT 1\n```"})


def test_explain_works_through_every_reader(kit):
    """Statements with rows that take no cursor are read all the same."""
    found = kit["postgres_query"].invoke({"sql": "EXPLAIN SELECT 1"})
    assert found["columns"] == ["QUERY PLAN"]


def test_equal_column_names_are_refused(kit):
    """No column hides another."""
    with pytest.raises(ValueError, match="aliases"):
        kit["postgres_query"].invoke({"sql": "SELECT 1 AS a, 2 AS a"})


def test_a_slow_statement_is_stopped_by_the_server(uri, tmp_path):
    """The statement timeout is the server's and comes back as its error."""
    quick = postgres_tools(uri, root=tmp_path, timeout_s=0.2)
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        quick["postgres_query"].invoke({"sql": "SELECT pg_sleep(5)"})


def test_ainvoke_leaves_the_event_loop_free(kit):
    """A slow statement runs in a thread while the loop goes on."""

    async def both():
        query = asyncio.create_task(
            kit["postgres_query"].ainvoke({"sql": "SELECT pg_sleep(0.5) IS NULL AS x"})
        )
        beats, longest, last = 0, 0.0, time.monotonic()
        while not query.done():
            await asyncio.sleep(0.01)
            now = time.monotonic()
            beats, longest, last = beats + 1, max(longest, now - last), now
        return await query, beats, longest

    found, beats, longest = asyncio.run(both())
    assert found["rows"] == [{"x": False}]
    assert beats >= 5
    assert longest < 0.4


def test_connections_are_closed(uri, kit):
    """No connection of the tools outlives its call, failed calls included."""
    kit["postgres_ping"].invoke({})
    with pytest.raises(psycopg.Error):
        kit["postgres_query"].invoke({"sql": "SELECT nonsense"})
    sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mendgraph'"
    with psycopg.connect(uri, autocommit=True) as session:
        end = time.monotonic() + 5
        while session.execute(sql).fetchone()[0] and time.monotonic() < end:
            time.sleep(0.05)
        assert session.execute(sql).fetchone()[0] == 0


def test_an_unreachable_server_is_one_clear_error(tmp_path):
    """The error names the address that was tried, without the password."""
    kit = postgres_tools(
        "postgresql://someone:hidden@127.0.0.1:9/db", root=tmp_path, timeout_s=1
    )
    with pytest.raises(psycopg.OperationalError, match="refused") as caught:
        kit["postgres_ping"].invoke({})
    assert "hidden" not in str(caught.value)


def test_batches_are_exact_although_rows_are_bounded(kit):
    """All rows are read in batches; the count is exact, the rows kept are bounded."""
    found = kit["postgres_batch_query"].invoke(
        {"sql": "SELECT user_id FROM user_log", "batch_size": 3_000, "max_rows": 10}
    )
    assert (found["row_count"], found["rows_read"]) == (ROWS, ROWS)
    assert (found["batches"], len(found["rows"])) == (7, 10)
    assert found["truncated"] is True


def test_folding_batches_equals_the_servers_aggregation(uri, kit):
    """PV and UV folded batch by batch are those SQL computes."""
    sql = """SELECT to_char("when", 'YYYY-MM-DD"T"HH24:00:00') AS hour, user_id
             FROM user_log"""
    measures = {"pv": "count", "uv": "count_distinct:user_id"}
    found = kit["postgres_batch_query"].invoke(
        {"sql": sql, "aggregate": {"group_by": ["hour"], "measures": measures}}
    )
    folded = {row["hour"]: (row["pv"], row["uv"]) for row in found["rows"]}
    assert folded == reference_counts(uri)
    assert found["rows_read"] == ROWS


def test_query_to_file_streams_every_row_with_counts(kit, tmp_path):
    """The file holds the rows; the tool reports rows, size and nulls."""
    sql = (
        "SELECT user_id, nullif(action, 'buy') AS action FROM user_log ORDER BY user_id"
    )
    found = kit["postgres_query_to_file"].invoke({"sql": sql, "path": "out/log.csv"})
    target = tmp_path / "out" / "log.csv"
    with target.open(newline="") as stream:
        lines = list(csv.reader(stream))
    assert lines[0] == ["user_id", "action"]
    assert len(lines) - 1 == found["rows"] == ROWS
    assert found["size_bytes"] == target.stat().st_size
    assert found["null_counts"]["action"] == sum(1 for row in lines[1:] if not row[1])
    assert found["null_counts"]["action"] > 0


def test_a_query_that_fails_half_way_leaves_no_file(kit, tmp_path):
    """An earlier file stays as it was when the stream breaks."""
    target = tmp_path / "log.csv"
    target.write_text("old")
    sql = "SELECT 1 / (7000 - n) AS x FROM generate_series(1, 9000) AS n"
    with pytest.raises(psycopg.errors.DivisionByZero):
        kit["postgres_query_to_file"].invoke({"sql": sql, "path": "log.csv"})
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["log.csv"]


def test_the_first_fault_is_a_real_syntax_error(demo):
    """The generated SQL uses the bare column `when`: SQLSTATE 42601."""
    sql = demo["sql_codegen"].invoke({"table": "user_log", "time_column": "when"})
    with pytest.raises(psycopg.errors.SyntaxError, match='near "when"') as caught:
        demo["postgres_batch_query"].invoke({"sql": sql["sql"]})
    assert caught.value.sqlstate == "42601"


def test_the_second_fault_is_a_success_with_an_empty_file(demo, uri, tmp_path):
    """The strict template leaves every row out; casting mends it to the exact file."""
    made = demo["sql_codegen"].invoke(
        {"table": "user_log", "time_column": "when", "quote_identifiers": True}
    )
    found = demo["postgres_batch_query"].invoke({"sql": made["sql"]})
    call = {"path": "pvuv.csv", "rows": found["rows"], "template": CSV_TEMPLATE}
    empty = demo["csv_writer"].invoke(call)
    assert (empty["rows"], empty["size_bytes"]) == (0, 0)
    assert empty["skipped"] == found["row_count"]
    mended = demo["csv_writer"].invoke({**call, "on_mismatch": "cast"})
    assert mended["rows"] == found["row_count"]
    assert compare_csv(tmp_path / "pvuv.csv", uri).equal


def test_the_comparison_sees_a_wrong_file(demo, uri, tmp_path):
    """A changed number and a missing hour are found."""
    hours = reference_counts(uri)
    lines = [f"{hour},{views},{people}" for hour, (views, people) in hours.items()]
    wrong = [f"{lines[0]}0", *lines[2:]]
    target = tmp_path / "wrong.csv"
    target.write_text("\n".join(["hour,pv,uv", *wrong]))
    compared = compare_csv(target, uri)
    assert not compared.equal
    assert compared.wrong_count == 2


def test_the_log_is_the_same_for_the_same_seed(uri):
    """Equal seeds give equal logs, other seeds other ones."""
    digest = """SELECT md5(string_agg(user_log::text, '|' ORDER BY user_log::text))
                FROM user_log"""

    def made(seed):
        create_log_table(uri, rows=500, seed=seed, hours=HOURS)
        with psycopg.connect(uri) as session:
            return session.execute(digest).fetchone()[0]

    first, again, other = made(1), made(1), made(2)
    create_log_table(uri, rows=ROWS, hours=HOURS)
    assert first == again
    assert first != other


KILLED = """
import os, signal, sys
from mendgraph.demo.server import embedded_postgres
with embedded_postgres(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_user_does_not_keep_the_server_for_ever(tmp_path):
    """The next use of the folder takes the server over and stops it at its end."""
    place = tmp_path / "data"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(place)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (place / "postmaster.pid").exists()
    with embedded_postgres(place) as address, psycopg.connect(address) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)
    assert not (place / "postmaster.pid").exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(address)
