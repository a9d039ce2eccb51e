"""The loop behind `invoke` is started anew when its thread died or it was closed."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from mendgraph.graph.bind import Background

FORKED = """
import os, signal
from mendgraph import create_mend_agent

def fine() -> dict:
    "Return a number."
    return {"number": 1}

agent = create_mend_agent(None, tools=[fine], assume="read", learn=False, seeded=False)
given = {"task": "t", "plan": {"steps": [{"id": "a", "tool": "fine"}]}}
assert agent.invoke(given)["status"] == "done"
if os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
signal.alarm(20)
os._exit(0 if agent.invoke(given)["status"] == "done" else 1)
"""


async def _number() -> int:
    return 7


def _stopped(loop: asyncio.AbstractEventLoop) -> None:
    ended = _thread_of(loop)
    loop.call_soon_threadsafe(loop.stop)
    ended.join(5)


def _closed(loop: asyncio.AbstractEventLoop) -> None:
    _stopped(loop)
    loop.close()


def _thread_of(loop: asyncio.AbstractEventLoop) -> threading.Thread:
    async def current() -> threading.Thread:
        return threading.current_thread()

    return asyncio.run_coroutine_threadsafe(current(), loop).result(5)


@pytest.mark.parametrize("end", [_stopped, _closed])
def test_a_dead_loop_is_replaced(
    end: Callable[[asyncio.AbstractEventLoop], None],
) -> None:
    """Work after the end runs on a new loop, which is kept."""
    background = Background()
    first = background.loop()
    assert background.run(_number()) == 7
    end(first)
    second = background.loop()
    assert second is not first
    running = asyncio.run_coroutine_threadsafe(_number(), second)
    assert running.result(5) == 7
    assert background.loop() is second
    _closed(second)
    if not first.is_closed():
        first.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_process_can_run_an_agent() -> None:
    """Neither the loop's thread nor those of synchronous tools come along."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
