"""Facts are read off real exception objects, without importing their libraries."""

import asyncio
import errno
import io
import json
import smtplib
import sqlite3
import subprocess
import urllib.error

import httpx
import pytest

from mendgraph.state.failure import Layer
from mendgraph.tools.facts import gather

REQUEST = httpx.Request("POST", "https://api.example.com/v1")


def raised(action):
    """Return what the action raises."""
    try:
        action()
    except BaseException as error:  # noqa: BLE001 - the test wants to see any of them
        return error
    raise AssertionError("nothing was raised")


def http_error(status, **parts):
    return raised(httpx.Response(status, request=REQUEST, **parts).raise_for_status)


def stand_in(module, name, *args, **attributes):
    """Return an exception named as a library that is not installed names its own."""
    kind = type(name, (Exception,), {"__module__": module})
    error = kind(*args)
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


def test_an_httpx_error_gives_status_headers_and_body():
    """Status, headers in lower case, content type and the body's beginning."""
    error = http_error(429, headers={"Retry-After": "7"}, json={"error": {"code": "x"}})
    facts = gather(error)
    assert facts.http_status == 429
    assert facts.headers["retry-after"] == "7"
    assert facts.content_type == "application/json"
    assert facts.body_head == '{"error":{"code":"x"}}'
    assert facts.error_code == "x"
    assert facts.layer is Layer.TRANSPORT
    assert "HTTPError" in facts.bases


def test_an_openai_error_gives_type_and_code():
    """The parsed body of the SDK is read, and the layer is the model's."""
    import openai

    body = {"message": "no money", "type": "insufficient_quota", "code": None}
    response = httpx.Response(429, request=REQUEST, json={"error": body})
    error = openai.RateLimitError("no money", response=response, body=body)
    facts = gather(error)
    assert (facts.http_status, facts.error_type) == (429, "insufficient_quota")
    assert facts.layer is Layer.MODEL


def test_the_cause_speaks_too():
    """A wrapper that says nothing is completed by what caused it."""
    import openai

    wrapper = openai.APIConnectionError(request=REQUEST)
    wrapper.__cause__ = httpx.ConnectError("[Errno 111] Connection refused")
    facts = gather(wrapper)
    assert facts.exceptions == ("openai.APIConnectionError", "httpx.ConnectError")
    assert "Connection refused" in facts.message
    assert facts.errno == errno.ECONNREFUSED


def test_a_group_shows_its_members():
    """An exception group stands for what it holds."""
    error = ExceptionGroup("tasks", [http_error(503)])
    facts = gather(error)
    assert facts.http_status == 503
    assert facts.exceptions == ("ExceptionGroup", "httpx.HTTPStatusError")


def test_requests_and_urllib_give_the_status():
    """Both keep the status under other names."""
    import requests

    response = requests.Response()
    response.status_code = 404
    headers = {"Retry-After": "9"}
    gone = urllib.error.HTTPError("http://x", 503, "down", headers, io.BytesIO(b""))
    assert gather(raised(response.raise_for_status)).http_status == 404
    assert gather(gone).http_status == 503
    assert gather(gone).headers == {"retry-after": "9"}


def test_postgres_errors_give_their_state():
    """SQLSTATE comes from the attribute, not from the words."""
    import psycopg

    assert gather(psycopg.errors.UniqueViolation("x")).sqlstate == "23505"
    older = stand_in("psycopg2.errors", "DeadlockDetected", "x", pgcode="40P01")
    assert gather(older).sqlstate == "40P01"
    wrapped = stand_in("sqlalchemy.exc", "IntegrityError", "x", orig=older)
    assert gather(wrapped).sqlstate == "40P01"


def test_sqlite_errors_give_their_name():
    """The result code's name is kept."""
    error = raised(lambda: sqlite3.connect(":memory:").execute("select x"))
    facts = gather(error)
    assert (facts.family, facts.error_code) == ("sqlite", "SQLITE_ERROR")


