"""What the demo's file must hold, computed another way than the agent does."""

import csv
from pathlib import Path

from mendgraph.state.record import Record

INDEPENDENT = """
WITH log AS (
    SELECT to_char(l."when", 'YYYY-MM-DD"T"HH24:00:00') AS hour, l.user_id
    FROM user_log AS l
), people AS (
    SELECT hour, user_id, count(*) AS visits FROM log GROUP BY hour, user_id
)
SELECT hour, sum(visits)::bigint, count(user_id)::bigint FROM people GROUP BY hour
"""

Counts = dict[str, tuple[int, int]]
"""Hour (ISO 8601) → page views, unique visitors."""


class Comparison(Record):
    """How a file differs from the reference."""

    expected_hours: int
    file_hours: int
    wrong: tuple[str, ...] = ()
    """The first ten hours that are missing, too many or have other numbers."""
    wrong_count: int = 0

    @property
    def equal(self) -> bool:
        """Every hour is there once with the right numbers, and nothing else."""
        return not self.wrong_count and self.expected_hours == self.file_hours


def reference_counts(uri: str) -> Counts:
    """Return PV and UV an hour by de-duplicating visitors before counting."""
    import psycopg

    with psycopg.connect(uri) as session:
        return {
            hour: (views, people)
            for hour, views, people in session.execute(INDEPENDENT).fetchall()
        }


def compare_csv(path: str | Path, uri: str) -> Comparison:
    """Compare a CSV of `hour,pv,uv` with the reference."""
    expected = reference_counts(uri)
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        lines = [
            (row["hour"], (int(row["pv"]), int(row["uv"])))
            for row in csv.DictReader(stream)
        ]
    found = dict(lines)
    hours = sorted(expected.keys() | found.keys())
    wrong = [hour for hour in hours if expected.get(hour) != found.get(hour)]
    return Comparison(
        expected_hours=len(expected),
        file_hours=len(lines),
        wrong=tuple(wrong[:10]),
        wrong_count=len(wrong),
    )
