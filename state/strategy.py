"""The life of a strategy as pure arithmetic: Candidate, Active, Tuning, Retired (F52).

Thresholds are those of the adaptive planning document, sections 8.1 to 8.4 and 11.3.
"""

from collections.abc import Sequence

from pydantic import Field

from mendgraph.state.lesson import (
    Application,
    MendRule,
    RuleStage,
    Strategy,
    StrategyState,
)
from mendgraph.state.record import Record

TUNE_UNDER = 0.6
"""Success rate under which an Active strategy is tuned."""
ENOUGH = 5
"""Applications a rate needs before it may send a strategy to tuning."""
PROMOTE_AFTER = 2
"""Successes that make a Candidate Active, and a repeated fix a Candidate."""
DISTIL_AFTER = 20
"""Successes of an Active strategy after which it becomes a rule template."""
BUILT_IN_AFTER = 50
"""Uses in a row without a misjudgement after which a template is built in."""
RETIRE_MISJUDGED = 3
RETIRE_SHARE = 0.2
"""A rule retires with this many misjudgements at this share of its recent uses."""

WORTH = {"success": 1.0, "partial": 0.5, "failure": 0.0}


class Window(Record):
    """How far back success is measured, and how fast older uses fade."""

    size: int = Field(default=50, ge=1)
    half_life: float | None = Field(default=None, gt=0)
    """Uses after which one counts half; None counts all alike."""


PLAIN = Window()
WEIGHTED = Window(size=20, half_life=10)
"""The quicker window, for strategies that hover about the threshold."""


class BoardRow(Record):
    """One line of the strategy board (F55)."""

    id: str
    signature: str
    content: str
    state: StrategyState
    version: int
    uses: int
    successes: int
    success_rate: float | None
    """Over the window, 0..1; None without uses."""
    mean_resolve_s: float | None
    applies_to: tuple[str, ...]
    """Tasks of the newest applications."""
    source: str


def success_rate(uses: Sequence[Application], window: Window = PLAIN) -> float | None:
    """Return the rate, 0..1, over the newest uses; None when there are none.

    Args:
        uses: Oldest first; a partial success counts half.
        window: How many of them, and with which weights.
    """
    newest = uses[-window.size :]
    if not newest:
        return None
    fade = 0.5 ** (1 / window.half_life) if window.half_life else 1.0
    weights = [float(fade**age) for age in range(len(newest) - 1, -1, -1)]
    worth = (WORTH[use.outcome] * w for use, w in zip(newest, weights, strict=True))
    return sum(worth) / sum(weights)


def mean_resolve_s(uses: Sequence[Application]) -> float | None:
    """Return the mean time to resolve in seconds of the uses that helped."""
    times = [use.resolve_s for use in uses if use.outcome != "failure"]
    known = [time for time in times if time is not None]
    return sum(known) / len(known) if known else None


def next_state(strategy: Strategy, window: Window = PLAIN) -> StrategyState:
    """Return the state that a strategy's applications call for."""
    rate = success_rate(strategy.applications, window)
    poor = len(strategy.applications) >= ENOUGH and (rate or 0.0) < TUNE_UNDER
    if strategy.state is StrategyState.CANDIDATE:
        if poor:
            return StrategyState.RETIRED
        enough = _successes(strategy.applications) >= PROMOTE_AFTER
        return StrategyState.ACTIVE if enough else StrategyState.CANDIDATE
    if strategy.state is StrategyState.ACTIVE and poor:
        return StrategyState.TUNING
    return strategy.state


def tuned(
    old: Strategy, new_id: str, now: float, content: str, condition: str | None = None
) -> Strategy:
    """Return the tuned successor: a Candidate, one version up, nothing measured yet."""
    return Strategy(
        id=new_id,
        signature=old.signature,
        content=content,
        action=old.action,
        condition=condition or old.condition,
        version=old.version + 1,
        replaces=old.id,
        created_at=now,
        source="model",
    )


def may_distil(strategy: Strategy) -> bool:
    """Tell whether an Active strategy has earned a rule template."""
    active = strategy.state is StrategyState.ACTIVE
    return active and strategy.successes >= DISTIL_AFTER


def next_stage(rule: MendRule, good: Sequence[bool]) -> RuleStage:
    """Return the rung a rule belongs on, given its newest uses.

    Args:
        rule: The rule as it is.
        good: For each recent use, oldest first, whether it was no misjudgement.
    """
    if rule.stage is RuleStage.RETIRED:
        return rule.stage
    wrong = sum(1 for use in good if not use)
    if wrong >= RETIRE_MISJUDGED and wrong >= RETIRE_SHARE * len(good):
        return RuleStage.RETIRED
    if rule.stage is RuleStage.BUILT_IN and good and not good[-1]:
        return RuleStage.TEMPLATE
    streak = good[-BUILT_IN_AFTER:]
    if len(streak) >= BUILT_IN_AFTER and all(streak):
        return RuleStage.BUILT_IN
    return rule.stage


def board_row(strategy: Strategy, window: Window = PLAIN) -> BoardRow:
    """Return a strategy as a line of the board."""
    tasks = (use.task_id for use in reversed(strategy.applications))
    return BoardRow(
        id=strategy.id,
        signature=strategy.signature,
        content=strategy.content,
        state=strategy.state,
        version=strategy.version,
        uses=strategy.total,
        successes=strategy.successes,
        success_rate=success_rate(strategy.applications, window),
        mean_resolve_s=mean_resolve_s(strategy.applications),
        applies_to=tuple(dict.fromkeys(tasks))[:5],
        source=strategy.source,
    )


def _successes(uses: Sequence[Application]) -> int:
    return sum(1 for use in uses if use.outcome == "success")
