"""Memory on a real Chroma server process, shared by several clients."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from mendgraph.state.lesson import Lesson
from mendgraph.tools.memory.chroma import ChromaMemory
from mendgraph.tools.memory.embedder import HashingEmbeddings
from mendgraph.tools.memory.protocol import Query

pytestmark = pytest.mark.server

Value = TypeVar("Value")
CHROMA = Path(sys.executable).with_name("chroma")

WRITER = """
import asyncio, json, sys
from mendgraph.state.lesson import Lesson
from mendgraph.tools.memory.chroma import ChromaMemory
from mendgraph.tools.memory.embedder import HashingEmbeddings

async def main():
    memory = ChromaMemory(
        host="127.0.0.1", port=int(sys.argv[1]), embedder=HashingEmbeddings(32),
        timeout_s=30, open_timeout_s=60,
    )
    base = json.loads(sys.argv[2])
    for number in range(20):
        key = f"{sys.argv[3]}{number}"
        await memory.remember(Lesson.model_validate({**base, "id": key}))
        await memory.feedback(["shared"], helped=True)
    await memory.close()
    print(json.dumps(memory.problems))

asyncio.run(main())
"""


def run(work: Coroutine[Any, Any, Value]) -> Value:
    return asyncio.run(work)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def lesson(key: str, text: str = "quote the reserved column name") -> Lesson:
    return Lesson(
        id=key,
        text=text,
        signature="execution_error:param_error:pg",
        tool="pg",
        category="execution_error",
        subclass="param_error",
        created_at=time.time(),
    )


def memory(port: int, **settings: Any) -> ChromaMemory:
    limits = {"timeout_s": 30.0, "open_timeout_s": 60.0, **settings}
    return ChromaMemory(
        host="127.0.0.1", port=port, embedder=HashingEmbeddings(32), **limits
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A `chroma run` process on loopback, ready to answer."""
    port = free_port()
    command = [CHROMA, "run", "--path", tmp_path, "--port", str(port)]
    process = subprocess.Popen(
        [*map(str, command), "--host", "127.0.0.1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    try:
        _wait_until_it_answers(port, process)
        yield port, process
    finally:
        process.terminate()
        process.wait(10)


def _wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended"
        try:
            httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server did not answer within a minute")


def test_two_clients_see_what_the_other_learns_and_forgets(server: Any) -> None:
    """A second client finds new lessons, newer counts, and misses deleted ones."""
    port, _ = server

    async def work() -> tuple[Any, ...]:
        first, second = memory(port), memory(port, refresh_s=0.0)
        await first.remember(lesson("a"))
        await first.remember(lesson("b", "wait for the rate limit"))
        found = await second.recall(Query(text="reserved columns"), limit=1)
        await first.feedback(["a"], helped=True)
        counted = await second.get("a")
        await first.forget("b")
        left = [item.id for item in await second.all()]
        problems = [*first.problems, *second.problems]
        await first.close()
        await second.close()
        return [hit.lesson.id for hit in found], counted, left, problems

    found, counted, left, problems = run(work())
    assert (found, left, problems) == (["a"], ["a"], [])
    assert counted.helped == 1


def test_two_processes_writing_at_once_corrupt_nothing(server: Any) -> None:
    """Every lesson of both processes is there, whole."""
    port, _ = server
    base = json.dumps(lesson("x").plain())
    run(_remember(port, lesson("shared", "a lesson both processes use")))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(port), base, name],
            stdout=subprocess.PIPE,
        )
        for name in ("p", "q")
    ]
    said = [json.loads(writer.communicate(timeout=120)[0]) for writer in writers]

    held = {item.id: item for item in run(_all(port))}
    wanted = {f"{name}{number}" for name in ("p", "q") for number in range(20)}
    assert said == [[], []]
    assert held.keys() == {"shared", *wanted}
    assert 20 <= held["shared"].helped <= 40


async def _remember(port: int, item: Lesson) -> None:
    async with memory(port) as held:
        await held.remember(item)


async def _all(port: int) -> list[Lesson]:
    async with memory(port) as held:
        return await held.all()


def test_a_server_that_goes_away_is_reported_once(server: Any) -> None:
    """The task goes on with what is in the process."""
    port, process = server

    async def work() -> tuple[list[str], list[str]]:
        held = memory(port, refresh_s=0.0, timeout_s=5.0)
        await held.remember(lesson("a"))
        process.kill()
        process.wait(10)
        for _ in range(5):
            found = await held.recall(Query(text="reserved column"))
        await held.close()
        return [hit.lesson.id for hit in found], held.problems

    found, problems = run(work())
    assert found == ["a"]
    assert len(problems) == 1


def test_no_server_costs_no_task() -> None:
    """Nothing listens: an empty list, one problem."""
    held = memory(free_port())

    assert run(held.recall(Query(text="x"))) == []
    assert len(held.problems) == 1
    assert "could not read" in held.problems[0]
