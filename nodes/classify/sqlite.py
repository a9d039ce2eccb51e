"""SQLite by its words and result codes: one exception class covers many causes.

Source: sqlite.org/rescode.html.
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    BROKEN_SERVICE,
    CHANGED,
    DENIED,
    DOWN,
    EXHAUSTED,
    FULL_HERE,
    OTHER_FORM,
    PROBE_ARGS,
    STOPPED,
    UNMET,
    Predicate,
    Rule,
    Seen,
    Verdict,
    every,
    package,
    says,
    some,
)

_CODES: tuple[tuple[str, str, str, Verdict], ...] = (
    (
        "the database file is locked",
        r"database (?:table |schema )?is locked|database is busy",
        "SQLITE_BUSY SQLITE_LOCKED SQLITE_PROTOCOL",
        DOWN,
    ),
    (
        "the schema is not the expected one",
        (
            r"no such column|has no column named|no such table|no such index"
            r"|database schema (?:has changed|is locked)|has \d+ columns but \d+ values"
        ),
        "SQLITE_SCHEMA",
        CHANGED,
    ),
    (
        "a unique key exists already",
        r"UNIQUE constraint failed|PRIMARY KEY must be unique|is not unique",
        "SQLITE_CONSTRAINT_UNIQUE SQLITE_CONSTRAINT_PRIMARYKEY SQLITE_CONSTRAINT_ROWID",
        PROBE_ARGS,
    ),
    (
        "a constraint failed",
        r"(?:FOREIGN KEY|NOT NULL|CHECK) constraint failed|datatype mismatch",
        "SQLITE_CONSTRAINT SQLITE_MISMATCH SQLITE_RANGE SQLITE_TOOBIG",
        BAD_ARGS,
    ),
    (
        "the disk is full",
        r"database or disk is full",
        "SQLITE_FULL",
        FULL_HERE,
    ),
    (
        "the database may not be written",
        (
            r"attempt to write a readonly database|access to .* is prohibited"
            r"|not authorized"
        ),
        "SQLITE_READONLY SQLITE_PERM SQLITE_AUTH",
        DENIED,
    ),
    (
        "the file cannot be opened",
        r"unable to open database file",
        "SQLITE_CANTOPEN",
        UNMET,
    ),
    (
        "the file is no database",
        r"file is (?:not a database|encrypted or is not a database)",
        "SQLITE_NOTADB",
        OTHER_FORM,
    ),
    (
        "the database is damaged",
        r"database disk image is malformed|malformed database schema",
        "SQLITE_CORRUPT",
        BROKEN_SERVICE,
    ),
    ("the disk failed", r"disk I/O error", "SQLITE_IOERR", BROKEN_SERVICE),
    (
        "the memory is used up",
        (
            r"parser stack overflow|string or blob too big|too many (?:SQL variables|"
            r"terms in compound)|expression tree is too large"
        ),
        "SQLITE_NOMEM",
        EXHAUSTED,
    ),
    ("interrupted", r"^\W*(?:\S+: )?interrupted$", "SQLITE_INTERRUPT", STOPPED),
    (
        "the statement is wrong",
        (
            r"syntax error|incomplete input|unrecognized token|no such function"
            r"|ambiguous column name|incorrect number of bindings|misuse of aggregate"
            r"|you can only execute one statement|error binding parameter"
            r"|wrong number of arguments to function|already exists|no such module"
            r"|did not supply a value for binding|type .* is not supported"
        ),
        "SQLITE_ERROR SQLITE_MISUSE",
        BAD_ARGS,
    ),
)

_UNMISTAKABLE = says(
    r"database (?:table )?is locked|has no column named|no such column: "
    r"|(?:UNIQUE|FOREIGN KEY|NOT NULL|CHECK) constraint failed|no such table: "
    r"|database disk image is malformed|attempt to write a readonly database"
    r"|database or disk is full|unable to open database file|file is not a database"
)
_SQLITE = some(package("sqlite3", "aiosqlite"), says(r"sqlite"), _UNMISTAKABLE)


def _coded(names: str) -> Predicate:
    wanted = tuple(names.split())
    return lambda seen: (seen.facts.error_code or "").startswith(wanted)


def _is_sqlite(seen: Seen) -> bool:
    return seen.facts.family == "sqlite" or _SQLITE(seen)


RULES: tuple[Rule, ...] = tuple(
    Rule(f"SQLite: {name}", every(_is_sqlite, says(words)), verdict)
    for name, words, _, verdict in _CODES
) + tuple(
    Rule(f"SQLite: {name}", every(_is_sqlite, _coded(codes)), verdict, 0.85)
    for name, _, codes, verdict in _CODES
    if codes
)
