"""What thinking is still worth its price: the budget ladder and the CAF (F59, F46).

At the edge of the reasoning budget first candidate plans go, then self-evaluation,
then the full reflection becomes a light one; planning, patching and light reflection
stay (adaptive planning document, section 9.4). The correction amplification factor is
the model calls made to mend by the corrections they made (section 5.3).
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from mendgraph.state.limits import METERS, Limits, Spent

CAF_WARNING = 2.0
"""Model calls a correction above which corrections cost too much."""
CAF_TARGET = 1.5


class Level(StrEnum):
    """How deep the model may think, deepest first."""

    FULL = "full"
    NO_PATHS = "no_paths"
    NO_CRITIQUE = "no_critique"
    LIGHT = "light"


class Luxury(StrEnum):
    """What the loop can do without, in the order in which it goes."""

    PATHS = "multi-path planning"
    CRITIQUE = "self-evaluation"
    FULL_REFLECTION = "full reflection"


RUNGS: tuple[tuple[float, Level, Luxury], ...] = (
    (0.50, Level.NO_PATHS, Luxury.PATHS),
    (0.70, Level.NO_CRITIQUE, Luxury.CRITIQUE),
    (0.85, Level.LIGHT, Luxury.FULL_REFLECTION),
)
"""(share of a budget used, 0..1; level reached; what goes there)."""

WATCHED = ("reasoning_tokens", "model_calls", "total_tokens")
"""Limits whose use moves the ladder; the fullest decides."""


def share_used(spent: Spent, limits: Limits) -> float:
    """Return the used share of the fullest thinking budget; 1.0 when one is zero."""
    shares = [0.0]
    for source, name in METERS:
        if name in WATCHED:
            allowed = getattr(limits, name)
            shares.append(getattr(spent, source) / allowed if allowed else 1.0)
    return max(shares)


def ladder(spent: Spent, limits: Limits) -> Level:
    """Return how deep the model may still think."""
    used = share_used(spent, limits)
    level = Level.FULL
    for threshold, lower, _ in RUNGS:
        level = lower if used >= threshold else level
    return level


def allows(level: Level, luxury: Luxury) -> bool:
    """Tell whether a luxury is still there at this level."""
    depth = list(Level)
    gone_at = {what: rung for _, rung, what in RUNGS}[luxury]
    return depth.index(level) < depth.index(gone_at)


def drop_note(
    luxury: Luxury, spent: Spent, limits: Limits, at: float
) -> dict[str, Any]:
    """Return the report's line on something that was left out.

    Args:
        luxury: What was dropped.
        spent: What the task had spent then.
        limits: Its allowances.
        at: When, in seconds since the epoch.
    """
    return {
        "kind": "budget",
        "what": luxury.value,
        "when": at,
        "spent": spent.budgeted_tokens,
        "allowed": limits.reasoning_tokens,
        "text": (
            f"dropped {luxury.value}: {share_used(spent, limits):.0%} of the thinking "
            f"budget is used ({spent.budgeted_tokens} of {limits.reasoning_tokens} "
            "reasoning tokens)"
        ),
    }


def caf(spent: Spent, corrections: int) -> float:
    """Return model calls made to mend by corrections made; 0.0 without corrections."""
    return spent.correction_model_calls / corrections if corrections else 0.0


def caf_over(tasks: Iterable[tuple[int, int]]) -> float:
    """Return the factor over a window of tasks.

    Args:
        tasks: (correction model calls, corrections) of each task.
    """
    pairs = list(tasks)
    corrections = sum(made for _, made in pairs)
    return sum(calls for calls, _ in pairs) / corrections if corrections else 0.0


def caf_warning(value: float) -> str | None:
    """Return what to say when corrections cost too many model calls."""
    if value <= CAF_WARNING:
        return None
    return (
        f"corrections cost {value:.1f} model calls each (target {CAF_TARGET}, warning "
        f"over {CAF_WARNING}); look for lessons and rules that could replace them"
    )
