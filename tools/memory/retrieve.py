"""Hybrid retrieval: three legs, one fused ranking, the reasons for each hit (F49)."""

from collections.abc import Mapping, Sequence

from mendgraph.state.lesson import Found, Lesson
from mendgraph.state.ranking import (
    DAY_S,
    age_weight,
    competition_ranks,
    contradiction_weights,
    fuse,
    usefulness_weight,
)
from mendgraph.state.record import Record
from mendgraph.tools.memory.index import LessonIndex
from mendgraph.tools.memory.likeness import contradictions
from mendgraph.tools.memory.protocol import Query

CANDIDATES = 50
"""The best of each leg that take part in the fusion."""
LEG_WEIGHTS = {"keyword": 1.0, "signature": 0.9}
CONTRADICTION_DEPTH = 12
"""Best candidates among which contradictions are looked for."""
TIE_BREAK = 1e-3
"""Share of the keyword score that decides between equal signatures."""


class Explanation(Record):
    """What a search looked at (`mendgraph memory search --explain`)."""

    query: Query
    legs: dict[str, dict[str, int]]
    """Leg → lesson id → rank."""
    found: tuple[Found, ...]


def legs_of(
    index: LessonIndex, query: Query, nearest: Mapping[str, float]
) -> dict[str, dict[str, int]]:
    """Return the ranks in each leg that has something to say.

    Args:
        index: Every lesson.
        query: What is wanted.
        nearest: Id → similarity of the vector leg's candidates.
    """
    keyword = index.keyword_scores(query)
    signature = index.signature_scores(query)
    peak = float(keyword.max()) if len(keyword) else 0.0
    tied = signature + (signature > 0) * keyword * (TIE_BREAK / (peak or 1.0))
    exact = {key: round(s, 2) for key, s in index.best(tied, CANDIDATES).items()}
    known = {key: s for key, s in nearest.items() if key in index.lessons}
    scores = {
        "vector": known,
        "keyword": index.best(keyword, CANDIDATES),
        "signature": exact,
    }
    return {name: competition_ranks(leg) for name, leg in scores.items() if leg}


def search(
    index: LessonIndex,
    query: Query,
    nearest: Mapping[str, float],
    now: float,
    limit: int = 5,
    trust: float = 1.0,
) -> Explanation:
    """Rank lessons for a query and say why each was found.

    Args:
        index: Every lesson.
        query: What is wanted.
        nearest: Id → similarity of the vector leg's candidates.
        now: Seconds since the epoch.
        limit: How many are wanted.
        trust: Weight of the vector leg; the keywords count 1.
    """
    legs = legs_of(index, query, nearest)
    fused = fuse(legs, {**LEG_WEIGHTS, "vector": trust})
    weights = {key: _weights(index.lessons[key], now) for key in fused}
    first = {key: fused[key] * _product(weights[key]) for key in fused}
    ordered = sorted(first, key=lambda key: (-first[key], key))[:CONTRADICTION_DEPTH]
    disputes = _disputes([index.lessons[key] for key in ordered])
    for key, (factor, _) in disputes.items():
        weights[key]["contradiction"] = factor
    scores = {key: fused[key] * _product(weights[key]) for key in first}
    best = sorted(scores, key=lambda key: (-scores[key], key))[:limit]
    found = tuple(
        Found(
            lesson=index.lessons[key],
            score=scores[key],
            ranks={name: ranks[key] for name, ranks in legs.items() if key in ranks},
            weights=weights[key],
            why=_why(index, query, key, legs, now, disputes),
        )
        for key in best
    )
    return Explanation(query=query, legs=legs, found=found)


def merge(pulls: Sequence[Sequence[Found]], limit: int) -> list[Found]:
    """Merge the hits of several pulls into one list without duplicates.

    Pulls take turns by rank, so every step of a draft is served; a lesson that several
    pulls found goes by the sum of its reciprocal ranks.
    """
    ranks = {
        str(number): {hit.lesson.id: rank for rank, hit in enumerate(pull, start=1)}
        for number, pull in enumerate(pulls)
    }
    hits = {hit.lesson.id: hit for pull in reversed(pulls) for hit in reversed(pull)}
    fused = fuse(ranks, {})
    return [hits[key] for key in sorted(fused, key=lambda k: (-fused[k], k))[:limit]]


def _weights(lesson: Lesson, now: float) -> dict[str, float]:
    confirmed = max(lesson.created_at, lesson.last_hit_at or 0.0)
    use = usefulness_weight(lesson.helped, lesson.hurt, lesson.injected)
    return {"age": age_weight(now - confirmed), "usefulness": use}


def _product(weights: Mapping[str, float]) -> float:
    product = 1.0
    for weight in weights.values():
        product *= weight
    return product


def _disputes(lessons: list[Lesson]) -> dict[str, tuple[float, str]]:
    """Return id → (weight, the other's id) of lessons that contradict one another."""
    found: dict[str, tuple[float, str]] = {}
    for old, new in contradictions(lessons):
        pair = contradiction_weights((old.helped, old.hurt), (new.helped, new.hurt))
        found[old.id] = pair[0], new.id
        found[new.id] = pair[1], old.id
    return found


def _why(
    index: LessonIndex,
    query: Query,
    key: str,
    legs: Mapping[str, Mapping[str, int]],
    now: float,
    disputes: Mapping[str, tuple[float, str]],
) -> str:
    lesson = index.lessons[key]
    ranks = [f"{name} {ranks[key]}" for name, ranks in legs.items() if key in ranks]
    said = [f"rank by {', '.join(ranks)}"]
    if shared := index.shared_words(query, lesson):
        said.append(f"shares {', '.join(shared)}")
    if lesson.tool in query.tools:
        said.append(f"same tool {lesson.tool}")
    elif lesson.tool_class in query.tool_classes:
        said.append(f"same tool class {lesson.tool_class}")
    if lesson.signature in query.signatures:
        said.append("same failure signature")
    said.append(f"{max(now - lesson.created_at, 0) / DAY_S:.0f} days old")
    if lesson.injected or lesson.helped or lesson.hurt:
        said.append(f"helped {lesson.helped}, hurt {lesson.hurt} of {lesson.injected}")
    if key in disputes:
        factor, other = disputes[key]
        said.append(f"contradicts {other} (weight {factor:g})")
    return "; ".join(said)
