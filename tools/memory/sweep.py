"""Decide what a sweep changes: forget, merge, generalise (F50). Decides only."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

from mendgraph.state.lesson import Lesson
from mendgraph.state.ranking import DAY_S
from mendgraph.tools.memory.likeness import opposed, overlap
from mendgraph.tools.memory.protocol import SweepReport

FORGET_AFTER_S = 30 * DAY_S
NEAR_DUPLICATE = 0.8
"""Overlap of two texts from which they are one lesson."""
SHARED_LESSON = 0.6
"""Overlap from which tools of one class share a lesson."""


def plan_sweep(
    lessons: Iterable[Lesson], now: float
) -> tuple[list[Lesson], SweepReport]:
    """Return the lessons to keep, changed where need be, and what was decided.

    Args:
        lessons: Every lesson.
        now: Seconds since the epoch.
    """
    everything = sorted(lessons, key=lambda item: (item.created_at, item.id))
    fresh = [item for item in everything if not _forgotten(item, now)]
    kept_ids = {item.id for item in fresh}
    merged, absorbed = _merge(fresh)
    general, changed = _generalise(merged)
    kept, joined = _merge(general)
    return kept, SweepReport(
        kept=len(kept),
        forgotten=tuple(item.id for item in everything if item.id not in kept_ids),
        merged={**absorbed, **joined},
        generalised=changed,
    )


def _forgotten(lesson: Lesson, now: float) -> bool:
    """Not hit in thirty days and never of help."""
    last = max(lesson.created_at, lesson.last_hit_at or 0.0)
    return lesson.helped == 0 and now - last > FORGET_AFTER_S


def _merge(lessons: list[Lesson]) -> tuple[list[Lesson], dict[str, str]]:
    """Merge near-duplicates of one fault; the newer text stays, both stay on record."""
    groups: dict[tuple[str, str, str], list[Lesson]] = defaultdict(list)
    absorbed: dict[str, str] = {}
    for lesson in reversed(lessons):
        owner = lesson.tool_class or lesson.tool or ""
        group = groups[lesson.category, lesson.subclass, owner]
        for position, other in enumerate(group):
            if _duplicates(other, lesson):
                group[position] = _joined(other, lesson)
                absorbed[lesson.id] = other.id
                break
        else:
            group.append(lesson)
    kept = [lesson for group in groups.values() for lesson in group]
    return sorted(kept, key=lambda item: (item.created_at, item.id)), absorbed


def _duplicates(first: Lesson, second: Lesson) -> bool:
    """Near-identical advice under one signature; opposites are never merged."""
    if first.signature != second.signature or opposed(first.text, second.text):
        return False
    return overlap(first.text, second.text) >= NEAR_DUPLICATE


def _joined(kept: Lesson, gone: Lesson) -> Lesson:
    hits = [at for at in (kept.last_hit_at, gone.last_hit_at) if at is not None]
    return kept.but(
        tool=kept.tool if kept.tool == gone.tool else None,
        provenance=tuple(dict.fromkeys((*kept.provenance, gone.id, *gone.provenance))),
        hits=kept.hits + gone.hits,
        injected=kept.injected + gone.injected,
        helped=kept.helped + gone.helped,
        hurt=kept.hurt + gone.hurt,
        last_hit_at=max(hits) if hits else None,
        issue=kept.issue or gone.issue,
        rehearsed=kept.rehearsed and gone.rehearsed,
    )


def _generalise(lessons: list[Lesson]) -> tuple[list[Lesson], tuple[str, ...]]:
    """Sign a lesson that two tools of one class share with the class."""
    groups: dict[tuple[str, str, str], list[Lesson]] = defaultdict(list)
    for lesson in lessons:
        if lesson.tool_class and lesson.signature != _class_signature(lesson):
            key = (lesson.category, lesson.subclass, lesson.tool_class)
            groups[key].append(lesson)
    shared = {
        item.id
        for group in groups.values()
        for pair in combinations(group, 2)
        if _shared(*pair)
        for item in pair
    }
    out = [
        item.but(signature=_class_signature(item)) if item.id in shared else item
        for item in lessons
    ]
    return out, tuple(sorted(shared))


def _shared(first: Lesson, second: Lesson) -> bool:
    if first.tool == second.tool or opposed(first.text, second.text):
        return False
    return overlap(first.text, second.text) >= SHARED_LESSON


def _class_signature(lesson: Lesson) -> str:
    return f"{lesson.category}:{lesson.subclass}:{lesson.tool_class}"
