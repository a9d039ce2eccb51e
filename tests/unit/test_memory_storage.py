"""Memory with storage: what is kept, and that broken storage never stops a task."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from langchain_core.embeddings import Embeddings

from mendgraph.state.lesson import Lesson
from mendgraph.state.ranking import DAY_S
from mendgraph.tools.memory.chroma import ChromaMemory
from mendgraph.tools.memory.domains import DomainMemory
from mendgraph.tools.memory.embedder import HashingEmbeddings
from mendgraph.tools.memory.in_memory import InMemoryMemory
from mendgraph.tools.memory.notebook import merge_versions
from mendgraph.tools.memory.protocol import Memory, Query
from mendgraph.tools.memory.worker import JobError, Worker

Value = TypeVar("Value")
NOW = 1_000 * DAY_S


def run(work: Coroutine[Any, Any, Value]) -> Value:
    return asyncio.run(work)


def lesson(key: str = "a", **changes: Any) -> Lesson:
    given = {
        "id": key,
        "text": "quote the reserved column name",
        "issue": "syntax error",
        "signature": "execution_error:param_error:pg",
        "tool": "pg",
        "category": "execution_error",
        "subclass": "param_error",
        "created_at": NOW,
    }
    return Lesson.model_validate({**given, **changes})


def chroma(folder: Path, **settings: Any) -> ChromaMemory:
    settings = {"embedder": HashingEmbeddings(32), "timeout_s": 30.0, **settings}
    return ChromaMemory(folder, clock=lambda: NOW, open_timeout_s=60, **settings)


@pytest.fixture(params=["chroma", "dictionary"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "dictionary":
        yield InMemoryMemory(HashingEmbeddings(32), clock=lambda: NOW)
        return
    held = chroma(tmp_path)
    yield held
    run(held.close())


def test_a_lesson_is_found_by_words_in_another_form(memory: Memory) -> None:
    """What was remembered is recalled with its reasons, and the hit is counted."""

    async def work() -> tuple[Any, Any]:
        await memory.remember(lesson("a"))
        await memory.remember(lesson("b", text="wait for the rate limit", tool="http"))
        found = await memory.recall(Query(text="reserved columns want quotes"), limit=1)
        return found, await memory.get("a")

    found, kept = run(work())
    assert [hit.lesson.id for hit in found] == ["a"]
    assert (kept.hits, kept.last_hit_at) == (1, NOW)
    assert memory.problems == []


def test_feedback_is_counted(memory: Memory) -> None:
    """Shown, helped and hurt are told apart; unknown ids are no fault."""

    async def work() -> Lesson | None:
        await memory.remember(lesson("a"))
        await memory.feedback(["a", "nobody"], helped=True)
        await memory.feedback(["a"], helped=False)
        await memory.feedback(["a"], helped=None)
        return await memory.get("a")

    kept = run(work())
    assert kept is not None
    assert (kept.injected, kept.helped, kept.hurt) == (3, 1, 1)


def test_a_sweep_forgets_and_forgetting_is_final(memory: Memory) -> None:
    """Stale lessons go; a lesson that is forgotten by hand goes too."""

    async def work() -> tuple[Any, list[str]]:
        await memory.remember(lesson("stale", created_at=NOW - 40 * DAY_S))
        await memory.remember(lesson("kept", text="another matter altogether"))
        await memory.remember(lesson("gone", text="third thing entirely"))
        report = await memory.sweep(NOW)
        await memory.forget("gone")
        await memory.forget("nobody")
        return report, [item.id for item in await memory.all()]

    report, left = run(work())
    assert report.forgotten == ("stale",)
    assert left == ["kept"]


def test_an_empty_memory_recalls_nothing(memory: Memory) -> None:
    """No lessons, no words: an empty list and no problem."""
    assert run(memory.recall(Query())) == []
    assert memory.problems == []


def test_lessons_survive_a_restart_to_the_last_field(tmp_path: Path) -> None:
    """Falsy values, nulls and Chinese text come back as they were."""
    held = lesson("a", text="给保留字加引号", task="", confidence=0.0, domain=None)

    async def work() -> tuple[list[Lesson], list[str]]:
        async with chroma(tmp_path) as first:
            await first.remember(held)
        async with chroma(tmp_path) as second:
            found = await second.recall(Query(text="加引号"))
            assert found
            return await second.all(), second.problems

    (back,), problems = run(work())
    assert back.model_copy(update={"hits": 0, "last_hit_at": None}) == held
    assert problems == []


def test_another_embedder_makes_new_vectors_and_keeps_the_lessons(
    tmp_path: Path,
) -> None:
    """A change of embedder re-indexes instead of failing on dimensions."""

    async def work() -> tuple[Any, list[str]]:
        async with chroma(tmp_path) as first:
            await first.remember_all(lesson(f"l{n}") for n in range(70))
        async with chroma(tmp_path, embedder=HashingEmbeddings(48)) as second:
            await second.settled()
            explained = await second.explain(Query(text="reserved column"))
            return explained.legs, second.problems

    legs, problems = run(work())
    assert len(legs["vector"]) == 50
    assert problems == []


class Shrunk(Embeddings):
    """Claims the same name while its vectors change their size."""

    name = "same"

    def __init__(self, size: int) -> None:
        self.size = size

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0] * self.size


def test_vectors_of_another_dimension_are_rebuilt(tmp_path: Path) -> None:
    """The same name with other dimensions costs a rebuild, not a task."""

    async def work() -> tuple[Any, Any, list[str]]:
        async with chroma(tmp_path, embedder=Shrunk(8)) as first:
            await first.remember(lesson("a"))
        async with chroma(tmp_path, embedder=Shrunk(6)) as second:
            before = (await second.explain(Query(text="reserved"))).legs
            await second.settled()
            after = (await second.explain(Query(text="reserved"))).legs
            return before, after, second.problems

    before, after, problems = run(work())
    assert before == {"keyword": {"a": 1}}
    assert after["vector"] == {"a": 1}
    assert problems == []


def test_a_damaged_folder_is_reported_once_and_the_task_goes_on(tmp_path: Path) -> None:
    """Nothing is found, nothing raises; the session's own lessons still work."""
    (tmp_path / "chroma.sqlite3").write_bytes(b"this is no database" * 100)
    memory = chroma(tmp_path)

    async def work() -> tuple[Any, Any]:
        first = await memory.recall(Query(text="reserved"))
        await memory.remember(lesson("a"))
        return first, await memory.recall(Query(text="reserved"))

    first, second = run(work())
    assert first == []
    assert [hit.lesson.id for hit in second] == ["a"]
    assert len(memory.problems) == 1
    assert memory.problems[0].startswith("memory could not read")


