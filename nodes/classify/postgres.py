"""PostgreSQL by SQLSTATE: specific codes first, then the class of two characters.

Source: PostgreSQL documentation, appendix A, error codes.
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    BROKEN_SERVICE,
    CHANGED,
    CONFLICT,
    CROWDED,
    DENIED,
    DOWN,
    EXHAUSTED,
    FAULTY,
    FOLLOW_UP,
    FULL_THERE,
    INCAPABLE,
    NETWORK,
    OURS,
    PROBE_ARGS,
    RECONNECT,
    STOPPED,
    UNMET,
    UNPARSED,
    Predicate,
    Rule,
    Verdict,
    every,
    family,
    named,
    none_of,
    package,
    says,
    some,
    state_in,
)

_FENCE = says(r"near [\"'`]+```|at or near \"`|<think>|syntax[^\n]*```")

_CODES: tuple[tuple[str, tuple[str, ...], Verdict], ...] = (
    ("a broken transaction: an earlier error is the cause", ("25P02",), FOLLOW_UP),
    ("the transaction is read-only", ("25006",), DENIED),
    ("idle in transaction too long", ("25P03",), RECONNECT),
    ("a statement in the wrong transaction state", ("25",), BAD_ARGS),
    ("the connection limit is reached", ("53300",), DOWN),
    ("the server's disk is full", ("53100",), FULL_THERE),
    ("the server is out of memory", ("53200",), EXHAUSTED),
    ("a configured limit is exceeded", ("53400",), EXHAUSTED),
    ("the server lacks resources", ("53",), EXHAUSTED),
    ("transactions collided", ("40001",), CONFLICT),
    ("the commit's outcome is unknown", ("40003",), FOLLOW_UP),
    ("transactions deadlocked", ("40P01",), DOWN),
    ("the transaction was rolled back", ("40",), CONFLICT),
    ("the server ended the connection", ("57P01", "57P02", "57P05"), RECONNECT),
    ("the server is starting or stopping", ("57P03",), DOWN),
    ("the database was dropped", ("57P04",), CHANGED),
    ("the statement ran too long", ("57014",), EXHAUSTED),
    ("an operator intervened", ("57",), DOWN),
    ("a lock is held", ("55P03",), DOWN),
    ("the object is in use", ("55006",), DOWN),
    ("the object is not in the needed state", ("55",), UNMET),
    ("a unique key exists already", ("23505",), PROBE_ARGS),
    ("a referenced row is missing or still used", ("23503",), BAD_ARGS),
    ("an integrity constraint is violated", ("23",), BAD_ARGS),
    ("the right is missing", ("42501",), DENIED),
    ("a table, column or function is not there", ("42P01", "42703", "42704"), CHANGED),
    ("no function of these argument types", ("42883",), BAD_ARGS),
    ("an object of that name exists", ("42P07", "42P06", "42P04", "42710"), PROBE_ARGS),
    ("an object of that name exists", ("42701", "42723", "42P05", "42P03"), PROBE_ARGS),
    ("the statement is wrong", ("42", "44"), BAD_ARGS),
    ("the text has no valid encoding or form", ("22021", "22P04", "2200M"), UNPARSED),
    ("a value does not fit", ("22",), BAD_ARGS),
    (
        "a cardinality is wrong",
        ("20", "21", "27", "10", "0F", "P0002", "P0003"),
        BAD_ARGS,
    ),
    ("the login is refused", ("28",), DENIED),
    ("the database or schema is not there", ("3D", "3F"), UNMET),
    ("the prepared statement or cursor is gone", ("26", "34"), RECONNECT),
    ("the server refused the connection", ("08004",), DENIED),
    ("the protocol was violated", ("08P01",), BAD_ARGS),
    ("the connection broke", ("08",), RECONNECT),
    ("the feature is not supported", ("0A",), INCAPABLE),
    ("a role may not do that", ("0L", "0P"), DENIED),
    ("a limit of the program is exceeded", ("54",), EXHAUSTED),
    ("dependent objects still exist", ("2B",), BAD_ARGS),
    ("the transaction ended in a wrong way", ("2D", "0B", "3B", "24", "09"), FAULTY),
    ("a routine raised an exception", ("2F", "38", "39", "P0001", "P0", "0Z"), FAULTY),
    ("a system call on the server failed", ("58",), BROKEN_SERVICE),
    ("a snapshot is too old", ("72",), CONFLICT),
    ("the server's configuration is wrong", ("F0",), BROKEN_SERVICE),
    ("a foreign server failed", ("HV",), DOWN),
    ("the server found its data damaged", ("XX001", "XX002"), BROKEN_SERVICE),
    ("the server has an internal fault", ("XX",), BROKEN_SERVICE),
    ("the query found no data or has not ended", ("02", "03"), FAULTY),
)

_OURS_NOT_MYSQL: Predicate = none_of(family("mysql"))

RULES: tuple[Rule, ...] = (
    Rule(
        "the session is unusable after an earlier error",
        some(
            named("PendingRollbackError", "InFailedSqlTransaction"),
            says(
                r"rolled back due to a previous exception|discarded because of previous"
            ),
        ),
        FOLLOW_UP,
    ),
    Rule(
        "a name is misspelt: the server knows a near one",
        every(state_in("42"), says(r"perhaps you meant")),
        BAD_ARGS,
    ),
    Rule("model output was sent as SQL", _FENCE, UNPARSED, 0.85),
    Rule(
        "a cached plan is stale after a schema change",
        says(r"cached plan must not change result type"),
        RECONNECT,
    ),
    *(
        Rule(name, every(_OURS_NOT_MYSQL, state_in(*states)), verdict, 0.92)
        for name, states, verdict in _CODES
    ),
    Rule(
        "the server closed the connection",
        says(
            r"server closed the connection unexpectedly|connection (?:already"
            r"|is) closed"
            r"|SSL connection has been closed unexpectedly"
            r"|connection was closed in the "
            r"middle|consuming input failed|lost synchronization with server"
            r"|the connection is (?:lost|closed)|SSL SYSCALL error: EOF detected"
        ),
        RECONNECT,
        0.85,
    ),
    Rule(
        "the connection pool is used up",
        some(
            named("PoolTimeout", "TooManyRequests", "PoolError"),
            says(
                r"QueuePool limit|couldn't get a connection after|pool (?:exhausted|"
                r"is exhausted)|connection pool exhausted"
            ),
        ),
        CROWDED,
        0.7,
    ),
    Rule(
        "the database server cannot be reached",
        every(
            says(
                r"connection to server at|could not connect to server|is the server "
                r"running"
            ),
            none_of(says(r"name resolution|translate host name")),
        ),
        NETWORK,
        0.8,
    ),
    Rule(
        "the pool or cursor of ours is used wrongly",
        every(package("psycopg_pool"), named("PoolClosed")),
        OURS,
    ),
    Rule(
        "the statement was cancelled",
        every(package("psycopg", "asyncpg"), named("QueryCanceled")),
        STOPPED,
    ),
)
