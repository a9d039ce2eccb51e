"""The demo's log table: made inside PostgreSQL, the same for the same seed."""

TABLE = "user_log"
TIME_COLUMN = "when"
"""A reserved word of PostgreSQL: bare in an expression it is SQLSTATE 42601."""
HOURS = 5_000

CREATE = """
CREATE UNLOGGED TABLE user_log (
    user_id bigint NOT NULL,
    action text NOT NULL,
    "when" timestamp NOT NULL
)
"""
FILL = """
INSERT INTO user_log
SELECT 1 + ((one.part * one.part) >> 46),
       (ARRAY['view', 'view', 'view', 'search', 'cart', 'buy'])[1 + two.part %% 6],
       timestamp '2026-01-01' + three.part %% (%(hours)s::bigint * 3600)
                              * interval '1 second'
FROM generate_series(1, %(rows)s::bigint) AS number,
LATERAL (SELECT hashint8extended(number, %(seed)s::bigint) & 2147483647) AS one(part),
LATERAL (SELECT hashint8extended(number, %(seed)s::bigint + 1) & 2147483647)
    AS two(part),
LATERAL (SELECT hashint8extended(number, %(seed)s::bigint + 2) & 2147483647)
    AS three(part)
"""
"""Users follow a square law (few are busy, many are rare), up to 65,536 of them."""


def create_log_table(
    uri: str, rows: int = 200_000, seed: int = 7, hours: int = HOURS
) -> None:
    """Make the table `user_log` anew.

    Args:
        uri: A database in which the table may be replaced.
        rows: Log entries.
        seed: Equal seeds give equal rows.
        hours: Span of the log in hours from 2026-01-01.
    """
    import psycopg

    with psycopg.connect(uri) as session:
        session.execute("DROP TABLE IF EXISTS user_log")
        session.execute(CREATE)
        session.execute(FILL, {"rows": rows, "seed": seed, "hours": hours})
        session.execute("ANALYZE user_log")
