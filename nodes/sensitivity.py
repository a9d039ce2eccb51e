"""The causal sensitivity map: which arguments decide which steps, counted (F28). Pure.

Sensitive tools are watched more closely and marked as risks for the planner,
insensitive ones less closely; dependencies nothing is read through may be dropped.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from mendgraph.nodes.prompt_parts import reads
from mendgraph.state.plan import Plan, Step
from mendgraph.state.record import Record
from mendgraph.tools.influences import Influence

FEW = 3
"""Experiments before an argument is called sensitive."""
MANY = 5
"""Experiments before one is called insensitive."""
SENSITIVE_FROM, INSENSITIVE_TO = 0.5, 0.1
TOLD = 5
"""Lines a planner is told."""


class Grade(StrEnum):
    """How much a tool's arguments decide the steps that follow."""

    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"
    UNKNOWN = "unknown"


FACTORS: dict[Grade, float] = {
    Grade.SENSITIVE: 0.7,
    Grade.INSENSITIVE: 1.3,
    Grade.UNKNOWN: 1.0,
}
"""What a deviation threshold is multiplied by."""


class Edge(Record):
    """One argument and the tool whose outcome it may decide."""

    cause: str
    argument: str
    effect: str
    tried: int
    mattered: int

    @property
    def share(self) -> float:
        """0..1 of the experiments in which the outcome turned."""
        return self.mattered / self.tried

    @property
    def grade(self) -> Grade:
        """What the experiments say; few of them say nothing."""
        if self.tried >= FEW and self.share >= SENSITIVE_FROM:
            return Grade.SENSITIVE
        if self.tried >= MANY and self.share <= INSENSITIVE_TO:
            return Grade.INSENSITIVE
        return Grade.UNKNOWN


def sensitivity_map(influences: Iterable[Influence]) -> tuple[Edge, ...]:
    """Return every edge with its counts, the most decisive first."""
    counts: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for seen in influences:
        counts[seen.cause, seen.argument, seen.effect].append(seen.mattered)
    edges = [
        Edge(
            cause=cause,
            argument=argument,
            effect=effect,
            tried=len(found),
            mattered=sum(found),
        )
        for (cause, argument, effect), found in counts.items()
    ]
    order = sorted(edges, key=lambda e: (e.cause, e.argument, e.effect))
    return tuple(sorted(order, key=lambda e: (-e.mattered, -e.tried)))


def grade_of(edges: Iterable[Edge], tool: str) -> Grade:
    """Return how closely a tool's results are to be watched; one bad edge decides."""
    grades = {edge.grade for edge in edges if edge.cause == tool}
    if Grade.SENSITIVE in grades:
        return Grade.SENSITIVE
    return Grade.INSENSITIVE if grades == {Grade.INSENSITIVE} else Grade.UNKNOWN


def watched_from(threshold: float, grade: Grade) -> float:
    """Return the deviation threshold, 0..1, tightened or relaxed by the map."""
    return min(1.0, threshold * FACTORS[grade])


def advice(edges: Iterable[Edge]) -> str:
    """Return what a planner should know, a line for each sensitive argument."""
    sensitive = [edge for edge in edges if edge.grade is Grade.SENSITIVE]
    return "\n".join(
        f"`{e.argument}` of {e.cause} decides whether {e.effect} works "
        f"({e.mattered} of {e.tried} times): treat that step as high risk and check it"
        for e in sensitive[:TOLD]
    )


class Loose(Record):
    """A dependency that the plan could do without."""

    step_id: str
    dependency: str
    why: str


def loose_dependencies(
    plan: Plan, edges: Sequence[Edge], reading: Collection[str]
) -> tuple[Loose, ...]:
    """Return dependencies nothing is read through; such steps could run in parallel.

    The order of effects is never loose, nor is a step whose outcome is known to turn on
    the other's arguments.

    Args:
        plan: The plan.
        edges: The sensitivity map.
        reading: Tools that only read.
    """
    tools = {step.id: step.tool or "" for step in plan.steps}
    return tuple(
        Loose(
            step_id=step.id,
            dependency=needed,
            why=f"{step.id} waits for {needed} and reads nothing of it",
        )
        for step in plan.steps
        for needed in step.dependencies
        if tools.get(needed) in reading
        and step.tool in reading
        and not _reads(step, needed)
        and not _decides(edges, tools[needed], tools[step.id])
    )


def _reads(step: Step, needed: str) -> bool:
    words = (step.precondition, step.description)
    named = any(needed in text.split() for text in words)
    return named or reads(step, frozenset({needed}))


def _decides(edges: Iterable[Edge], cause: str, effect: str) -> bool:
    return any(
        edge.cause == cause and edge.effect == effect and edge.grade is Grade.SENSITIVE
        for edge in edges
    )
