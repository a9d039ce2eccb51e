"""Cancellation, our own timeouts, and faults of the framework around the steps."""

import re

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    CHANGED,
    FAULTY,
    NETWORK,
    NO_FAULT,
    OURS,
    SLOW,
    STOPPED,
    Predicate,
    Rule,
    Seen,
    code,
    every,
    layer,
    named,
    none_of,
    package,
    says,
    some,
)
from mendgraph.state.failure import Layer

TIMED_OUT = some(
    named(
        "TimeoutError",
        "Timeout",
        "ReadTimeout",
        "WriteTimeout",
        "PoolTimeout",
        "ConnectTimeout",
        "APITimeoutError",
        "TimeoutExpired",
        "ServerTimeoutError",
        "SocketTimeoutError",
        "ConnectionTimeoutError",
        "TimeoutException",
        "ReadTimeoutError",
        "ConnectTimeoutError",
        "DeadlineExceeded",
        "QueryTimeoutError",
    ),
    code("-32001", "DEADLINE_EXCEEDED", "ETIMEDOUT", "ESOCKETTIMEDOUT"),
    says(
        r"\btimed[ -]?out\b|\btimeout\b.{0,40}\b(?:exceeded|expired|reached|elapsed)"
        r"|\b(?:exceeded|deadline)\b.{0,30}\b(?:timeout|exceeded)|超时"
    ),
)


def _repeated_while_others_work(seen: Seen) -> bool:
    return seen.facts.same_before >= 1 and seen.facts.others_healthy is True


def _ours_was_reached(seen: Seen) -> bool:
    return seen.facts.timeout_s is not None


def _cancelled_by_us(seen: Seen) -> bool:
    return seen.facts.cancelled_by_us


FIRST_RULES: tuple[Rule, ...] = (
    Rule("cancelled by ourselves", _cancelled_by_us, STOPPED, 0.99),
    Rule(
        "the statement was cancelled on request",
        says(
            r"canceling statement due to user request|query execution was interrupted"
            r"(?!, max)|operation canceled by user"
        ),
        STOPPED,
    ),
    Rule(
        "a task was cancelled",
        every(
            some(
                named("CancelledError", "CancelledByUser", "KeyboardInterrupt"),
                says(r"\bcancel(?:l)?ed by (?:cancel scope|user|client|the user)"),
            ),
            none_of(named("TimeoutError")),
        ),
        STOPPED,
        0.85,
    ),
    Rule(
        "the framework or our own code is at fault",
        layer(Layer.FRAMEWORK, Layer.OWN),
        OURS,
        0.95,
    ),
    Rule(
        "the framework is at fault",
        some(
            named(
                "GraphRecursionError",
                "InvalidUpdateError",
                "EmptyInputError",
                "TaskNotFound",
                "EmptyChannelError",
                "NodeError",
                "BlockingError",
                "DuplicateIDError",
                "GraphInterrupt",
                "ParentCommand",
            ),
            package("langgraph"),
            says(
                r"recursion limit of \d+ reached|GRAPH_RECURSION_LIMIT"
                r"|INVALID_CONCURRENT_GRAPH_UPDATE|INVALID_GRAPH_NODE_RETURN_VALUE"
                r"|INVALID_CHAT_HISTORY|MULTIPLE_SUBGRAPHS|MISSING_CHECKPOINTER"
                r"|can receive only one value per step|checkpointer requires"
                r"|no checkpointer set|multiple pending interrupts|checkpoint_(?:ns"
                r"|id)\b"
                r"|must write to at least one of|expected dict, got .* node"
                r"|(?:type|object) .{0,60}(?:not msgpack serializable)"
            ),
        ),
        OURS,
    ),
    Rule(
        "an event loop or coroutine is misused",
        says(
            r"event loop is (?:closed|already running)|attached to a different loop"
            r"|no running event loop|was never awaited"
            r"|asyncio\.run\(\) cannot be called from a running"
            r"|bound to a different event"
            r"|cannot (?:reuse|re-use) already awaited"
            r"|task was destroyed but it is pending"
            r"|SQLite objects created in a thread can only be used in that same thread"
        ),
        OURS,
        0.8,
    ),
    Rule(
        "nested retries: a matter of configuration, not a failure",
        says(
            r"(?:max_)?retr(?:y|ies)\b.*\bretr(?:y|ies)\b.*\bretr(?:y|ies)\b.*\bactive"
        ),
        NO_FAULT,
        0.7,
    ),
    Rule(
        "the same call timed out again while others work",
        every(_repeated_while_others_work, TIMED_OUT),
        BAD_ARGS,
        0.8,
    ),
)

TIMEOUT_RULES: tuple[Rule, ...] = (
    Rule(
        "our own limit was reached",
        every(_ours_was_reached, TIMED_OUT),
        SLOW,
        0.85,
    ),
    Rule(
        "a child process ran out of time",
        named("TimeoutExpired"),
        SLOW,
        0.8,
    ),
    Rule(
        "the client's limit for an answer was reached",
        some(
            named("ReadTimeout", "APITimeoutError", "ReadTimeoutError"),
            every(package("asyncio"), named("TimeoutError")),
            says(r"\bread (?:operation )?timed out|read timeout="),
        ),
        SLOW,
        0.75,
    ),
    Rule("a call timed out", TIMED_OUT, NETWORK, 0.75),
)


def _found_problems(words: str) -> Predicate:
    compiled = re.compile(words, re.IGNORECASE)
    return lambda seen: any(compiled.search(each) for each in seen.facts.problems)


MONITOR_RULES: tuple[Rule, ...] = (
    Rule(
        "the output is empty although the tool reports success",
        _found_problems(r"empty|no rows|0 rows|\b0 bytes|no data|nothing|not written"),
        FAULTY,
        0.6,
    ),
    Rule(
        "the output lacks fields or has other ones than agreed",
        _found_problems(r"schema|field|column|property|required|type|missing"),
        CHANGED,
        0.55,
    ),
    Rule("our checks refused the output", _found_problems(r"."), FAULTY, 0.5),
)
