"""MySQL and MariaDB by server error number.

Source: MySQL 8 error reference (server 1000 to 4999, client 2000 to 2999).
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    CHANGED,
    CONFLICT,
    DENIED,
    DOWN,
    EXHAUSTED,
    FULL_THERE,
    NETWORK,
    PROBE_ARGS,
    RECONNECT,
    STOPPED,
    UNMET,
    UNPARSED,
    Rule,
    Verdict,
    code,
    every,
    family,
    says,
)

_CODES: tuple[tuple[str, str, Verdict], ...] = (
    ("access is denied", "1044 1045 1142 1143 1227 1370 1410 1698 3118", DENIED),
    ("the server is read-only", "1290 1792 1836", DENIED),
    ("too many connections", "1040 1203 1226", DOWN),
    ("a lock wait ran out", "1205 3572", DOWN),
    ("transactions deadlocked", "1213", DOWN),
    ("the server is shutting down", "1053 1077 1079", DOWN),
    ("the row changed since it was read", "1020", CONFLICT),
    ("the server was lost", "2006 2013 2055 1927 4031", RECONNECT),
    ("the server cannot be reached", "2002 2003", NETWORK),
    ("the host name is unknown", "2005", BAD_ARGS),
    ("the host is blocked", "1129 1130", DENIED),
    ("a unique key exists already", "1062 1586", PROBE_ARGS),
    ("the object exists already", "1007 1050 1304 1060 1061", PROBE_ARGS),
    ("a referenced row is missing or still used", "1216 1217 1451 1452", BAD_ARGS),
    ("the table or column is not there", "1146 1051 1054 1091 1109 1305", CHANGED),
    ("the database is not there", "1049 1046", UNMET),
    ("a value does not fit", "1048 1064 1136 1264 1265 1292 1364 1366 1406", BAD_ARGS),
    ("a value does not fit", "1411 1525 3819 1690 1241 1242 1055 1052", BAD_ARGS),
    ("the packet is too large", "1153 2020", EXHAUSTED),
    ("the statement ran too long", "3024 1969", EXHAUSTED),
    ("the query was interrupted", "1317", STOPPED),
    ("memory is used up", "1037 1038 1041 1206 5", EXHAUSTED),
    ("the disk or table is full", "1021 1114", FULL_THERE),
)

RULES: tuple[Rule, ...] = (
    Rule(
        "MySQL: model output was sent as SQL",
        every(family("mysql"), code("1064"), says(r"near '`|```|<think>")),
        UNPARSED,
    ),
    *(
        Rule(f"MySQL: {name}", every(family("mysql"), code(*numbers.split())), verdict)
        for name, numbers, verdict in _CODES
    ),
    Rule(
        "MySQL: the statement is wrong",
        says(r"you have an error in your sql syntax"),
        BAD_ARGS,
    ),
    Rule("MySQL: the server was lost", says(r"mysql server has gone away"), RECONNECT),
    Rule("MySQL: a lock wait ran out", says(r"lock wait timeout exceeded"), DOWN),
)
