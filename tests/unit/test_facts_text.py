"""Facts are read from a message when the exception itself is gone."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.state.failure import Layer
from mendgraph.tools.facts import from_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Error code: 429 - {'error': {'message': 'm', 'type': 't', 'code': 'c'}}",
            {"http_status": 429, "error_type": "t", "error_code": "c"},
        ),
        (
            '429 RESOURCE_EXHAUSTED. {"error": {"code": 429, "status": "RES"}}',
            {"http_status": 429, "error_code": "RES"},
        ),
        ("HTTP Error 404: Not Found", {"http_status": 404}),
        ("Server error '503 Service Unavailable' for url", {"http_status": 503}),
        ("500 Server Error: Internal Server Error for url: x", {"http_status": 500}),
        ("429, message='Too Many Requests', url='x'", {"http_status": 429}),
        ("ToolMessage(...)  => 422 from the provider", {"http_status": 422}),
        ("got status: 502", {"http_status": 502}),
        ("requested 429 tokens of 512", {"http_status": None}),
        (
            "x [HTTP 200, body '\\n\\n']",
            {"http_status": 200, "body_head": "\n\n"},
        ),
        ("(psycopg2.errors.AdminShutdown) bye", {"sqlstate": "57P01"}),
        ("ERROR: 42P01: no table", {"sqlstate": "42P01"}),
        ("(SQLSTATE 23505)", {"sqlstate": "23505"}),
        ("permission denied for schema public", {"sqlstate": "42501"}),
        ("OSError: [Errno 28] No space left on device", {"errno": errno.ENOSPC}),
        ("PermissionError: [WinError 5] Access is denied", {"errno": errno.EACCES}),
        ("[Errno 61] Connection refused", {"errno": errno.ECONNREFUSED}),
        ("connect ECONNREFUSED 127.0.0.1:1", {"errno": errno.ECONNREFUSED}),
        (
            "Command 'grep -r x' returned non-zero exit status 2.",
            {"exit_code": 2, "command": "grep"},
        ),
        ('{"output": "", "exit_code": 1}', {"exit_code": 1}),
        ("died with <Signals.SIGKILL: 9>.", {"exit_code": -9}),
        ("curl: (28) timed out", {"exit_code": 28, "command": "curl"}),
        (
            "status = StatusCode.UNAVAILABLE, details = x",
            {"family": "grpc", "error_code": "UNAVAILABLE"},
        ),
        (
            "rpc error: code = DeadlineExceeded desc = x",
            {"family": "grpc", "error_code": "DEADLINE_EXCEEDED"},
        ),
        (
            "An error occurred (SlowDown) when calling the PutObject operation: x",
            {"family": "boto3", "error_code": "SlowDown"},
        ),
        (
            "MCP error -32001: Request timed out",
            {"family": "mcp", "error_code": "-32001"},
        ),
        ("(535, b'5.7.8 no')", {"family": "smtp", "error_code": "535"}),
        ('(1064, "You have an error")', {"family": "mysql", "error_code": "1064"}),
        (
            "ERROR 1045 (28000): Access denied",
            {"family": "mysql", "error_code": "1045"},
        ),
        ('"finish_reason": "length"', {"finish_reason": "length"}),
        ("content-type: text/html", {"content_type": "text/html"}),
        ("429; Retry-After: 20", {"headers": {"retry-after": "20"}}),
        ("each time, only for big inputs", {"same_before": 1, "others_healthy": True}),
        ("langgraph.errors.InvalidUpdateError: x", {"layer": Layer.FRAMEWORK}),
        ("httpx.ReadTimeout", {"exceptions": ("httpx.ReadTimeout",)}),
    ],
)
def test_a_fact_is_found_in_the_text(text, expected):
    """Each spelling that libraries use is understood."""
    facts = from_text(text)
    assert expected == {name: getattr(facts, name) for name in expected}


def test_secrets_in_messages_are_masked():
    """Facts are stored and shown, so secrets leave them first."""
    facts = from_text("postgres://u:hunter2@db failed", tool="sql")
    assert facts.message == "postgres://u:***@db failed"
    assert facts.tool == "sql"


@given(st.text(max_size=300))
def test_any_text_gives_facts(text):
    """No text breaks the reading, and the message stays bounded."""
    assert len(from_text(text).message) <= 4_000
