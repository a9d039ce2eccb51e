"""Long-term memory in Chroma that never stops a task (F48, F49, F50).

Lessons are mirrored in the process, where keywords and signatures are ranked; Chroma
keeps them and answers the vector leg. One `where_document` filter took 8 to 10 ms at
10,000 lessons, a ranking over the mirror 2 ms. Storage that is down, slow, damaged or
of another shape costs its time limit once and is reported in `problems`.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from langchain_core.embeddings import Embeddings

from mendgraph.state.lesson import Found, Lesson
from mendgraph.tools.memory.connect import connection
from mendgraph.tools.memory.embedder import adapt
from mendgraph.tools.memory.index import LessonIndex
from mendgraph.tools.memory.notebook import Notebook, merge_versions
from mendgraph.tools.memory.protocol import Query, SweepReport
from mendgraph.tools.memory.retrieve import CANDIDATES, Explanation
from mendgraph.tools.memory.shelf import Shelf
from mendgraph.tools.memory.worker import JobError, Worker

if TYPE_CHECKING:
    from concurrent.futures import Future

Value = TypeVar("Value")

EMBED_AT_ONCE = 64
"""Lessons embedded in one background job, so that other calls get their turn."""
REOPEN_AFTER_S = 30.0
"""After a failed opening, how long storage is left alone."""
CLOCK_SLACK_S = 5.0
"""Changes of other processes are looked for this far back, for clocks differ."""
SAVE_HITS_EVERY_S = 60.0
"""Hit counts are saved with the next change, or after this time."""


class ChromaMemory:
    """Lessons in a Chroma folder or server.

    Args:
        path: Folder of the embedded database, for one process at a time.
        host: Host of a Chroma server, for several processes.
        port: Port of the server.
        client: A Chroma client to use instead.
        embedder: Any LangChain `Embeddings`; the offline hashing one by default.
        clock: Seconds since the epoch.
        timeout_s: Limit of one call.
        open_timeout_s: Limit of the first call, which loads Chroma.
        refresh_s: Age from which changes of other processes are looked for.
        name: Name of the collection.
    """

    def __init__(  # noqa: PLR0913 (keyword-only settings)
        self,
        path: str | Path | None = None,
        *,
        host: str | None = None,
        port: int = 8000,
        client: Any = None,
        embedder: Embeddings | None = None,
        clock: Callable[[], float] = time.time,
        timeout_s: float = 2.0,
        open_timeout_s: float = 15.0,
        refresh_s: float = 2.0,
        name: str = "lessons",
    ) -> None:
        self.problems: list[str] = []
        self._reported: set[str] = set()
        self._connection = connection(path, host, port, client)
        self._embedder = adapt(embedder)
        self._clock = clock
        self._limits = {"call": timeout_s, "open": open_timeout_s}
        self._refresh_s = refresh_s
        self._name = name
        self._worker = Worker("mendgraph-memory")
        self._notes = Notebook(self._embedder.trust)
        self._shelf: Shelf | None = None
        self._closed_until = float("-inf")
        self._seen = 0.0
        self._refreshed_at: float | None = None
        self._saved_at = clock()
        self._embedding: Future[None] | None = None

    async def remember(self, lesson: Lesson) -> None:
        """Keep a lesson; the same id replaces the one before."""
        self._notes.put(lesson)
        await self._save()

    async def remember_all(self, lessons: Iterable[Lesson]) -> None:
        """Keep many lessons, a few at a time."""
        held = list(lessons)
        for start in range(0, len(held), EMBED_AT_ONCE):
            for lesson in held[start : start + EMBED_AT_ONCE]:
                self._notes.put(lesson)
            await self._save()

    async def recall(self, query: Query, limit: int = 5) -> list[Found]:
        """Return the lessons that fit best and count the hits."""
        found = (await self.explain(query, limit)).found
        now = self._clock()
        self._notes.mark_hits((hit.lesson.id for hit in found), now)
        if now - self._saved_at >= SAVE_HITS_EVERY_S:
            await self._save()
        return list(found)

    async def explain(self, query: Query, limit: int = 5) -> Explanation:
        """Search as `recall` does, without counting hits."""
        await self._refresh()
        nearest = await self._try(
            "search", lambda shelf: shelf.nearest(query.words, CANDIDATES)
        )
        if self._shelf is not None and self._shelf.rebuilt:
            self._shelf.rebuilt = False
            self._embed_missing()
        return self._notes.search(query, nearest or {}, self._clock(), limit)

    async def feedback(self, ids: Sequence[str], helped: bool | None) -> None:
        """Count that lessons were shown and helped, hurt, or neither (None)."""
        await self._refresh()
        self._notes.count(ids, helped)
        await self._save()

    async def sweep(self, now: float) -> SweepReport:
        """Forget, merge and generalise; `now` in seconds since the epoch."""
        await self._refresh()
        report = await asyncio.to_thread(self._notes.sweep, now)
        gone = (*report.forgotten, *report.merged)
        await self._try("delete", lambda shelf: shelf.delete(gone))
        await self._save()
        return report

    async def all(self) -> list[Lesson]:
        """Return every lesson, oldest first."""
        await self._refresh()
        return self._notes.all()

    async def get(self, lesson_id: str) -> Lesson | None:
        """Return one lesson."""
        await self._refresh()
        return self._notes.get(lesson_id)

    async def forget(self, lesson_id: str) -> None:
        """Delete one lesson; an unknown id is nothing to do."""
        self._notes.drop(lesson_id)
        await self._try("delete", lambda shelf: shelf.delete([lesson_id]))

    async def settled(self, limit_s: float = 600.0) -> None:
        """Wait until vectors that were missing have been made."""
        await self._refresh()
        while self._embedding is not None and not self._embedding.done():
            await self._try("embed", lambda _: None, limit_s)
        if self._embedding is not None and (error := self._embedding.exception()):
            self._report("embed", f"memory could not embed: {error}")

    async def close(self) -> None:
        """Save what is open and release the client."""
        await self._save()
        if self._shelf is not None:
            await self._try("close", lambda _: self._release())
        self._worker.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _save(self) -> None:
        """Write every unsaved lesson; what cannot be written stays unsaved."""
        mine, now = self._notes.pending(), self._clock()
        if not mine:
            return
        base = {lesson.id: self._notes.stored.get(lesson.id) for lesson in mine}
        written = await self._try("write", lambda shelf: _write(shelf, mine, base, now))
        if written is not None:
            self._notes.saved(written)
            self._saved_at = now

    async def _refresh(self) -> None:
        """Load the lessons, or what other processes changed since."""
        now, last = self._clock(), self._refreshed_at
        if last is None:
            await self._load(now)
        elif now - last >= self._refresh_s:
            await self._catch_up(now)

    async def _load(self, now: float) -> None:
        loaded = await self._try("read", _load)
        if loaded is None:
            return
        index, self._seen = loaded
        ours, self._notes = self._notes.pending(), Notebook(self._embedder.trust, index)
        for lesson in ours:
            self._notes.put(lesson)
        self._refreshed_at = now
        self._embed_missing()

    async def _catch_up(self, now: float) -> None:
        since = self._seen - CLOCK_SLACK_S
        news = await self._try(
            "read", lambda shelf: (*shelf.read(since), shelf.count())
        )
        if news is None:
            return
        lessons, self._seen, count = news
        self._notes.take(lessons)
        self._refreshed_at = now
        if count != len(self._notes.stored):
            ids = await self._try("read", lambda shelf: shelf.ids())
            if ids is not None:
                self._notes.keep_only(ids)

    def _embed_missing(self) -> None:
        """Make missing vectors in the background, a few at a time."""
        lessons = self._notes.all()

        def start(shelf: Shelf) -> None:
            step(shelf, shelf.unembedded(lessons))

        def step(shelf: Shelf, missing: list[Lesson]) -> None:
            if missing:
                shelf.embed(missing[:EMBED_AT_ONCE])
                rest = missing[EMBED_AT_ONCE:]
                again = self._worker.post(lambda: self._run(lambda s: step(s, rest)))
                self._embedding = again

        self._embedding = self._worker.post(lambda: self._run(start))

    async def _try(
        self, what: str, job: Callable[[Shelf], Value], limit_s: float | None = None
    ) -> Value | None:
        """Run a job on the open shelf; None and a problem when that fails."""
        limit = limit_s or self._limits["open" if self._shelf is None else "call"]
        try:
            return await self._worker.call(lambda: self._run(job), limit)
        except TimeoutError as error:
            self._report("slow", f"memory did not answer ({what}): {error}")
        except JobError as error:
            self._report("failed", f"memory could not {what}: {error}")
        return None

    def _run(self, job: Callable[[Shelf], Value]) -> Value:
        """Run a job; open first, and once more when the open client is of no use."""
        if self._shelf is None:
            return job(self._open())
        try:
            return job(self._shelf)
        except Exception:  # noqa: BLE001 (Chroma raises its own, sqlite's and httpx's)
            self._release()
            return job(self._open())

    def _open(self) -> Shelf:
        if self._clock() < self._closed_until:
            raise ConnectionError("storage could not be opened a moment ago")
        self._closed_until = self._clock() + REOPEN_AFTER_S
        self._shelf = Shelf(self._connection.open(), self._embedder, self._name)
        self._closed_until = float("-inf")
        return self._shelf

    def _release(self) -> None:
        shelf, self._shelf = self._shelf, None
        if shelf is not None:
            with suppress(Exception):
                self._connection.release(shelf.client)

    def _report(self, kind: str, message: str) -> None:
        if kind not in self._reported:
            self._reported.add(kind)
            self.problems.append(f"{message}. The task goes on without it.")


def _load(shelf: Shelf) -> tuple[LessonIndex, float]:
    lessons, latest = shelf.read()
    return LessonIndex(lessons), latest


def _write(
    shelf: Shelf, mine: list[Lesson], base: Mapping[str, Lesson | None], now: float
) -> list[Lesson]:
    """Write lessons over what storage holds now, and return what it holds then."""
    theirs = shelf.get([lesson.id for lesson in mine])
    merged = [
        merge_versions(base[lesson.id], lesson, theirs[lesson.id])
        if lesson.id in theirs
        else lesson
        for lesson in mine
    ]
    shelf.write(merged, now)
    shelf.embed(shelf.unembedded(merged))
    return merged
