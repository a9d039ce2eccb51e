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
TIER2_WAITS = (2.0, 4.0)
"""Seconds before the first and the second call with other arguments (7.1)."""
NO_WAIT_STATUSES = frozenset({400, 422})
"""Waiting mends no arguments (7.2)."""
REFUSED_RULES = frozenset({"authorisation", "person"})
"""Failures that are somebody's word; no retry changes them."""
STOPPED_RULE = "stopped"
"""A person, or nobody to ask, ended it."""
IN_FLIGHT_RULE = "in_flight"
"""A lost call may still arrive: the service is looked at again, nothing is called."""


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


def tier1_allowed(now: Situation) -> bool:
    """The same call again: transient, healthy service, tries left."""
    verdict = now.verdict
    limited = verdict.subclass is Subclass.RATE_LIMITED
    tries = RATE_LIMIT_TRIES if limited else TIER_LIMITS[Tier.TIER1]
    enough = now.used(Tier.TIER1) < tries
    return verdict.transient and now.healthy and enough and now.retries_left


def tier2_allowed(now: Situation) -> bool:
    """Other arguments: they can mend this class, and somebody can propose them."""
    verdict = now.verdict
    changes = now.row.action is Action.CHANGE_ARGUMENTS
    adjusts = verdict.reaction is Reaction.ADJUST_PARAMS
    fits = changes or adjusts or now.has_ready_patch
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


def change_wait(now: Situation) -> float:
    """Seconds to wait before a call with other arguments: 2, then 4; none after a 400.

    Wrong arguments are not mended by waiting, whatever told of them.
    """
    wrong = now.verdict.subclass is Subclass.PARAM_ERROR and not now.verdict.transient
    if wrong or now.failure.facts.http_status in NO_WAIT_STATUSES:
        return 0.0
    return TIER2_WAITS[min(now.used(Tier.TIER2), len(TIER2_WAITS) - 1)]


def _change(now: Situation) -> Correction:
    return Correction(
        action=Action.CHANGE_ARGUMENTS,
        tier="tier2",
        wait_s=change_wait(now),
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


def _look_again(now: Situation) -> Correction:
    wait = now.verdict.wait_s or 0.0
    return Correction(
        action=Action.RETRY_SAME, tier="poll", wait_s=wait, reason=now.verdict.reason
    )


def _note(now: Situation) -> Correction:
    reason = f"noted and watched: {now.verdict.reason}"
    return Correction(action=Action.NOTE, tier="none", reason=reason)


def _is_over(now: Situation) -> bool:
    """Nothing the step loop does can change it."""
    ours = now.verdict.category in {Category.INTERNAL, Category.NONE}
    return (
        ours
        or now.verdict.rule == STOPPED_RULE
        or now.row.action is Action.GIVE_UP
        or (now.verdict.rule in REFUSED_RULES and not reflect_allowed(now))
    )


MOVES: tuple[
    tuple[Callable[[Situation], bool], Callable[[Situation], Correction]], ...
] = (
    (_is_over, _give_up),
    (lambda now: now.verdict.rule == IN_FLIGHT_RULE, _look_again),
    (lambda now: now.verdict.rule in REFUSED_RULES, _reflect),
    (lambda now: now.row.action is Action.NOTE, _note),
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
