"""Pure arithmetic of retrieval: BM25, reciprocal rank fusion, age and usefulness.

BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009);
fusion as in Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion" (SIGIR 2009).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

SATURATION = 1.2
"""BM25 k1: how fast a repeated word stops to count."""
LENGTH_SHARE = 0.5
"""BM25 b: lessons are short, so their length says less than a page's would."""
FUSION = 10.0
"""The constant of reciprocal rank fusion; small because lists are short."""
HALF_LIFE_DAYS = 90.0
AGE_FLOOR = 0.5
"""An old lesson keeps at least this share of its weight."""
DAY_S = 86_400.0
PRIOR_USES = 4.0
"""Uses a lesson is assumed to have had, half of them helpful."""
OLDER_SIDE = 0.8
"""Weight of the older of two contradicting lessons while outcomes are open."""
LOSING_SIDE = 0.4
"""Weight of the one that outcomes speak against."""
OUTCOMES_DECIDE = 3
"""Outcomes each side needs before they decide between contradicting lessons."""


def inverse_frequency(documents: float, having: float) -> float:
    """Return BM25's weight of a word found in `having` of `documents` texts."""
    return math.log1p((documents - having + 0.5) / (having + 0.5))


def saturation(frequency: Any, length: Any, average: float) -> Any:
    """Return BM25's factor for a word's frequency in a text of `length` words.

    Frequency and length are numbers, or arrays of the same shape.
    """
    relative = length / (average or 1.0)
    norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * relative)
    return frequency * (SATURATION + 1) / (frequency + norm)


def competition_ranks(scores: Mapping[str, float]) -> dict[str, int]:
    """Rank ids by score, best first; equal scores share the better rank."""
    ordered = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    ranks: dict[str, int] = {}
    previous, rank = math.inf, 0
    for position, (key, score) in enumerate(ordered, start=1):
        if score < previous:
            previous, rank = score, position
        ranks[key] = rank
    return ranks


def fuse(
    legs: Mapping[str, Mapping[str, int]], weights: Mapping[str, float]
) -> dict[str, float]:
    """Fuse ranked lists: the sum of weight / (constant + rank) over the legs.

    Args:
        legs: Leg name → id → rank, 1 is best.
        weights: Leg name → weight; a leg without one counts 1.
    """
    fused: dict[str, float] = {}
    for name, ranks in legs.items():
        weight = weights.get(name, 1.0)
        for key, rank in ranks.items():
            fused[key] = fused.get(key, 0.0) + weight / (FUSION + rank)
    return fused


def age_weight(age_s: float, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """Return the weight, 0.5..1, of a lesson last confirmed `age_s` seconds ago."""
    days = max(age_s, 0.0) / DAY_S
    return float(AGE_FLOOR + (1 - AGE_FLOOR) * 0.5 ** (days / half_life_days))


def help_rate(helped: int, hurt: int, injected: int) -> float:
    """Return the smoothed share, 0..1, of uses in which a lesson helped.

    Being shown without helping counts a quarter of a use that hurt.
    """
    idle = max(injected - helped - hurt, 0)
    uses = helped + hurt + 0.25 * idle
    return (helped + PRIOR_USES / 2) / (uses + PRIOR_USES)


def usefulness_weight(helped: int, hurt: int, injected: int) -> float:
    """Return the multiplier, 0..1.5, for a record of use; 1 when there is none."""
    rate = help_rate(helped, hurt, injected)
    return 2 * rate if rate < 0.5 else 0.5 + rate  # noqa: PLR2004 (the neutral rate)


def contradiction_weights(
    older: tuple[int, int], newer: tuple[int, int]
) -> tuple[float, float]:
    """Return weights for the older and the newer of two contradicting lessons.

    The newer weighs more until both have three outcomes; then the outcomes decide.

    Args:
        older: Times the older one helped and hurt.
        newer: The same of the newer one.
    """
    if min(sum(older), sum(newer)) < OUTCOMES_DECIDE:
        return OLDER_SIDE, 1.0
    first, second = (help_rate(h, b, h + b) for h, b in (older, newer))
    if math.isclose(first, second):
        return OLDER_SIDE, 1.0
    return (1.0, LOSING_SIDE) if first > second else (LOSING_SIDE, 1.0)


def reciprocal_rank(found: Sequence[str], wanted: frozenset[str]) -> float:
    """Return 1 / rank of the first wanted id, 0 when none was found."""
    for rank, key in enumerate(found, start=1):
        if key in wanted:
            return 1 / rank
    return 0.0
