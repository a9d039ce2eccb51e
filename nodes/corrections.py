"""Which correction follows a failure: the tiers as a table of guarded moves (F34, F40).

The matrix says where a class of failure starts; the tiers say how far it may go. The
first move whose guard holds is taken. Pure: everything it looks at is an argument.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mendgraph.state.correction import Action, Correction, Row, Trigger, look_up
from mendgraph.state.failure import (
    Category,
    Classification,
    Failure,
    Reaction,
    Subclass,
)
from mendgraph.state.outcome import Attempt, Tier
from mendgraph.state.waits import backoff

TIER_LIMITS: dict[Tier, int] = {Tier.TIER1: 2, Tier.TIER2: 2, Tier.TIER3: 1}
"""Attempts each tier has per step (7.1)."""
RATE_LIMIT_TRIES = 3
"""A rate limit without a stated wait is given 5, 10 and 15 s (7.2)."""
UNAVAILABLE_TRIES = 3
"""After three 503 in a row another service is taken (7.2)."""
TIMEOUT_FACTOR = 1.5
"""A timeout raises the next limit by this factor (7.2)."""
REFUSED_RULES = frozenset({"authorisation", "person"})
"""Failures that are somebody's word; no retry changes them."""

CHANGEABLE = frozenset(
    {Reaction.ADJUST_PARAMS, Reaction.PROBE_FIRST, Reaction.BACKOFF, Reaction.FALLBACK}
)
"""Reactions after which other arguments may help."""


@dataclass(frozen=True)
class Situation:
    """What the decision looks at."""

    trigger: Trigger
    failures: Sequence[Failure]
    attempts: Sequence[Attempt]
    matrix: tuple[Row, ...]
    has_model: bool
    has_fallback: bool
    has_ready_patch: bool
    """A distilled rule, a strategy or a resolved snapshot may mend it."""
    healthy: bool
    """The service's health window is good (F36)."""
    retries_left: bool
    corrections_left: bool

    @property
    def failure(self) -> Failure:
        """The newest failure."""
        return self.failures[-1]

    @property
    def verdict(self) -> Classification:
        """Its class."""
        return self.failure.classification

    def used(self, tier: Tier) -> int:
        """Attempts made in a tier."""
        return sum(1 for attempt in self.attempts if attempt.tier is tier)

    def left(self, tier: Tier) -> bool:
        """Whether a tier has attempts left."""
        return self.used(tier) < TIER_LIMITS[tier]

    @property
    def row(self) -> Row:
        """The matrix row for it."""
        return look_up(self.trigger, self.verdict.category, self.matrix)


def _is_timeout(verdict: Classification) -> bool:
    return "timeout" in verdict.rule or "timed out" in verdict.reason.lower()


def tier1_allowed(now: Situation) -> bool:
    """The same call again: transient, healthy service, tries left."""
    verdict = now.verdict
    limited = verdict.subclass is Subclass.RATE_LIMITED
    tries = RATE_LIMIT_TRIES if limited else TIER_LIMITS[Tier.TIER1]
    enough = now.used(Tier.TIER1) < tries
    return verdict.transient and now.healthy and enough and now.retries_left


def tier2_allowed(now: Situation) -> bool:
    """Other arguments: the class is one that they can mend, and somebody can propose."""
    verdict = now.verdict
    changes = now.row.action is Action.CHANGE_ARGUMENTS
    fits = changes or verdict.reaction is Reaction.ADJUST_PARAMS
    advised = now.has_model or now.has_ready_patch
    stuck = verdict.reaction in {Reaction.ASK_USER, Reaction.NO_RETRY}
    possible = fits and advised and not stuck
    return possible and now.healthy and now.left(Tier.TIER2) and now.retries_left


def tier3_allowed(now: Situation) -> bool:
    """The fallback, once."""
    planned = now.verdict.category in {Category.PLAN, Category.REQUIREMENT}
    return (
        now.has_fallback and now.left(Tier.TIER3) and now.retries_left and not planned
    )


def reflect_allowed(now: Situation) -> bool:
    """A deep look, while corrections are left."""
    return now.corrections_left


def wait_before(now: Situation) -> float:
    """Seconds to wait before the same call again: stated, else by class and try."""
    verdict, facts = now.verdict, now.failure.facts
    if verdict.wait_s is not None and verdict.reaction is not Reaction.ADJUST_PARAMS:
        return verdict.wait_s
    return backoff(verdict.subclass, facts.http_status, now.used(Tier.TIER1) + 1)


def _same(now: Situation) -> Correction:
    wait = wait_before(now)
    reason = f"transient ({now.verdict.reason}); the same call after {wait:g} s"
    return Correction(
        action=Action.RETRY_SAME, tier="tier1", wait_s=wait, reason=reason
    )


def _change(now: Situation) -> Correction:
    wait = 0.0 if now.used(Tier.TIER2) == 0 else 2.0 ** now.used(Tier.TIER2)
    quick = now.failure.facts.http_status == 400 or not now.verdict.transient
    return Correction(
        action=Action.CHANGE_ARGUMENTS,
        tier="tier2",
        wait_s=0.0 if quick and now.used(Tier.TIER2) == 0 else max(wait, 2.0),
        reason=f"other arguments ({now.verdict.reason})",
    )


def _fallback(now: Situation) -> Correction:
    return Correction(
        action=Action.FALLBACK,
        tier="tier3",
        reason=f"the fallback ({now.verdict.reason})",
    )


def _reflect(now: Situation) -> Correction:
    return Correction(
        action=Action.REFLECT,
        tier="none",
        reason=f"to be explained: {now.verdict.reason}",
    )


def _give_up(now: Situation) -> Correction:
    why = now.verdict.reason
    if not now.corrections_left:
        why = f"no corrections are left for it; {why}"
    return Correction(action=Action.GIVE_UP, tier="none", reason=why)


MOVES: tuple[
    tuple[Callable[[Situation], bool], Callable[[Situation], Correction]], ...
] = (
    (lambda now: now.verdict.category in {Category.INTERNAL, Category.NONE}, _give_up),
    (lambda now: now.verdict.rule in REFUSED_RULES and reflect_allowed(now), _reflect),
    (lambda now: now.verdict.rule in REFUSED_RULES, _give_up),
    (tier1_allowed, _same),
    (tier2_allowed, _change),
    (tier3_allowed, _fallback),
    (reflect_allowed, _reflect),
    (lambda _: True, _give_up),
)
"""Guard → move; the first that holds is taken."""


def decide(now: Situation) -> Correction:
    """Return the correction for the newest failure."""
    return next(move(now) for guard, move in MOVES if guard(now))
