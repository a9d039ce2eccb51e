"""Candidate search counts exactly, keeps to its limits and touches no real tool."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from mendgraph.nodes.candidates import (
    Maker,
    Scorer,
    efficiency,
    one_by_one,
    rehearse,
    search,
    simulatable,
)
from mendgraph.state.plan import Plan
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.registry import make_registry

Path = tuple[int, ...]


async def children(node: Path, count: int) -> list[Path]:
    return [(*node, index) for index in range(count)]


async def value(node: Path) -> float:
    return -sum(abs(2 - index) for index in node) + len(node)


async def values(nodes: list[Path]) -> list[float]:
    return [await value(node) for node in nodes]


def run(scorer: Scorer, **limits: int):
    bounds = {"branch": 3, "depth": 4, "beam": 81, "max_nodes": 999, "max_calls": 999}
    return asyncio.run(search((), Maker(children), scorer, **{**bounds, **limits}))


def test_a_full_tree_of_three_by_four_has_120_nodes():
    """3 + 9 + 27 + 81 nodes below the root, from 40 expansions and 4 scorings."""
    result = run(Scorer(values))
    assert result.nodes == 120
    assert (result.expand_calls, result.score_calls) == (40, 4)
    assert sum(each.depth == 4 for each in result.kept) == 81


def test_a_beam_of_two_has_21_nodes():
    """3 + 6 + 6 + 6 nodes, and the best of them is found."""
    result = run(Scorer(values), beam=2)
    assert result.nodes == 21
    assert (result.expand_calls, result.score_calls) == (7, 4)
    assert result.best is not None
    assert result.best.node == (2, 2, 2, 2)


def test_scoring_one_by_one_costs_a_call_each():
    """The same tree scored singly takes as many calls as it has nodes."""
    result = run(one_by_one(value), beam=2)
    assert (result.nodes, result.score_calls, result.calls) == (21, 21, 28)


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(0, 60),
    st.integers(0, 60),
    st.booleans(),
)
def test_limits_are_never_exceeded(branch, depth, beam, most_nodes, most_calls, single):
    """Whatever the shape, nodes and calls stay within their limits and are real."""
    asked: list[int] = []

    async def counted(node: Path, count: int) -> list[Path]:
        asked.append(count)
        return await children(node, count)

    result = asyncio.run(
        search(
            (),
            Maker(counted),
            one_by_one(value) if single else Scorer(values),
            branch=branch,
            depth=depth,
            beam=beam,
            max_nodes=most_nodes,
            max_calls=most_calls,
        )
    )
    assert result.nodes == sum(asked) == len(result.kept)
    assert result.nodes <= most_nodes
    assert result.expand_calls == len(asked)
    assert result.calls <= most_calls
    whole = sum(branch * min(beam, branch**level) for level in range(depth))
    if result.stopped is None and beam >= branch ** (depth - 1):
        assert result.nodes == whole


def test_the_limit_that_ended_a_search_is_named():
    """A search that was cut short says by what."""
    assert run(Scorer(values), max_nodes=5).stopped == "max_nodes"
    assert run(Scorer(values), max_calls=3).stopped == "max_calls"


def plan_of(*steps: dict) -> Plan:
    return Plan.model_validate({"steps": steps})


def test_shorter_plans_are_more_efficient():
    """Half for the number of steps, half for the longest chain."""
    chain = plan_of(
        {"id": "a", "tool": "t"}, {"id": "b", "tool": "t", "dependencies": ["a"]}
    )
    wide = plan_of({"id": "a", "tool": "t"}, {"id": "b", "tool": "t"})
    assert efficiency(wide, [chain, wide]) == 1.0
    assert efficiency(chain, [chain, wide]) == 0.75


def test_only_simulatable_tools_are_tried():
    """A rehearsal leaves other tools and steps with unknown inputs alone."""

    def dry(key: str) -> str:
        """Look up."""
        return key

    def real(key: str) -> str:
        """Pay."""
        return key

    registry = make_registry([dry, real], {"dry": ToolPolicy(simulatable=True)})
    called: list[str] = []

    async def call(entry, step) -> bool:
        called.append(step.id)
        return step.id != "b"

    plan = plan_of(
        {"id": "a", "tool": "dry", "inputs": {"key": "x"}},
        {"id": "b", "tool": "dry", "inputs": {"key": "y"}},
        {"id": "c", "tool": "dry", "inputs": {"key": "{{ a }}"}},
        {"id": "d", "tool": "real", "inputs": {"key": "x"}},
    )
    assert asyncio.run(rehearse(plan, registry, call)) == 0.5
    assert called == ["a", "b"]
    assert simulatable(registry).names == ("dry",)
    assert asyncio.run(rehearse(plan_of(), registry, call)) is None
