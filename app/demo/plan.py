"""The PV/UV plan of the adaptive planning document (section 10.2), as given there.

Column names are unquoted and the CSV template asks for text: the two faults a first run
meets. The arguments of `pvuv_plan` give the plan of a planner that knows better.
"""

from typing import Any

TASK = (
    "Read the user log (table user_log, event time in column when) from PostgreSQL, "
    "count page views (PV) and unique visitors (UV) per hour, and write them to the "
    "CSV file pvuv.csv. Every CSV column is text: hour, pv, uv."
)
"""The demo's task in words, for a planner."""

CSV_TEMPLATE = {"hour": "string", "pv": "string", "uv": "string"}


def pvuv_plan(
    *, quote_identifiers: bool = False, on_mismatch: str | None = None
) -> dict[str, Any]:
    """Return the five steps in the document's JSON shape.

    Args:
        quote_identifiers: Have the SQL generator quote column names.
        on_mismatch: What the CSV writer does with values of another type; None leaves
            the tool's default.
    """
    quoting = {"quote_identifiers": True} if quote_identifiers else {}
    casting = {"on_mismatch": on_mismatch} if on_mismatch else {}
    return {
        "plan_id": "pvuv",
        "goal": "Hourly PV and UV of the user log in PostgreSQL, written to a CSV file",
        "version": 1,
        "steps": [PING, DESCRIBE, _codegen(quoting), AGGREGATE, _write(casting)],
    }


PING = {
    "step_id": "s1",
    "description": "Check the database connection",
    "tool": "postgres_ping",
    "inputs": {},
    "precondition": "The database can be reached",
    "expected_output": "Connected; the server's version",
    "validation_rule": "output.version.startsWith('PostgreSQL')",
    "risk_level": "low",
    "dependencies": [],
}
DESCRIBE = {
    "step_id": "s2",
    "description": "Inspect the log table's columns",
    "tool": "postgres_describe",
    "inputs": {"table": "user_log"},
    "precondition": "s1 succeeded",
    "expected_output": "The table exists and has user_id, action and an event time",
    "validation_rule": (
        "['user_id', 'action', 'when'].all(n, output.columns.exists(c, c.name == n))"
    ),
    "risk_level": "medium",
    "dependencies": ["s1"],
}
AGGREGATE = {
    "step_id": "s4",
    "description": "Run the aggregation and read its rows in batches",
    "tool": "postgres_batch_query",
    "inputs": {"sql": "{{ s3.sql }}", "batch_size": 1_000},
    "precondition": "s3 succeeded; the SQL is valid",
    "expected_output": "Rows of hour, pv, uv",
    "validation_rule": "output.row_count > 0 && !output.truncated",
    "risk_level": "high",
    "dependencies": ["s3"],
    "fallback_strategy": "Read the rows through a cursor and aggregate in memory",
}


def _codegen(extra: dict[str, Any]) -> dict[str, Any]:
    return {
        "step_id": "s3",
        "description": "Generate the aggregation SQL",
        "tool": "sql_codegen",
        "inputs": {
            "table": "{{ s2.table }}",
            "time_column": "when",
            "user_column": "user_id",
            "bucket": "hour",
            **extra,
        },
        "precondition": "s2 succeeded; the columns are known",
        "expected_output": "One SQL query",
        "validation_rule": "output.sql.startsWith('SELECT')",
        "risk_level": "medium",
        "dependencies": ["s2"],
    }


def _write(extra: dict[str, Any]) -> dict[str, Any]:
    return {
        "step_id": "s5",
        "description": "Write the rows to a CSV file",
        "tool": "csv_writer",
        "inputs": {
            "path": "pvuv.csv",
            "rows": "{{ s4.rows }}",
            "template": CSV_TEMPLATE,
            **extra,
        },
        "precondition": "s4 succeeded; there are rows",
        "expected_output": "The CSV file with hour, pv and uv",
        "validation_rule": "output.columns == ['hour', 'pv', 'uv']",
        "risk_level": "low",
        "dependencies": ["s4"],
    }
