"""Remote calls with codes of their own: gRPC and MCP.

Sources: grpc.io status codes, JSON-RPC 2.0, the MCP specification.
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    BROKEN_SERVICE,
    CONFLICT,
    DENIED,
    DOWN,
    EXHAUSTED,
    FAULTY,
    INCAPABLE,
    NETWORK,
    PROBE_ARGS,
    RATE,
    RECONNECT,
    RENEW,
    STOPPED,
    UNMET,
    UNTRUSTED,
    Predicate,
    Rule,
    Seen,
    Verdict,
    code,
    every,
    family,
    none_of,
    package,
    says,
    some,
)

_GRPC: Predicate = some(family("grpc"), package("google.api_core", "grpc"))
_TOO_LARGE = says(
    r"message (?:is )?larger than max|received message larger|max(?:imum)? "
    r"(?:message )?size|exceeds .{0,20}(?:size|limit)"
)
_REACH = says(
    r"failed to connect|connection refused|name resolution|dns|connect(?:ion)? (?:timed"
    r" out|reset|error)|socket closed|goaway|unreachable|no connection|keepalive"
    r"|all addresses|broken pipe|transport is closing|stream removed|channel is"
)

_GRPC_RULES: tuple[tuple[str, Predicate, Verdict], ...] = (
    (
        "the message is too large",
        every(code("RESOURCE_EXHAUSTED", "OUT_OF_RANGE"), _TOO_LARGE),
        EXHAUSTED,
    ),
    (
        "TLS or credentials",
        every(code("UNAVAILABLE"), says(r"certificate|handshake failed|ssl_error")),
        UNTRUSTED,
    ),
    ("the server was not reached", every(code("UNAVAILABLE"), _REACH), NETWORK),
    ("the service is not available", code("UNAVAILABLE"), DOWN),
    ("a rate or quota is used up", code("RESOURCE_EXHAUSTED"), RATE),
    ("the deadline passed", code("DEADLINE_EXCEEDED"), NETWORK),
    ("the call was cancelled", code("CANCELLED"), STOPPED),
    ("an argument is wrong", code("INVALID_ARGUMENT", "OUT_OF_RANGE"), BAD_ARGS),
    ("the thing is not there", code("NOT_FOUND"), BAD_ARGS),
    ("the thing exists already", code("ALREADY_EXISTS"), PROBE_ARGS),
    ("the right is missing", code("PERMISSION_DENIED", "UNAUTHENTICATED"), DENIED),
    ("the state does not allow it", code("FAILED_PRECONDITION"), UNMET),
    ("the call collided with another", code("ABORTED"), CONFLICT),
    ("the method is not there", code("UNIMPLEMENTED"), INCAPABLE),
    ("the service has an internal fault", code("INTERNAL", "UNKNOWN"), DOWN),
    ("data was lost", code("DATA_LOSS"), BROKEN_SERVICE),
)

_MCP_RULES: tuple[tuple[str, Predicate, Verdict], ...] = (
    ("the request timed out", code("-32001"), NETWORK),
    ("the connection closed", code("-32000"), RECONNECT),
    ("the message was no JSON", code("-32700"), BAD_ARGS),
    ("the request is not valid", code("-32600"), BAD_ARGS),
    ("the method or tool is not there", code("-32601"), INCAPABLE),
    ("the arguments do not fit", code("-32602"), BAD_ARGS),
    ("the resource is not there", code("-32002"), BAD_ARGS),
    ("the user must act first", code("-32042"), DENIED),
)
_MCP_WRONG = says(
    r"exceeds?|invalid|must (?:be|have|not)|required|missing|not (?:found|valid"
    r"|allowed)"
    r"|unknown|too (?:long|large|many)|unexpected|cannot|does not|no such|malformed"
    r"|out of range|expected|unsupported"
)
_MCP_ERROR = says(r"error|fail|exception|denied|refused")


def _is_result(seen: Seen) -> bool:
    return seen.facts.family == "mcp" and "isError" in seen.text


GRPC_RULES: tuple[Rule, ...] = tuple(
    Rule(f"gRPC: {name}", every(_GRPC, when), verdict)
    for name, when, verdict in _GRPC_RULES
)

MCP_RULES: tuple[Rule, ...] = (
    Rule(
        "MCP: the session is gone",
        every(family("mcp"), says(r"session (?:not found|terminated|expired)")),
        RECONNECT,
    ),
    Rule(
        "MCP: the tool is not there",
        every(
            family("mcp"),
            says(r"unknown tool|tool \S+ (?:is )?not (?:found|available)"),
        ),
        UNMET,
    ),
    *(
        Rule(f"MCP: {name}", every(family("mcp"), when), verdict)
        for name, when, verdict in _MCP_RULES
    ),
    Rule(
        "MCP: the arguments are refused in the result",
        every(_is_result, _MCP_WRONG, none_of(says(r"permission|unauthor|forbidden"))),
        BAD_ARGS,
        0.8,
    ),
    Rule(
        "MCP: access is denied in the result",
        every(_is_result, says(r"permission|unauthor|forbidden|access denied")),
        DENIED,
        0.8,
    ),
    Rule(
        "MCP: the request timed out",
        every(_is_result, says(r"timed? ?out")),
        NETWORK,
        0.8,
    ),
    Rule("MCP: the tool reports an error", every(_is_result, _MCP_ERROR), FAULTY, 0.65),
    Rule(
        "MCP: the server has an internal fault",
        every(family("mcp"), code("-32603")),
        FAULTY,
        0.7,
    ),
    Rule(
        "MCP: credentials must be renewed",
        every(family("mcp"), says(r"token (?:has )?expired")),
        RENEW,
        0.7,
    ),
)
