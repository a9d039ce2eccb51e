"""An incremental index over lessons in memory: BM25 words and signature parts."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from mendgraph.state.lesson import Lesson
from mendgraph.state.ranking import inverse_frequency, saturation
from mendgraph.tools.memory.protocol import Query
from mendgraph.tools.memory.words import kept_words, weighted_words

Scores = NDArray[np.float32]

SAME_TOOL, SAME_CLASS, SAME_FAULT, SAME_SIGNATURE = 1.0, 0.6, 0.4, 0.5
"""What each shared part adds to the signature leg."""
MOST_PER_WORD = 2.0
"""A word repeated in the query counts at most this often."""
DEAD_SHARE = 0.25
"""Rebuild when this share of the rows has been deleted or replaced."""
SMALLEST_REBUILD = 64
"""Fewer dead rows than this are never worth a rebuild."""


def searched_text(lesson: Lesson) -> str:
    """Return what of a lesson is searched and embedded."""
    parts = (
        lesson.text,
        lesson.issue,
        lesson.strategy,
        lesson.task,
        " ".join(filter(None, (lesson.tool, lesson.tool_class, lesson.domain))),
        f"{lesson.category} {lesson.subclass}".replace("_", " "),
    )
    return "\n".join(part for part in parts if part)


def signature_parts(lesson: Lesson) -> Iterator[tuple[str, float]]:
    """Yield the keys a lesson answers to in the signature leg, with their worth."""
    if lesson.tool:
        yield f"tool={lesson.tool}", SAME_TOOL
    if lesson.tool_class:
        yield f"class={lesson.tool_class}", SAME_CLASS
    yield f"fault={lesson.category}:{lesson.subclass}", SAME_FAULT
    yield f"signature={lesson.signature}", SAME_SIGNATURE


def wanted_parts(query: Query) -> set[str]:
    """Return the signature keys a query asks for."""
    faults = {":".join(item.split(":")[:2]) for item in query.signatures}
    by_class = (f"{fault}:{name}" for fault in faults for name in query.tool_classes)
    return {
        *(f"tool={tool}" for tool in query.tools),
        *(f"class={name}" for name in query.tool_classes),
        *(f"fault={fault}" for fault in faults),
        *(f"signature={item}" for item in (*query.signatures, *by_class)),
    }


class _Postings:
    """Rows that have a key and its weight in each, as arrays when read."""

    __slots__ = ("_arrays", "rows", "weights")

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.weights: list[float] = []
        self._arrays: tuple[NDArray[np.int64], Scores] | None = None

    def add(self, row: int, weight: float) -> None:
        self.rows.append(row)
        self.weights.append(weight)
        self._arrays = None

    def arrays(self) -> tuple[NDArray[np.int64], Scores]:
        if self._arrays is None:
            rows = np.asarray(self.rows, dtype=np.int64)
            self._arrays = rows, np.asarray(self.weights, dtype=np.float32)
        return self._arrays


class LessonIndex:
    """Lessons by id, and scores of all of them for a query."""

    def __init__(self, lessons: Iterable[Lesson] = ()) -> None:
        self._clear()
        for lesson in lessons:
            self.put(lesson)

    def _clear(self) -> None:
        self.lessons: dict[str, Lesson] = {}
        self._rows: dict[str, int] = {}
        self._ids: list[str | None] = []
        self._lengths: list[float] = []
        self._words: dict[str, _Postings] = {}
        self._parts: dict[str, _Postings] = {}
        self._counts: dict[int, dict[str, float]] = {}
        self._dense: Scores | None = None

    def put(self, lesson: Lesson) -> None:
        """Add a lesson, or replace the one with its id."""
        before = self.lessons.get(lesson.id)
        self.lessons[lesson.id] = lesson
        if before is not None and _indexed_alike(before, lesson):
            return
        if before is not None:
            self._bury(lesson.id)
        row = len(self._ids)
        self._ids.append(lesson.id)
        self._rows[lesson.id] = row
        words = weighted_words(searched_text(lesson))
        self._lengths.append(sum(words.values()))
        self._dense = None
        for word, weight in words.items():
            self._words.setdefault(word, _Postings()).add(row, weight)
        for part, weight in signature_parts(lesson):
            self._parts.setdefault(part, _Postings()).add(row, weight)

    def drop(self, lesson_id: str) -> None:
        """Forget a lesson; an unknown id is nothing to do."""
        if self.lessons.pop(lesson_id, None) is None:
            return
        self._bury(lesson_id)
        dead = len(self._ids) - len(self._rows)
        if dead >= SMALLEST_REBUILD and dead > DEAD_SHARE * len(self._ids):
            lessons = list(self.lessons.values())
            self._clear()
            for lesson in lessons:
                self.put(lesson)

    def _bury(self, lesson_id: str) -> None:
        self._ids[self._rows.pop(lesson_id)] = None

    def keyword_scores(self, query: Query) -> Scores:
        """Return the BM25 score of every row for the query's words."""
        scores = np.zeros(len(self._ids), dtype=np.float32)
        if not self._rows:
            return scores
        lengths = self._length_array()
        average = float(lengths.sum()) / len(lengths)
        for word, times in weighted_words(query.words).items():
            postings = self._words.get(word)
            if postings is None:
                continue
            rows, weights = postings.arrays()
            rarity = inverse_frequency(len(self._ids), len(rows))
            factor = saturation(weights, lengths[rows], average)
            scores[rows] += np.float32(min(times, MOST_PER_WORD) * rarity) * factor
        return scores

    def signature_scores(self, query: Query) -> Scores:
        """Return the sum of shared signature parts of every row."""
        scores = np.zeros(len(self._ids), dtype=np.float32)
        for part in wanted_parts(query):
            if postings := self._parts.get(part):
                rows, weights = postings.arrays()
                scores[rows] += weights
        return scores

    def best(self, scores: Scores, limit: int) -> dict[str, float]:
        """Return id → score of the best living rows with a score above zero."""
        count = min(limit + len(self._ids) - len(self._rows), len(scores))
        if not count:
            return {}
        rows = np.argpartition(-scores, count - 1)[:count]
        ordered = rows[np.argsort(-scores[rows], kind="stable")]
        pairs = ((self._ids[row], float(scores[row])) for row in ordered)
        living = {key: score for key, score in pairs if key and score > 0}
        return dict(list(living.items())[:limit])

    def shared_words(self, query: Query, lesson: Lesson, most: int = 4) -> list[str]:
        """Return the words that query and lesson share, the rarest first."""
        mine = kept_words(searched_text(lesson))
        both = [word for word in kept_words(query.words) if word in mine]
        rare = sorted(both, key=lambda word: len(self._words[word].rows))
        return [word.lstrip("~") for word in rare][:most]

    def _length_array(self) -> Scores:
        if self._dense is None:
            self._dense = np.asarray(self._lengths, dtype=np.float32)
        return self._dense


def _indexed_alike(first: Lesson, second: Lesson) -> bool:
    """Tell whether two versions of a lesson are found by the same words and parts."""
    return (
        searched_text(first) == searched_text(second)
        and first.signature == second.signature
    )
