"""Toolkits add up, values become JSON, MCP annotations and outputs are read."""

import datetime as dt
import json
import math
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.state.policy import UNKNOWN_TOOL, Effect
from mendgraph.tools.shipped import sql_postgres
from mendgraph.tools.shipped.files import file_tools
from mendgraph.tools.shipped.http import http_tools
from mendgraph.tools.shipped.mcp_output import plain_output
from mendgraph.tools.shipped.toolkit import Toolkit
from mendgraph.tools.shipped.values import plain_value


def test_toolkits_add_up(tmp_path):
    """A sum holds both sets, and picking keeps policies."""
    both = file_tools(tmp_path) + http_tools(allow=["a.example"])
    assert {"csv_writer", "http_get"} <= {tool.name for tool in both.tools}
    picked = both.only("http_get")
    assert [tool.name for tool in picked.tools] == ["http_get"]
    assert set(picked.policies) == {"http_get"}


def test_names_used_twice_are_refused(tmp_path):
    """Two tools of one name would hide each other."""
    one = file_tools(tmp_path)
    with pytest.raises(ValueError, match="used twice: csv_reader, csv_writer"):
        _ = one + one


def test_a_policy_without_its_tool_is_refused():
    """A misspelt name does not leave a tool unprotected."""
    with pytest.raises(ValueError, match="policies without a tool: typo"):
        Toolkit((), {"typo": UNKNOWN_TOOL})


def test_an_unknown_tool_is_named_with_the_known_ones(tmp_path):
    """The message is the remedy."""
    with pytest.raises(KeyError, match="there are csv_reader, csv_writer"):
        _ = file_tools(tmp_path)["nope"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("12.50"), 12.5),
        (Decimal(3), 3),
        (Decimal("0.1234567890123456789"), "0.1234567890123456789"),
        (Decimal("NaN"), "NaN"),
        (dt.datetime(2026, 1, 1, 5, tzinfo=dt.UTC), "2026-01-01T05:00:00+00:00"),
        (dt.date(2026, 1, 1), "2026-01-01"),
        (dt.timedelta(minutes=1), 60.0),
        (b"\x01\xff", "01ff"),
        (math.inf, "inf"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"a": (1, Decimal("2.5"))}, {"a": [1, 2.5]}),
        (True, True),
        (None, None),
    ],
)
def test_database_values_become_json(value, expected):
    """Numbers stay numbers where no digit is lost; the rest becomes text."""
    found = plain_value(value)
    assert found == expected
    assert json.loads(json.dumps(found)) == expected


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_lose_no_digit(value):
    """Whatever form a decimal takes, it is the same number."""
    assert Decimal(str(plain_value(value))) == value


@pytest.mark.parametrize(
    ("content", "artifact", "expected"),
    [
        ([{"type": "text", "text": "x"}], {"structured_content": {"a": 1}}, {"a": 1}),
        ([{"type": "text", "text": "plain", "id": "lc_1"}], None, "plain"),
        ([{"type": "text", "text": '{"a": [1]}'}], None, {"a": [1]}),
        ([{"type": "text", "text": "{not json"}], None, "{not json"),
        ([{"type": "text", "text": "12"}], None, "12"),
        (
            [{"type": "text", "text": "a", "id": "1"}, {"type": "image", "url": "u"}],
            None,
            [{"type": "text", "text": "a"}, {"type": "image", "url": "u"}],
        ),
        ([], None, []),
    ],
)
def test_mcp_outputs_become_plain_data(content, artifact, expected):
    """Structured content first, then JSON in one text, then what there is."""
    assert plain_output(content, artifact) == expected


def test_mcp_hints_make_the_policy():
    """Reading, destroying, neither, and nobody's word."""
    types = pytest.importorskip("mcp.types", reason="the extra `mcp` is missing")
    from mendgraph.tools.shipped.mcp import policy_of

    def policy(**hints):
        annotations = types.ToolAnnotations(**hints) if hints else None
        tool = types.Tool(name="t", inputSchema={}, annotations=annotations)
        return policy_of(tool, "s")

    assert policy(readOnlyHint=True).effect is Effect.READ
    assert policy(readOnlyHint=False).effect is Effect.IRREVERSIBLE
    assert policy(destructiveHint=False, idempotentHint=True).safe_to_repeat
    assert not policy(destructiveHint=True).safe_to_repeat
    assert policy().effect is Effect.WRITE
    assert not policy().annotated


def test_a_missing_driver_names_the_extra(monkeypatch):
    """Without psycopg the message is the command to run."""
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    kit = sql_postgres.postgres_tools("postgresql://x")
    with pytest.raises(ImportError, match=r"mendgraph\[postgres\]"):
        kit["postgres_ping"].invoke({})


def test_an_address_is_never_shown():
    """A database's password is in no representation."""
    database = sql_postgres.PostgresDatabase("postgresql://me:hidden@host/db")
    assert "hidden" not in repr(database)
