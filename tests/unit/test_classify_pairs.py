"""The same words with another meaning: facts beside the words decide."""

import asyncio

import pytest

from mendgraph.nodes.classify import classify
from mendgraph.state.failure import Category, FailureFacts, Layer, Reaction, Subclass
from mendgraph.tools.facts import from_text, gather

JSON = "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
PAGE = "<html><head><title>{}</title>"


def subclass(text, **context):
    return classify(from_text(text, **context)).subclass


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (
            ("Error code: 429 - {'error': {'code': 'rate_limit'}}", "rate_limited"),
            (
                "Error code: 429 - {'error': {'type': 'insufficient_quota'}}",
                "quota_exhausted",
            ),
        ),
        (
            ("403 You have exceeded a secondary rate limit.", "rate_limited"),
            ('403 {"message": "Resource not accessible"}', "permission_denied"),
        ),
        (
            ("canceling statement due to statement timeout", "resource_exhausted"),
            ("canceling statement due to user request", "cancelled"),
        ),
        (
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                "resource_exhausted",
            ),
            ("OOMKilled", "resource_exhausted"),
        ),
        (
            ("sqlite3.OperationalError: database is locked", "service_unavailable"),
            ("sqlite3.OperationalError: no such column: x", "data_changed"),
        ),
        (
            (f"{JSON} [HTTP 200, body '\\n\\n']", "service_unavailable"),
            (f"{JSON} [body: '{PAGE.format('Access denied')}']", "permission_denied"),
        ),
        (
            (
                f"{JSON} [body: '{PAGE.format('502 Bad Gateway')}']",
                "service_unavailable",
            ),
            (f'{JSON} [body: \'{{"a": 1, "b\']', "parse_error"),
        ),
        (
            ("Limit 30000, Requested 30601.", "resource_exhausted"),
            (
                "Limit 30000, Used 29000, Requested 2000. try again in 2s",
                "rate_limited",
            ),
        ),
        (
            ("KeyError: 'a' [columns: ['ï»¿a', 'b']]", "parse_error"),
            ("KeyError: 'a' [columns: ['A', 'b']]", "data_changed"),
        ),
        (
            ("socket.gaierror: [Errno -3] Temporary failure", "network_error"),
            ("socket.gaierror: [Errno -2] Name or service not known", "param_error"),
        ),
        (
            ("(451, b'4.7.1 later')", "service_unavailable"),
            ("HTTP 451", "permission_denied"),
        ),
        (
            ('(1064, "error near \'```sql SELECT")', "parse_error"),
            ("(1064, \"error near 'SELEC'\")", "param_error"),
        ),
        (
            ("StatusCode.RESOURCE_EXHAUSTED: quota", "rate_limited"),
            (
                "StatusCode.RESOURCE_EXHAUSTED: message larger than max",
                "resource_exhausted",
            ),
        ),
    ],
)
def test_pairs_are_told_apart(one, two):
    """Near words, other class."""
    for text, expected in (one, two):
        assert expected == subclass(text)


def test_redis_full_asks_and_our_memory_shrinks():
    """The server's memory is the operator's, ours is the step's."""
    theirs = classify(from_text("OOM command not allowed when used memory"))
    ours = classify(gather(MemoryError()))
    assert (theirs.reaction, ours.reaction) == (
        Reaction.ASK_USER,
        Reaction.ADJUST_PARAMS,
    )


def test_a_follow_up_takes_the_class_of_the_first_error():
    """A broken transaction points to what broke it."""
    text = "psycopg.errors.InFailedSqlTransaction: current transaction is aborted"
    alone = classify(from_text(text))
    first = "permission denied for table orders"
    known = classify(from_text(text, earlier_message=first))
    assert alone.secondary
    assert alone.subclass is Subclass.TOOL_EXCEPTION
    assert known.secondary
    assert known.subclass is Subclass.PERMISSION_DENIED
    assert first in known.reason


def test_our_own_cancellation_is_no_failure():
    """What we cancelled ourselves is neither retried nor blamed."""
    found = classify(gather(asyncio.CancelledError(), cancelled_by_us=True))
    assert (found.category, found.subclass) == (Category.NONE, Subclass.CANCELLED)
    assert found.reaction is Reaction.NO_RETRY


def test_a_timeout_of_ours_raises_the_limit():
    """Our own limit is ours to raise; somebody else's is waited for."""
    ours = classify(gather(TimeoutError(), timeout_s=2.0))
    theirs = classify(gather(TimeoutError()))
    assert (ours.reaction, theirs.reaction) == (
        Reaction.ADJUST_PARAMS,
        Reaction.BACKOFF,
    )


def test_a_second_timeout_while_others_work_is_the_inputs_fault():
    """The environment is cleared when everything else answers."""
    context = {"same_before": 1, "others_healthy": True}
    assert subclass("MCP error -32001: Request timed out") is Subclass.NETWORK_ERROR
    again = subclass("MCP error -32001: Request timed out", **context)
    assert again is Subclass.PARAM_ERROR


def test_blank_json_from_a_model_is_a_parse_error():
    """The layer tells a dead transport from an empty answer."""
    facts = FailureFacts(
        message=JSON, body_head="\n", exceptions=("json.JSONDecodeError",)
    )
    assert classify(facts).subclass is Subclass.SERVICE_UNAVAILABLE
    parsed = classify(facts.but(layer=Layer.PARSER))
    assert parsed.subclass is Subclass.PARSE_ERROR


@pytest.mark.parametrize("status", [401, 402, 429, 503])
def test_the_status_beats_what_the_body_says(status):
    """Error bodies of providers say invalid_request_error for anything."""
    facts = FailureFacts(
        http_status=status,
        message="x",
        error_type="invalid_request_error",
        error_code="invalid_request_error",
    )
    assert classify(facts).category is Category.ENVIRONMENT


def test_a_stated_wait_turns_backoff_into_retry_after():
    """The header's wait is taken; a class that will not pass names none."""
    headers = {"retry-after": "7"}
    busy = classify(FailureFacts(http_status=503, headers=headers))
    denied = classify(FailureFacts(http_status=401, headers=headers))
    assert (busy.reaction, busy.wait_s) == (Reaction.RETRY_AFTER, 7.0)
    assert (denied.reaction, denied.wait_s) == (Reaction.ASK_USER, None)


def test_the_reason_names_rule_and_evidence():
    """A person can read why."""
    reason = classify(from_text("psycopg.errors.UniqueViolation: duplicate")).reason
    assert "unique key" in reason
    assert "SQLSTATE 23505" in reason
