"""The demo's SQL generator: a fixed template with names filled in, and no model."""

import re
from typing import Any, Literal

NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?\Z")

TEMPLATE = (
    "SELECT date_trunc('{bucket}', {time}) AS {bucket}, count(*) AS pv, "
    "count(DISTINCT {user}) AS uv FROM {table} "
    "GROUP BY date_trunc('{bucket}', {time}) ORDER BY 1"
)


def sql_codegen(
    table: str,
    time_column: str,
    user_column: str = "user_id",
    bucket: Literal["hour", "day", "month"] = "hour",
    quote_identifiers: bool = False,
) -> dict[str, Any]:
    """Fill a fixed SQL template that counts page views and visitors per time bucket.

    This is a template, not a model. Column names are put in as they are unless
    `quote_identifiers` is true; PostgreSQL needs that for reserved words.
    """
    for name in (table, time_column, user_column):
        if not NAME.match(name):
            raise ValueError(f"{name!r} is no plain SQL name")
    columns = {"time": time_column, "user": user_column}
    if quote_identifiers:
        columns = {role: f'"{name}"' for role, name in columns.items()}
    return {
        "sql": TEMPLATE.format(bucket=bucket, table=table, **columns),
        "generated_by": "template (not a model)",
    }
