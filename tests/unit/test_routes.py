"""Where the loops go next is a table of what the state says."""

import pytest
from langgraph.types import Send

from mendgraph.graph.build import create_mend_agent
from mendgraph.graph.routes import (
    BY_KIND,
    payload,
    plan_route,
    retry_route,
    sends,
    step_route,
)
from mendgraph.state.correction import Action
from mendgraph.state.plan import Plan

PLAN = Plan.model_validate(
    {
        "version": 2,
        "retired": ["c"],
        "steps": [
            {"id": "a", "tool": "x"},
            {
                "id": "b",
                "tool": "x",
                "inputs": {"n": "{{ a.n }}"},
                "dependencies": ["a"],
            },
            {"id": "c2", "tool": "x", "dependencies": ["b"], "replaces": "c"},
        ],
    }
)


def record(status, **more):
    known = {
        "status": status,
        "output_ref": None,
        "attempts": [],
        "failure": None,
        "plan_version": 1,
        "corrections": 0,
    }
    return {**known, **more}


def state(records=None, pending=None, **more):
    return {
        "task_id": "t1",
        "task": "do it",
        "round": "r1",
        "plan": PLAN.plain(),
        "steps": records or {},
        "pending": pending,
        **more,
    }


@pytest.mark.parametrize(("kind", "node"), BY_KIND.items())
def test_what_is_pending_decides_first(kind, node):
    """A question, a replan or an end goes before any step that could run."""
    assert plan_route(state(pending={"kind": kind})) == node


def test_every_target_is_a_node_of_the_plan_loop():
    """No kind leads nowhere, and replanning may lead to replanning."""
    drawn = create_mend_agent(tools=[]).get_graph()
    assert set(BY_KIND.values()) <= set(drawn.nodes)
    ahead = {edge.target for edge in drawn.edges if edge.source == "replan"}
    assert ahead == {"step", "replan", "clarify", "finish"}


def test_all_steps_that_may_run_are_sent_at_once():
    """Dependents are sent with what they depend on and await it inside."""
    sent = plan_route(state())
    assert all(isinstance(each, Send) for each in sent)
    briefs = [each.arg["brief"] for each in sent]
    assert [each["step"]["id"] for each in briefs] == ["a", "b", "c2"]
    assert [each["awaits"] for each in briefs] == [[], ["a"], ["b"]]


def test_nothing_left_to_send_is_the_end():
    """With every step settled the plan loop finishes."""
    everything = {i: record("done", output_ref=f"{i}@1") for i in PLAN.ids}
    assert plan_route(state(everything)) == "finish"
    assert plan_route(state({"a": record("failed")})) == "finish"


def test_the_old_step_of_a_replaced_plan_is_never_sent():
    """Whatever records say of c, only c2 is in the plan and can be scheduled."""
    for status in ("pending", "blocked", "failed", "void", "done"):
        sent = sends(state({"c": record(status)}))
        assert "c" not in [each.arg["brief"]["step"]["id"] for each in sent]


def test_results_of_earlier_rounds_come_as_references():
    """A finished dependency is not awaited; its output's reference is passed."""
    done = {"a": record("done", output_ref="a@1.1")}
    first = sends(state(done))[0].arg["brief"]
    assert first["step"]["id"] == "b"
    assert first["upstream"] == {"a": "a@1.1"}
    assert first["awaits"] == []


def test_a_replacement_inherits_lineage_and_counts_as_a_correction():
    """The replaced step's lineage and depth go on; the move itself is one more."""
    before = {"c": record("void", lineage="c0", corrections=1)}
    given = payload(state(before), PLAN, before, PLAN.step("c2"), frozenset())
    assert given["lineage"] == "c0"
    assert given["corrections_before"] == 2
    assert given["lineages"] == ["a", "b", "c"]


def test_a_replacement_is_told_how_its_lineage_failed():
    """Earlier attempts and looks come along, the newest few only."""
    tries = [
        {"status": "failed", "ended_at": float(n), "error": str(n)} for n in range(9)
    ]
    before = {"c": record("void", lineage="c", attempts=tries)}
    looked = {
        "id": "1",
        "step_id": "c",
        "category": "plan_error",
        "decision": "local_replan",
    }
    now = state(before, reflections=[looked])
    given = payload(now, PLAN, before, PLAN.step("c2"), frozenset())
    assert [each["error"] for each in given["tried"]] == ["6", "7", "8"]
    assert [each["decision"] for each in given["looked"]] == ["local_replan"]
    fresh = payload(now, PLAN, before, PLAN.step("a"), frozenset())
    assert "tried" not in fresh


@pytest.mark.parametrize("size", [10, 500])
def test_a_branch_does_not_grow_with_the_plan(size):
    """What one branch begins with is the same beside ten steps and beside hundreds."""
    steps = [{"id": f"s{n}", "tool": "x"} for n in range(size)]
    plan = Plan.model_validate({"steps": steps})
    now = {**state(), "plan": plan.plain()}
    given = payload(now, plan, {}, plan.steps[0], frozenset(plan.ids))
    assert len(str(given)) < 1_500


@pytest.mark.parametrize(
    ("decision", "after_look", "after_tier"),
    [
        ({}, "__end__", "__end__"),
        ({"action": Action.REFLECT.value}, "reflect", "reflect"),
        ({"action": Action.RETRY_SAME.value}, "retry_tier", "execute"),
        ({"action": Action.CHANGE_ARGUMENTS.value}, "retry_tier", "execute"),
        ({"action": Action.FALLBACK.value}, "retry_tier", "execute"),
    ],
)
def test_the_step_loop_follows_the_decision(decision, after_look, after_tier):
    """No decision ends the branch; reflecting and retrying have one node each."""
    assert step_route({"decision": decision}) == after_look
    assert retry_route({"decision": decision}) == after_tier
