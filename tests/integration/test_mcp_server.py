"""MCP tools against a real server process over stdio."""

import asyncio
import importlib.util
import os
import sys
import time
from pathlib import Path

import pytest

from mendgraph.state.policy import Effect
from mendgraph.tools.shipped.mcp import load_mcp, load_mcp_sync
from mendgraph.tools.shipped.mcp_sessions import mcp_sessions

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(
        importlib.util.find_spec("langchain_mcp_adapters") is None,
        reason="the extra `mcp` is not installed",
    ),
]

SERVER = Path(__file__).parents[1] / "services" / "mcp_server.py"
CONNECTION = {"test": {"command": sys.executable, "args": [str(SERVER)]}}


@pytest.fixture(scope="module")
def kit():
    return load_mcp_sync(CONNECTION)


def test_annotations_become_policies(kit):
    """Hints of the server set effect and repeatability; no hints mean the worst."""
    look, erase, put = (kit.policies[name] for name in ("look", "erase", "put"))
    assert (look.effect, look.safe_to_repeat) == (Effect.READ, True)
    assert (erase.effect, erase.safe_to_repeat) == (Effect.IRREVERSIBLE, False)
    assert (put.effect, put.safe_to_repeat) == (Effect.WRITE, True)
    unknown = kit.policies["unannotated"]
    assert (unknown.effect, unknown.safe_to_repeat) == (Effect.WRITE, False)
    assert unknown.annotated is False
    assert {policy.service for policy in kit.policies.values()} == {"test"}


def test_results_are_plain_data_by_invoke_and_ainvoke(kit):
    """Structured content arrives as an object, both ways."""
    expected = {"item": "key", "state": "found"}
    assert kit["look"].invoke({"item": "key"}) == expected
    assert asyncio.run(kit["look"].ainvoke({"item": "key"})) == expected


def test_invoke_works_inside_a_running_loop(kit):
    """A synchronous call from within a loop is no deadlock."""

    async def inside():
        return kit["put"].invoke({"item": "a", "count": 2})

    assert asyncio.run(inside()) == {"item": "a", "count": 2}


def test_an_exception_in_the_server_is_raised(kit):
    """What the server raised is in the message."""
    with pytest.raises(Exception, match="disk of C is full"):
        kit["fails"].invoke({"item": "C"})


def test_an_error_result_is_raised(kit):
    """`isError` becomes an exception and never an answer."""
    with pytest.raises(Exception, match="quota of the account is used up"):
        kit["is_error"].invoke({})


def test_error_text_without_is_error_is_left_to_the_monitor(kit):
    """A result that calls itself a success stays one here, unchanged."""
    expected = "Error: title exceeds max length of 512 bytes"
    assert expected == kit["error_text"].invoke({})


def wait_for(file):
    """Return once the file has content."""
    while not (file.exists() and file.read_text()):
        time.sleep(0.05)


def test_a_hanging_tool_can_be_cancelled(kit, tmp_path):
    """The caller's limit ends the call, and the server's process with it."""
    pid_file = tmp_path / "pid"

    async def impatient():
        call = asyncio.create_task(kit["hangs"].ainvoke({"pid_file": str(pid_file)}))
        await asyncio.to_thread(wait_for, pid_file)
        async with asyncio.timeout(0.5):
            await call

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


@pytest.mark.parametrize(
    ("connection", "said"),
    [
        ({"command": "/no/such/program"}, "stdio, program.*No such file"),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}, "closed"),
        ({"url": "http://127.0.0.1:9/mcp?token=hidden"}, "127.0.0.1:9.*failed"),
    ],
)
def test_a_server_that_cannot_be_reached_is_one_clear_error(connection, said):
    """The message names the server and the cause, and no token."""
    with pytest.raises(ConnectionError, match=f"'shop'.*{said}") as caught:
        load_mcp_sync({"shop": connection})
    assert "hidden" not in str(caught.value)


def test_a_silent_server_is_given_up_in_time():
    """A program that never answers ends the wait at the limit."""
    sleeper = {"command": sys.executable, "args": ["-c", "input(); input()"]}
    with pytest.raises(ConnectionError, match=r"no answer within 1 s"):
        load_mcp_sync({"mute": sleeper}, connect_timeout_s=1)


def test_two_servers_with_equal_tools_need_prefixes():
    """Equal names are refused; with prefixes both servers' tools are there."""
    two = {"one": CONNECTION["test"], "two": CONNECTION["test"]}
    with pytest.raises(ValueError, match="used twice"):
        asyncio.run(load_mcp(two))
    both = asyncio.run(load_mcp(two, prefixed=True))
    assert {"one_look", "two_look"} <= {tool.name for tool in both.tools}
    assert both.policies["two_erase"].effect is Effect.IRREVERSIBLE


def test_kept_sessions_serve_all_calls_from_one_process(tmp_path):
    """State survives between calls, from any loop, also past a cancelled call."""
    with mcp_sessions(CONNECTION) as kit:
        first = kit["process"].invoke({})["pid"]
        assert asyncio.run(kit["process"].ainvoke({}))["pid"] == first
        assert kit.policies["erase"].effect is Effect.IRREVERSIBLE

        async def impatient():
            async with asyncio.timeout(0.3):
                await kit["hangs"].ainvoke({"pid_file": str(tmp_path / "pid")})

        with pytest.raises(TimeoutError):
            asyncio.run(impatient())
        with pytest.raises(Exception, match="quota of the account"):
            kit["is_error"].invoke({})
        assert kit["process"].invoke({})["pid"] == first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    with pytest.raises(ConnectionError, match="sessions are closed"):
        kit["process"].invoke({})


def test_kept_sessions_that_cannot_start_are_one_clear_error():
    """The failure comes out of the block's start."""
    broken = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}
    with (
        pytest.raises(ConnectionError, match=r"'shop'.*closed"),
        mcp_sessions({"shop": broken}),
    ):
        pytest.fail("it must not open")
