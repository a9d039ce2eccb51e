"""Search over drafts of plans with exact accounting of nodes and calls (F08).

A beam search in the manner of Tree of Thoughts (Yao et al. 2023): the full tree of
branch 3 and depth 4 has 120 nodes below the root, with a beam of 2 it is 21. A search
has no tools in hand; only tools marked simulatable may be tried on a draft.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mendgraph.nodes.plan_shape import critical_length
from mendgraph.state.plan import Plan, Step
from mendgraph.tools.bindings import templates
from mendgraph.tools.registry import Entry, Registry

Node = TypeVar("Node")


def one_call(_count: int) -> int:
    """Return the cost of making all children of a node in one call."""
    return 1


def one_if_any(count: int) -> int:
    """Return the cost of scoring a level in one call."""
    return min(1, count)


@dataclass(frozen=True, slots=True)
class Maker(Generic[Node]):
    """Makes up to so many children of a node, and knows what that costs."""

    make: Callable[[Node, int], Awaitable[Sequence[Node]]]
    cost: Callable[[int], int] = one_call
    """Children wanted → calls."""


@dataclass(frozen=True, slots=True)
class Scorer(Generic[Node]):
    """Scores the nodes of a level, higher is better, and knows what that costs."""

    ask: Callable[[Sequence[Node]], Awaitable[Sequence[float]]]
    cost: Callable[[int], int] = one_if_any
    """Nodes → calls."""


def one_by_one(ask: Callable[[Node], Awaitable[float]]) -> Scorer[Node]:
    """Return a scorer that asks for each node in a call of its own."""

    async def ask_each(nodes: Sequence[Node]) -> list[float]:
        return [await ask(node) for node in nodes]

    return Scorer(ask_each, cost=int)


@dataclass(frozen=True, slots=True)
class Scored(Generic[Node]):
    """A node of the tree, its score and its depth below the root."""

    node: Node
    score: float
    depth: int


@dataclass(slots=True)
class SearchResult(Generic[Node]):
    """What was found and exactly what it took."""

    kept: list[Scored[Node]] = field(default_factory=list)
    """Every scored node, in the order of making."""
    nodes: int = 0
    """Nodes made below the root."""
    expand_calls: int = 0
    score_calls: int = 0
    stopped: str | None = None
    """The limit that ended the search early."""

    @property
    def calls(self) -> int:
        """Calls of both kinds."""
        return self.expand_calls + self.score_calls

    @property
    def best(self) -> Scored[Node] | None:
        """The best node; of equals the one made first."""
        return max(self.kept, key=lambda each: each.score, default=None)


async def search(
    root: Node,
    maker: Maker[Node],
    scorer: Scorer[Node],
    *,
    branch: int,
    depth: int,
    beam: int,
    max_nodes: int,
    max_calls: int,
) -> SearchResult[Node]:
    """Search for the best node below the root.

    Args:
        root: Where to begin; it is not scored.
        maker: Makes the children of a node.
        scorer: Scores the nodes of a level.
        branch: Children of a node.
        depth: Levels below the root.
        beam: Nodes of a level that are expanded further.
        max_nodes: Nodes made at most.
        max_calls: Calls of both kinds at most, never exceeded.
    """
    result: SearchResult[Node] = SearchResult()
    frontier: list[Node] = [root]
    for level in range(1, depth + 1):
        made: list[Node] = []
        for node in frontier:
            wanted = min(branch, max_nodes - result.nodes)
            needed = maker.cost(wanted) + scorer.cost(len(made) + wanted)
            result.stopped = _limit(wanted, result.calls + needed, max_calls)
            if result.stopped:
                break
            children = list(await maker.make(node, wanted))[:wanted]
            result.expand_calls += maker.cost(wanted)
            result.nodes += len(children)
            made += children
            if wanted < branch:
                result.stopped = "max_nodes"
                break
        best = await _score(result, made, scorer, level)
        frontier = [each.node for each in best[:beam]]
        if result.stopped or not frontier:
            break
    return result


def _limit(wanted: int, calls: int, max_calls: int) -> str | None:
    if wanted <= 0:
        return "max_nodes"
    return "max_calls" if calls > max_calls else None


async def _score(
    result: SearchResult[Node], made: list[Node], scorer: Scorer[Node], level: int
) -> list[Scored[Node]]:
    if not made:
        return []
    scores = await scorer.ask(made)
    result.score_calls += scorer.cost(len(made))
    scored = [Scored(n, s, level) for n, s in zip(made, scores, strict=True)]
    result.kept += scored
    return sorted(scored, key=lambda each: -each.score)


def efficiency(plan: Plan, rivals: Sequence[Plan]) -> float:
    """Return 0..1: how short a plan is beside its rivals, in steps and in chain.

    Half of it is the fewest steps by its steps, half the shortest longest chain by its
    own.
    """
    if not plan.steps:
        return 0.0
    fewest = min(len(each.steps) for each in rivals if each.steps)
    shortest = min(critical_length(each) for each in rivals if each.steps)
    return (fewest / len(plan.steps) + shortest / critical_length(plan)) / 2


def simulatable(registry: Registry) -> Registry:
    """Return the tools that a search may call."""
    return registry.narrowed(e.name for e in registry if e.policy.simulatable)


async def rehearse(
    plan: Plan,
    registry: Registry,
    call: Callable[[Entry, Step], Awaitable[bool | None]],
) -> float | None:
    """Try the steps whose tools are simulatable and whose inputs are known.

    Args:
        plan: A draft.
        registry: All tools; the others are never touched.
        call: Makes the call; whether it went well, or None when it was not made.

    Returns:
        The share that went well, 0..1; None when there was nothing to try.
    """
    allowed = simulatable(registry)
    tried = [
        await call(allowed.get(step.tool), step)
        for step in plan.steps
        if step.tool and step.tool in allowed and not any(templates(step.inputs))
    ]
    made = [well for well in tried if well is not None]
    return sum(made) / len(made) if made else None