def test_mysql_numbers_are_no_operating_system_numbers():
    """`args[0]` of PyMySQL and `errno` of the connector are server codes."""
    first = gather(stand_in("pymysql.err", "OperationalError", 2006, "gone"))
    second = gather(stand_in("mysql.connector.errors", "Error", "gone", errno=2006))
    for facts in (first, second):
        assert (facts.family, facts.error_code) == ("mysql", "2006")
        assert facts.errno is None


def test_a_child_process_gives_code_and_command():
    """The command decides what an exit code means."""
    error = raised(lambda: subprocess.run(["grep", "x", "/dev/null"], check=True))
    facts = gather(error)
    assert (facts.exit_code, facts.command) == (1, "grep")


def test_smtp_mcp_and_aws_give_their_codes():
    """Each protocol's own code is kept with its family."""
    from mcp.shared.exceptions import McpError
    from mcp.types import ErrorData

    smtp = gather(smtplib.SMTPAuthenticationError(535, b"5.7.8 no"))
    mcp = gather(McpError(ErrorData(code=-32001, message="Request timed out")))
    aws = gather(
        stand_in(
            "botocore.exceptions",
            "ClientError",
            "An error occurred",
            response={
                "Error": {"Code": "SlowDown"},
                "ResponseMetadata": {"HTTPStatusCode": 503, "HTTPHeaders": {"A": "b"}},
            },
        )
    )
    assert (smtp.family, smtp.error_code) == ("smtp", "535")
    assert (mcp.family, mcp.error_code) == ("mcp", "-32001")
    assert (aws.family, aws.error_code, aws.http_status) == ("boto3", "SlowDown", 503)
    assert aws.headers == {"a": "b"}


def test_a_grpc_error_is_asked_for_its_code_and_details():
    """GRPC hides both behind methods."""
    import grpc

    class Unavailable(grpc.RpcError):
        def code(self):
            return grpc.StatusCode.UNAVAILABLE

        def details(self):
            return "failed to connect to all addresses"

    facts = gather(Unavailable())
    assert (facts.family, facts.error_code) == ("grpc", "UNAVAILABLE")
    assert "failed to connect" in facts.message


def test_json_errors_show_what_was_parsed():
    """The beginning of the document tells a page from a truncation."""
    error = raised(lambda: json.loads("<html>denied"))
    assert gather(error).body_head == "<html>denied"


def test_the_number_of_the_operating_system_is_read():
    """OSError carries errno."""
    assert gather(raised(lambda: open("/no/such"))).errno == errno.ENOENT  # noqa: PTH123, SIM115 - the error is wanted


def test_context_is_kept_and_arguments_are_masked():
    """What the caller knows is added; secrets in it are hidden."""
    facts = gather(
        TimeoutError("password=hunter2"),
        tool="pay",
        arguments={"key": "k", "card": "4242", "token": "abc"},
        secret_names=("card",),
        attempts=2,
        timeout_s=1.5,
    )
    assert facts.arguments == {"key": "k", "card": "***", "token": "***"}
    assert facts.message == "TimeoutError: password=***"
    assert (facts.tool, facts.attempts, facts.timeout_s) == ("pay", 2, 1.5)


def test_an_exception_that_cannot_speak_is_still_a_failure():
    """A broken `__str__` or property must not hide the failure."""

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no words")

        @property
        def response(self):
            raise RuntimeError("no response")

    facts = gather(Mute())
    assert facts.message == "Mute: "
    assert facts.http_status is None


def test_a_timeout_of_asyncio_keeps_its_chain():
    """The cancellation beneath a timeout is visible."""

    async def slow():
        await asyncio.wait_for(asyncio.sleep(1), 0.001)

    facts = gather(raised(lambda: asyncio.run(slow())))
    assert facts.exceptions[0] == "TimeoutError"
    assert "asyncio.exceptions.CancelledError" in facts.exceptions


@pytest.mark.parametrize("text", ["x" * 100_000, "{" * 5_000, "word " * 20_000])
def test_long_messages_are_cut(text):
    """Whatever a tool writes, facts stay small."""
    assert len(gather(ValueError(text)).message) <= 4_000
