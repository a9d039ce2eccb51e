"""The Chroma side of memory: blocking calls on two collections.

`NAME` holds the lessons themselves (document and metadata) and does not depend on the
embedder. `NAME-vectors-…` holds their vectors, one collection per embedder. So another
embedder, or a damaged vector index, costs a re-index and never a lesson.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from pydantic import ValidationError

from mendgraph.state.lesson import Lesson
from mendgraph.tools.memory.embedder import Embedder
from mendgraph.tools.memory.index import searched_text

COSINE = {"hnsw": {"space": "cosine"}}
NO_VECTOR = [1.0]
"""Chroma wants a vector with every record; lessons proper carry this one."""
FILTERED = ("signature", "tool", "tool_class", "domain", "category", "subclass")
"""Fields that are also plain metadata, for people who look into the collection."""


def digest(text: str) -> str:
    """Return 16 hex digits that identify a text."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


class Shelf:
    """Two open collections. Every method blocks and may raise what Chroma raises.

    Args:
        client: An open client.
        embedder: Makes the vectors.
        name: Name of the collection of lessons.
    """

    def __init__(self, client: Any, embedder: Embedder, name: str) -> None:
        self.client = client
        self.rebuilt = False
        """Whether vectors were dropped because they did not fit the embedder."""
        self._embedder = embedder
        self._name = name
        self._batch = int(self.client.get_max_batch_size())
        self._lessons = self._collection(name)
        self._open_vectors()

    def _collection(self, name: str) -> Any:
        # Our vectors are always given; Chroma's own embedder would download a model.
        return self.client.get_or_create_collection(
            name, embedding_function=None, configuration=COSINE
        )

    def _open_vectors(self) -> None:
        self._vectors_name = f"{self._name}-vectors-{digest(self._embedder.name)}"
        self._vectors = self._collection(self._vectors_name)

    def count(self) -> int:
        """Return how many lessons are stored."""
        return int(self._lessons.count())

    def ids(self) -> set[str]:
        """Return the ids of all lessons."""
        return set(self._lessons.get(include=[])["ids"])

    def get(self, ids: Sequence[str]) -> dict[str, Lesson]:
        """Return the stored lessons among the ids."""
        found: dict[str, Lesson] = {}
        for batch in _batches(list(ids), self._batch):
            rows = self._lessons.get(ids=batch, include=["metadatas"])["metadatas"]
            found.update({lesson.id: lesson for lesson in _lessons(rows or [])})
        return found

    def read(self, changed_after: float | None = None) -> tuple[list[Lesson], float]:
        """Return lessons written after a moment, and the latest moment seen.

        Records that do not hold a lesson are passed over.
        """
        where = None
        if changed_after is not None:
            where = {"written_at": {"$gt": changed_after}}
        rows = self._lessons.get(where=where, include=["metadatas"])["metadatas"] or []
        latest = max((float(row.get("written_at", 0.0)) for row in rows), default=0.0)
        return list(_lessons(rows)), max(latest, changed_after or 0.0)

    def write(self, lessons: Sequence[Lesson], now: float) -> None:
        """Insert or replace lessons; the last of one id wins."""
        unique = list({lesson.id: lesson for lesson in lessons}.values())
        for batch in _batches(unique, self._batch):
            self._lessons.upsert(
                ids=[lesson.id for lesson in batch],
                embeddings=[NO_VECTOR] * len(batch),
                documents=[searched_text(lesson) for lesson in batch],
                metadatas=[_metadata(lesson, now) for lesson in batch],
            )

    def delete(self, ids: Sequence[str]) -> None:
        """Delete lessons with their vectors."""
        for batch in _batches(list(ids), self._batch):
            self._lessons.delete(ids=batch)
            self._vectors.delete(ids=batch)

    def unembedded(self, lessons: Iterable[Lesson]) -> list[Lesson]:
        """Return the lessons whose vector is missing or of another text."""
        found: list[Lesson] = []
        for batch in _batches(list(lessons), self._batch):
            ids = [lesson.id for lesson in batch]
            held = self._vectors.get(ids=ids, include=["metadatas"])
            rows = zip(held["ids"], held["metadatas"] or [], strict=True)
            known = {key: (row or {}).get("text") for key, row in rows}
            found += [item for item in batch if known.get(item.id) != _text_of(item)]
        return found

    def embed(self, lessons: Sequence[Lesson]) -> None:
        """Write the vectors of lessons."""
        for batch in _batches(list(lessons), self._batch):
            vectors = self._embedder.passages([searched_text(item) for item in batch])
            ids = [lesson.id for lesson in batch]
            marks = [{"text": _text_of(lesson)} for lesson in batch]
            self._fitting(ids, vectors, marks)

    def nearest(self, text: str, limit: int) -> dict[str, float]:
        """Return id → cosine similarity of the lessons nearest to a text."""
        vector = self._embedder.query(text)
        try:
            found = self._vectors.query(
                query_embeddings=[vector],
                n_results=limit,
                include=["distances"],
            )
        except Exception as error:  # noqa: BLE001 (its class differs by client)
            self._rebuild_if_unfit(error)
            return {}
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return {key: 1.0 - float(distance) for key, distance in pairs}

    def _fitting(
        self, ids: list[str], vectors: list[list[float]], marks: list[dict[str, str]]
    ) -> None:
        try:
            self._vectors.upsert(ids=ids, embeddings=vectors, metadatas=marks)
        except Exception as error:  # noqa: BLE001 (its class differs by client)
            self._rebuild_if_unfit(error)
            self._vectors.upsert(ids=ids, embeddings=vectors, metadatas=marks)

    def _rebuild_if_unfit(self, error: Exception) -> None:
        """Start the vectors anew when they have another dimension, else raise."""
        if "dimension" not in str(error).lower():
            raise error
        self.client.delete_collection(self._vectors_name)
        self._open_vectors()
        self.rebuilt = True


def _text_of(lesson: Lesson) -> str:
    return digest(searched_text(lesson))


def _metadata(lesson: Lesson, now: float) -> dict[str, Any]:
    plain = {name: getattr(lesson, name) for name in FILTERED}
    known = {name: value for name, value in plain.items() if value is not None}
    return {**known, "written_at": now, "lesson": lesson.model_dump_json()}


def _lessons(rows: Iterable[Any]) -> Iterator[Lesson]:
    for row in rows:
        try:
            yield Lesson.model_validate_json((row or {}).get("lesson", ""))
        except ValidationError:
            continue


def _batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
