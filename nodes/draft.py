"""What planning gives: a plan, a question or a reason, and how it came about."""

from dataclasses import dataclass, replace
from typing import Any

from mendgraph.state.plan import Plan


@dataclass(frozen=True, slots=True)
class Draft:
    """The planner's result; exactly one of plan, question and problem is there."""

    plan: Plan | None = None
    question: str | None = None
    """What a person must answer first."""
    options: tuple[str, ...] = ()
    problem: str | None = None
    """Why there is neither."""
    impossible: str | None = None
    """The planner's word that no plan can reach the goal; `question` asks what then."""
    unchanged: bool = False
    """Nothing failed and the mender sees nothing to change."""
    unavailable: bool = False
    """No model answers at the moment."""
    notes: tuple[dict[str, Any], ...] = ()
    """What was dropped, chosen or kept, for the report."""
    candidates: tuple[dict[str, Any], ...] = ()
    """Every candidate with approach, scores and plan; belongs in the vault."""
    shown: tuple[str, ...] = ()
    """Ids of the lessons the planner saw."""
    reasoning_ref: str | None = None
    score: float | None = None
    """0..1 of the self-evaluation, when there was one."""

    def noted(self, *notes: dict[str, Any], **changes: Any) -> "Draft":
        """Return a copy with further notes and changes."""
        return replace(self, notes=(*self.notes, *notes), **changes)


def note(kind: str, text: str, at: float, **facts: Any) -> dict[str, Any]:
    """Return a line of the report; `at` in seconds since the epoch."""
    return {"kind": kind, "text": text, "when": at, **facts}