class Broken:
    """A client of which every call fails."""

    def get_max_batch_size(self) -> int:
        raise OSError("attempt to write a readonly database")


class Hanging:
    """A client that does not answer until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def get_max_batch_size(self) -> int:
        self.go.wait(30)
        raise OSError("too late")


def test_a_failing_client_says_so_once() -> None:
    """Many calls, one problem, with the reason in it."""
    memory = ChromaMemory(client=Broken(), clock=lambda: NOW)

    async def work() -> None:
        for _ in range(3):
            assert await memory.recall(Query(text="x")) == []
            await memory.remember(lesson("a", text="alpha"))
            await memory.forget("a")

    run(work())
    assert len(memory.problems) == 1
    assert "readonly database" in memory.problems[0]


def test_a_hanging_client_costs_its_limit_once() -> None:
    """After one timeout further calls return at once."""
    client = Hanging()
    memory = ChromaMemory(
        client=client, clock=lambda: NOW, timeout_s=5, open_timeout_s=0.05
    )

    async def work() -> None:
        for _ in range(50):
            assert await memory.recall(Query(text="x")) == []

    run(asyncio.wait_for(work(), 2))
    client.go.set()
    assert len(memory.problems) == 1
    assert "did not answer" in memory.problems[0]


class Down(HashingEmbeddings):
    """An embedding service that is down."""

    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("embedding service is down")


def test_without_an_embedder_words_still_find(tmp_path: Path) -> None:
    """A failing embedding service leaves keywords and signatures."""
    memory = chroma(tmp_path, embedder=Down(16))

    async def work() -> list[str]:
        await memory.remember(lesson("a"))
        found = await memory.recall(Query(text="reserved column"))
        await memory.close()
        return [hit.lesson.id for hit in found]

    assert run(work()) == ["a"]
    assert any("embedding service is down" in text for text in memory.problems)


def test_a_folder_that_vanished_is_opened_anew(tmp_path: Path) -> None:
    """What is in the process is written to the new folder."""
    import shutil

    folder = tmp_path / "memory"
    memory = chroma(folder)

    async def work() -> list[str]:
        await memory.remember(lesson("a"))
        shutil.rmtree(folder)
        await memory.remember(lesson("b", text="another matter"))
        found = await memory.recall(Query(text="another matter"), limit=1)
        await memory.close()
        return [hit.lesson.id for hit in found]

    assert run(work()) == ["b"]


def test_exactly_one_way_to_chroma_is_wanted() -> None:
    """Neither none nor two."""
    with pytest.raises(ValueError, match="exactly one"):
        ChromaMemory()
    with pytest.raises(ValueError, match="exactly one"):
        ChromaMemory("folder", host="localhost")


def test_changes_of_two_processes_are_merged() -> None:
    """Counts add up; a field that one side changed is taken from that side."""
    base = lesson("a", helped=1)
    mine = base.but(helped=2, hits=1, last_hit_at=5.0)
    theirs = base.but(helped=4, signature="x:y:class", last_hit_at=7.0)

    merged = merge_versions(base, mine, theirs)
    assert (merged.helped, merged.hits, merged.last_hit_at) == (5, 1, 7.0)
    assert merged.signature == "x:y:class"


def test_a_domain_has_a_memory_of_its_own() -> None:
    """A lesson goes to its domain's memory; recall asks it and the general one."""

    async def work() -> tuple[list[str], list[str]]:
        finance, general = InMemoryMemory(), InMemoryMemory()
        both = DomainMemory(general, {"finance": finance})
        await both.remember(lesson("f", domain="finance"))
        await both.remember(lesson("g"))
        query = Query(text="reserved column", domain="finance")
        found = await both.recall(query)
        kept = [item.id for item in await finance.all()]
        return sorted(hit.lesson.id for hit in found), kept

    assert run(work()) == (["f", "g"], ["f"])


