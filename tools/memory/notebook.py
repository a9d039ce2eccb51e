"""What every memory does with lessons in hand: count, mark, search, plan sweeps."""

from collections.abc import Iterable, Mapping

from mendgraph.state.lesson import Lesson
from mendgraph.tools.memory.index import LessonIndex
from mendgraph.tools.memory.protocol import Query, SweepReport
from mendgraph.tools.memory.retrieve import Explanation, search
from mendgraph.tools.memory.sweep import plan_sweep

COUNTERS = ("hits", "injected", "helped", "hurt")


def merge_versions(base: Lesson | None, mine: Lesson, theirs: Lesson) -> Lesson:
    """Merge two changes of one lesson: counts add up, else the one that changed wins.

    Args:
        base: The version both started from, when known.
        mine: Our version.
        theirs: The version in storage now.
    """
    if base is None or base == theirs:
        return mine
    counts = {
        name: getattr(theirs, name) + getattr(mine, name) - getattr(base, name)
        for name in COUNTERS
    }
    unchanged = {
        name: getattr(theirs, name)
        for name in type(mine).model_fields
        if getattr(mine, name) == getattr(base, name)
    }
    hits = [at for at in (mine.last_hit_at, theirs.last_hit_at) if at is not None]
    last = {"last_hit_at": max(hits) if hits else None}
    return mine.model_copy(update={**unchanged, **counts, **last})


class Notebook:
    """Lessons held in the process, indexed, with what changed since the last save.

    Args:
        trust: Weight of the vector leg in searches.
        index: The lessons storage holds.
    """

    def __init__(self, trust: float, index: LessonIndex | None = None) -> None:
        self._trust = trust
        self.index = index or LessonIndex()
        self.unsaved: set[str] = set()
        self.stored: dict[str, Lesson] = dict(self.index.lessons)
        """Each lesson as storage was last seen to hold it."""

    def get(self, lesson_id: str) -> Lesson | None:
        """Return one lesson."""
        return self.index.lessons.get(lesson_id)

    def all(self) -> list[Lesson]:
        """Return every lesson, oldest first."""
        lessons = self.index.lessons.values()
        return sorted(lessons, key=lambda item: (item.created_at, item.id))

    def put(self, lesson: Lesson) -> None:
        """Add or replace a lesson that is yet to be saved."""
        self.index.put(lesson)
        self.unsaved.add(lesson.id)

    def take(self, lessons: Iterable[Lesson]) -> None:
        """Take over what storage holds; changes of ours that are unsaved are kept."""
        for lesson in lessons:
            mine, base = self.get(lesson.id), self.stored.get(lesson.id)
            if lesson.id in self.unsaved and mine is not None:
                self.index.put(merge_versions(base, mine, lesson))
            else:
                self.index.put(lesson)
            self.stored[lesson.id] = lesson

    def saved(self, lessons: Iterable[Lesson]) -> None:
        """Note that storage now holds these versions."""
        for lesson in lessons:
            if self.get(lesson.id) is not None:
                self.index.put(lesson)
                self.stored[lesson.id] = lesson
                self.unsaved.discard(lesson.id)

    def pending(self) -> list[Lesson]:
        """Return what is to be saved."""
        return self._known(sorted(self.unsaved))

    def drop(self, lesson_id: str) -> None:
        """Forget a lesson."""
        self.index.drop(lesson_id)
        self.stored.pop(lesson_id, None)
        self.unsaved.discard(lesson_id)

    def keep_only(self, ids: set[str]) -> None:
        """Drop what was stored once and is not among the ids any more."""
        for gone in self.stored.keys() - ids:
            self.drop(gone)

    def search(
        self, query: Query, nearest: Mapping[str, float], now: float, limit: int
    ) -> Explanation:
        """Rank the lessons for a query."""
        return search(self.index, query, nearest, now, limit, self._trust)

    def mark_hits(self, ids: Iterable[str], now: float) -> None:
        """Count that lessons were found."""
        for lesson in self._known(ids):
            self.put(lesson.model_copy(update=_hit(lesson, now)))

    def count(self, ids: Iterable[str], helped: bool | None) -> None:
        """Count that lessons were shown and helped, hurt, or neither (None)."""
        for lesson in self._known(ids):
            used = {
                "injected": lesson.injected + 1,
                "helped": lesson.helped + (helped is True),
                "hurt": lesson.hurt + (helped is False),
            }
            self.put(lesson.model_copy(update=used))

    def sweep(self, now: float) -> SweepReport:
        """Apply a sweep and say what it did."""
        kept, report = plan_sweep(self.index.lessons.values(), now)
        for lesson in kept:
            if self.get(lesson.id) != lesson:
                self.put(lesson)
        for gone in (*report.forgotten, *report.merged):
            self.drop(gone)
        return report

    def _known(self, ids: Iterable[str]) -> list[Lesson]:
        return [lesson for key in ids if (lesson := self.get(key)) is not None]


def _hit(lesson: Lesson, now: float) -> dict[str, float | int]:
    return {"hits": lesson.hits + 1, "last_hit_at": now}
