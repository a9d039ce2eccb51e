"""The sensitivity map: counted experiments, what they tighten and loosen (F28)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.nodes.sensitivity import (
    Grade,
    advice,
    grade_of,
    loose_dependencies,
    sensitivity_map,
    watched_from,
)
from mendgraph.state.plan import Plan
from mendgraph.tools.influences import Influence


def seen(mattered=True, cause="make", argument="quote", effect="run"):
    return Influence(
        cause=cause, argument=argument, effect=effect, mattered=mattered, at=0.0
    )


def test_an_argument_that_turns_outcomes_is_sensitive():
    """Three of three make the tool one to watch more closely and to be told of."""
    edges = sensitivity_map([seen()] * 3)
    assert (edges[0].tried, edges[0].mattered, edges[0].grade) == (
        3,
        3,
        Grade.SENSITIVE,
    )
    assert grade_of(edges, "make") is Grade.SENSITIVE
    assert watched_from(0.3, Grade.SENSITIVE) == pytest.approx(0.21)
    assert advice(edges).startswith("`quote` of make decides whether run works")


def test_an_argument_that_never_matters_is_insensitive():
    """Five of five without effect relax the threshold and are not worth a word."""
    edges = sensitivity_map([seen(mattered=False)] * 5)
    assert grade_of(edges, "make") is Grade.INSENSITIVE
    assert watched_from(0.5, Grade.INSENSITIVE) == pytest.approx(0.65)
    assert advice(edges) == ""


def test_few_experiments_say_nothing():
    """Two are chance; a tool nobody tried is unknown and its threshold stays."""
    edges = sensitivity_map([seen()] * 2)
    assert grade_of(edges, "make") is Grade.UNKNOWN
    assert grade_of(edges, "other") is Grade.UNKNOWN
    assert watched_from(0.3, Grade.UNKNOWN) == 0.3


@given(st.lists(st.booleans(), max_size=40))
def test_counts_add_up_and_order_does_not_matter(outcomes):
    """Every experiment is counted once, whatever the order."""
    forward = sensitivity_map([seen(each) for each in outcomes])
    backward = sensitivity_map([seen(each) for each in reversed(outcomes)])
    assert forward == backward
    assert sum(edge.tried for edge in forward) == len(outcomes)
    assert sum(edge.mattered for edge in forward) == sum(outcomes)


PLAN = Plan.model_validate(
    {
        "steps": [
            {"id": "a", "tool": "make", "inputs": {"x": 1}},
            {"id": "b", "tool": "run", "inputs": {"x": 2}, "depends_on": ["a"]},
            {
                "id": "c",
                "tool": "run",
                "inputs": {"x": "{{ b.value }}"},
                "depends_on": ["b"],
            },
            {
                "id": "d",
                "tool": "run",
                "inputs": {"x": 3},
                "precondition": "c succeeded",
                "depends_on": ["c"],
            },
            {"id": "e", "tool": "write", "inputs": {"x": 4}, "depends_on": ["a"]},
        ]
    }
)
READING = {"make", "run"}


def test_a_dependency_nothing_is_read_through_is_proposed_for_parallel():
    """What binds, what is named as a precondition and every effect is left alone."""
    loose = loose_dependencies(PLAN, (), READING)
    assert [(each.step_id, each.dependency) for each in loose] == [("b", "a")]


def test_a_dependency_known_to_decide_is_never_loose():
    """Experiments outweigh the missing binding."""
    edges = sensitivity_map([seen()] * 3)
    assert loose_dependencies(PLAN, edges, READING) == ()
