"""Noticing that corrections of a step do not converge, and the way out (F45).

The adaptive planning document (11.3, problem 1) names two signs: an attribution that
changes each time, and one fix that never helps. Then tier 3, a global replan or a
person follows, whatever the reflector wants. Pure.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from mendgraph.state.lesson import NextAction
from mendgraph.state.record import Record

UNSTABLE = 3
"""Looks in a row of which each blames something else."""
IN_VAIN = 2
"""Failures of one fix for one cause after which it is not tried again."""
KEPT = 5
"""Looks at earlier failures of a lineage that a branch is given."""


class Look(Record):
    """What one reflection blamed and what it directed."""

    category: str
    cause: str | None = None
    """The step that was blamed, when it was another one."""
    decision: NextAction

    @property
    def blamed(self) -> tuple[str, str | None]:
        """What the look attributed the failure to."""
        return self.category, self.cause

    def __str__(self) -> str:
        """Say the attribution in words."""
        return f"{self.category} of {self.cause}" if self.cause else self.category


def look_of(reflection: Mapping[str, Any]) -> Look:
    """Return what a plain reflection comes down to."""
    return Look(
        category=reflection["category"],
        cause=reflection.get("cause_step"),
        decision=NextAction(reflection["decision"]),
    )


def looks_at(
    reflections: Iterable[Mapping[str, Any]], step_ids: Collection[str]
) -> list[Look]:
    """Return the newest looks at these steps, the oldest first; snapshots left out."""
    found = [r for r in reflections if r["step_id"] in step_ids and not r.get("light")]
    newest = {r["id"]: r for r in found}
    return [look_of(each) for each in newest.values()][-KEPT:]


def not_converging(looks: Sequence[Look]) -> str | None:
    """Return why another fix of this kind will not help, or None.

    Args:
        looks: All looks at one lineage, the oldest first; the last is the current one,
            all before it led to fixes that failed.
    """
    if not looks:
        return None
    recent, now = looks[-UNSTABLE:], looks[-1]
    changes = all(a.blamed != b.blamed for a, b in pairwise(recent))
    if len(recent) == UNSTABLE and changes:
        told = ", then ".join(map(str, recent))
        return f"the attribution changes each time ({told})"
    same = [look for look in looks[:-1] if look == now]
    if len(same) >= IN_VAIN:
        return f"{now.decision.value} has not helped {len(same)} times ({now})"
    return None


def way_out(
    looks: Sequence[Look], *, fallback: bool, planner: bool, person: bool
) -> NextAction:
    """Return tier 3, a global replan or a person: the first that is open and untried.

    Args:
        looks: As for `not_converging`.
        fallback: There is another tool or a simpler form.
        planner: There is a model that can plan anew.
        person: Somebody can be asked.
    """
    tried = {look.decision for look in looks[:-1]}
    ways = (
        (NextAction.FALLBACK, fallback),
        (NextAction.GLOBAL_REPLAN, planner),
        (NextAction.CLARIFY, person),
    )
    is_open = (way for way, there in ways if there and way not in tried)
    return next(is_open, NextAction.CLARIFY if person else NextAction.GIVE_UP)