@pytest.fixture
def worker() -> Iterator[Worker]:
    held = Worker("test")
    yield held
    held.stop()


def test_a_worker_passes_values_and_failures(worker: Worker) -> None:
    """A value comes back; an exception comes back as a failed job."""

    async def work() -> int:
        with pytest.raises(JobError, match="ZeroDivisionError"):
            await worker.call(lambda: 1 // 0, 5)
        return await worker.call(lambda: 7, 5)

    assert run(work()) == 7


def test_a_worker_recovers_when_the_hung_call_ends(worker: Worker) -> None:
    """Calls are refused while one hangs and served again afterwards."""
    go = threading.Event()

    async def work() -> list[Any]:
        seen: list[Any] = []
        for limit, job in ((0.02, lambda: go.wait(30)), (5, lambda: 1)):
            with pytest.raises(TimeoutError) as raised:
                await worker.call(job, limit)
            seen.append(str(raised.value))
        go.set()
        await asyncio.wait_for(_served(worker, lambda: seen.append(2)), 5)
        return seen

    first, second, last = run(work())
    assert (first, last) == ("no answer within 0.02 s", 2)
    assert second == "an earlier call has not come back"


async def _served(worker: Worker, job: Callable[[], None]) -> None:
    while True:
        try:
            return await worker.call(job, 5)
        except TimeoutError:
            await asyncio.sleep(0)
