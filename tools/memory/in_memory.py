"""Long-term memory in a dictionary, for runs that keep nothing."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from mendgraph.state.lesson import Found, Lesson
from mendgraph.tools.memory.embedder import adapt
from mendgraph.tools.memory.index import searched_text
from mendgraph.tools.memory.notebook import Notebook
from mendgraph.tools.memory.protocol import Query, SweepReport
from mendgraph.tools.memory.retrieve import CANDIDATES, Explanation


class InMemoryMemory:
    """The same ranking as the Chroma memory, without storage.

    Args:
        embedder: Any LangChain `Embeddings`; the offline hashing one by default.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        embedder: Embeddings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.problems: list[str] = []
        self._embedder = adapt(embedder)
        self._clock = clock
        self._notes = Notebook(self._embedder.trust)
        self._vectors: dict[str, Any] = {}
        self._held: tuple[list[str], Any] | None = None

    async def remember(self, lesson: Lesson) -> None:
        """Keep a lesson; the same id replaces the one before."""
        self._notes.put(lesson)
        self._held = None

    async def recall(self, query: Query, limit: int = 5) -> list[Found]:
        """Return the lessons that fit best and count the hits."""
        found = (await self.explain(query, limit)).found
        self._notes.mark_hits((hit.lesson.id for hit in found), self._clock())
        return list(found)

    async def explain(self, query: Query, limit: int = 5) -> Explanation:
        """Search as `recall` does, without counting hits."""
        nearest = self._nearest(query.words)
        return self._notes.search(query, nearest, self._clock(), limit)

    async def feedback(self, ids: Sequence[str], helped: bool | None) -> None:
        """Count that lessons were shown and helped, hurt, or neither (None)."""
        self._notes.count(ids, helped)

    async def sweep(self, now: float) -> SweepReport:
        """Forget, merge and generalise."""
        self._held = None
        return self._notes.sweep(now)

    async def all(self) -> list[Lesson]:
        """Return every lesson, oldest first."""
        return self._notes.all()

    async def get(self, lesson_id: str) -> Lesson | None:
        """Return one lesson."""
        return self._notes.get(lesson_id)

    async def forget(self, lesson_id: str) -> None:
        """Delete one lesson."""
        self._notes.drop(lesson_id)
        self._held = None

    def _nearest(self, text: str) -> dict[str, float]:
        if self._held is None:
            self._held = self._hold(list(self._notes.index.lessons.values()))
        ids, vectors = self._held
        if not ids:
            return {}
        likeness = vectors @ np.asarray(self._embedder.query(text), dtype=np.float32)
        best = np.argsort(-likeness, kind="stable")[:CANDIDATES]
        return {ids[row]: float(likeness[row]) for row in best}

    def _hold(self, lessons: list[Lesson]) -> tuple[list[str], Any]:
        """Return ids and one row of the matrix for each, embedding what is new."""
        texts = {lesson.id: searched_text(lesson) for lesson in lessons}
        known = self._vectors
        new = [key for key, text in texts.items() if text not in known]
        vectors = self._embedder.passages([texts[key] for key in new]) if new else []
        for key, vector in zip(new, vectors, strict=True):
            known[texts[key]] = np.asarray(vector, dtype=np.float32)
        self._vectors = {text: known[text] for text in texts.values()}
        rows = [known[text] for text in texts.values()]
        return list(texts), np.stack(rows) if rows else np.zeros((0, 1))
