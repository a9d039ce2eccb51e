"""Which SQLSTATE a PostgreSQL server's English message belongs to.

Source: PostgreSQL's `errmsg` texts beside each `errcode` (src/backend), for the case
that a driver or a log kept the words and dropped the code.
"""

import re

_WORDS: tuple[tuple[str, str], ...] = (
    (r"duplicate key value violates unique constraint", "23505"),
    (r"violates foreign key constraint", "23503"),
    (r"null value in column .* violates not-null", "23502"),
    (r"violates not-null constraint", "23502"),
    (r"violates check constraint", "23514"),
    (r"violates exclusion constraint|conflicting key value", "23P01"),
    (r"could not serialize access", "40001"),
    (r"deadlock detected", "40P01"),
    (r"sorry, too many clients already", "53300"),
    (r"remaining connection slots are reserved", "53300"),
    (r"too many connections for (?:role|database)", "53300"),
    (r"terminating connection due to administrator command", "57P01"),
    (r"terminating connection because of crash of another server", "57P02"),
    (r"the database system is (?:starting up|shutting down|in recovery)", "57P03"),
    (r"not (?:yet )?accepting connections", "57P03"),
    (r"terminating connection due to idle-session timeout", "57P05"),
    (r"terminating connection due to idle-in-transaction timeout", "25P03"),
    (r"current transaction is aborted", "25P02"),
    (r"cannot execute .* in a read-only transaction", "25006"),
    (r"cannot run inside a transaction block", "25001"),
    (r"canceling statement due to lock timeout", "55P03"),
    (r"could not obtain lock on", "55P03"),
    (r"canceling statement due to conflict with recovery", "40001"),
    (r"canceling (?:statement|autovacuum)", "57014"),
    (r"being accessed by other users", "55006"),
    (r"could not (?:extend|write(?: to)?) file .*no space left", "53100"),
    (r"server process .* out of memory", "53200"),
    (r"out of shared memory", "53200"),
    (r"permission denied for (?!tool|user action)\w+", "42501"),
    (r"must be (?:owner of|superuser)", "42501"),
    (r"violates row-level security policy", "42501"),
    (r"password authentication failed", "28P01"),
    (r"no pg_hba\.conf entry|role \S+ does not exist", "28000"),
    (r"(?<!unrecognized )database \S+ does not exist", "3D000"),
    (r"schema \S+ does not exist", "3F000"),
    (r"column \S+ (?:of relation \S+ )?does not exist", "42703"),
    (r"relation \S+ does not exist", "42P01"),
    (r"function .* does not exist|operator does not exist", "42883"),
    (r"prepared statement \S+ does not exist", "26000"),
    (r"prepared statement \S+ already exists", "42P05"),
    (r"(?:relation|table) \S+ already exists", "42P07"),
    (r"column reference \S+ is ambiguous", "42702"),
    (r"must appear in the group by clause", "42803"),
    (r"missing from-clause entry", "42P01"),
    (r"is of type .* but expression is of type", "42804"),
    (r"no unique or exclusion constraint matching the on conflict", "42P10"),
    (r"invalid input syntax for (?:type )?json", "22P02"),
    (r"invalid input (?:syntax|value) for", "22P02"),
    (r"value too long for type", "22001"),
    (
        r"(?:integer|bigint|smallint|value|numeric field).* out of range|overflow",
        "22003",
    ),
    (r"date/time field value out of range", "22008"),
    (r"invalid byte sequence for encoding", "22021"),
    (r"character with byte sequence .* has no equivalent", "22P05"),
    (r"division by zero", "22012"),
    (r"missing data for column|extra data after last expected column", "22P04"),
    (r"unsupported unicode escape|cannot be converted to text", "22P05"),
    (r"syntax error at or near|syntax error at end of input", "42601"),
    (r"cached plan must not change result type", "0A000"),
    (r"invalid page in block|could not read block|unexpected data beyond eof", "XX001"),
    (r"cache lookup failed", "XX000"),
)
_DRIVER = re.compile(
    r"psycopg|asyncpg|postgres|\bFATAL:|\bERROR:|\bHINT:|\bDETAIL:|SQLSTATE|\bPL/pgSQL",
)
_LOOSE = frozenset({"22003", "22012", "53200", "42703", "57P03"})
"""States whose words other programs use too: believed only beside a driver's mark."""

_COMPILED = tuple((re.compile(words, re.IGNORECASE), code) for words, code in _WORDS)


def sqlstate_of_text(text: str) -> str | None:
    """Return the SQLSTATE the server's words stand for, or None."""
    code = next((code for words, code in _COMPILED if words.search(text)), None)
    if code in _LOOSE and not _DRIVER.search(text) and not _quoted_column(text):
        return None
    return code


def _quoted_column(text: str) -> bool:
    return re.search(r'column "?[\w.]+"? (?:of .*)?does not exist', text) is not None
