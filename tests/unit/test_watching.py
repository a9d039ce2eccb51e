"""Soft and environment triggers: observed, then acted on; no result is lost (F20)."""

import asyncio
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph import create_mend_agent
from mendgraph.nodes.events import event_due, heeded
from mendgraph.nodes.watching import deviation_of
from mendgraph.state.plan import Plan
from mendgraph.tools.cel import bounded_view, compile_rule
from mendgraph.tools.cel_view import fields_read, view_for
from mendgraph.tools.doubles.scripted import ScriptedModel

ROLE = re.compile(r"ROLE: (\w+)")


def agent_of(*tools, model=None, **options):
    return create_mend_agent(
        model,
        tools=tools,
        assume="read",
        seeded=False,
        checkpointer=InMemorySaver(),
        **options,
    )


def ran(agent, steps, thread="t"):
    config = {"configurable": {"thread_id": thread}}
    agent.invoke({"task": thread, "plan": {"steps": steps}}, config)
    return agent.get_state(config).values


def library_of(agent):
    library = agent.held.deps.library(agent.held.deps.store)
    asyncio.run(library.ensure())
    return library


def chain(tool, count, **inputs):
    return [
        {
            "id": f"s{n}",
            "tool": tool,
            "inputs": {**inputs, "n": n},
            "depends_on": [f"s{n - 1}"] if n else [],
            "description": f"after s{n - 1}",
        }
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("output", "nulls", "deviation"),
    [
        ({"rows": [1, 2]}, 0.0, 0.0),
        ({"rows": [1, 2], "truncated": True}, 0.0, 0.4),
        ({"rows": [1, 2], "skipped": 2}, 0.0, 0.5),
        ({"row_count": 3, "ragged_rows": 1}, 0.0, 0.25),
        ({"rows": [1]}, 0.05, 0.5),
        ("caf\ufffd", 0.0, 1 / 3),
        (None, 0.0, 0.0),
    ],
)
def test_a_passing_result_may_deviate(output, nulls, deviation):
    """Cut, left out, ragged, nearly too many nulls: the worst sign is the measure."""
    assert deviation_of(output, nulls) == pytest.approx(deviation)


def cut(n: int) -> dict:
    """Give a result that is cut."""
    return {"rows": [n], "truncated": True}


def test_the_first_soft_sign_is_observed_and_the_second_acted_on():
    """The result stays; the trail has one soft entry, from the second step on."""
    agent = agent_of(cut)
    state = ran(agent, chain("cut", 2))
    assert state["status"] == "done"
    soft = [n for n in state["notes"] if n["kind"] == "trigger"]
    assert [n["action"] for n in soft] == ["none", "note_and_watch"]
    (entry,) = state["corrections"]
    assert (entry["trigger"], entry["step_id"]) == ("soft", "s1")
    assert state["steps"]["s0"]["summary"]["deviation_score"] == 0.4


def test_measured_false_alarms_raise_the_threshold():
    """Results that turned out right after an alarm silence it, for this tool."""
    agent = agent_of(cut, clock=lambda: 1_000_000.0)  # no call is ever slow
    for number in range(12):
        ran(agent, chain("cut", 1), thread=f"t{number}")
    knowledge = library_of(agent).knowledge
    stats = knowledge.stats("cut")
    assert stats.alarms == stats.false_alarms
    assert 5 <= stats.alarms < 12  # silent once enough was measured
    quiet = ran(agent, chain("cut", 1), thread="last")
    assert [n for n in quiet["notes"] if n["kind"] == "trigger"] == []


def test_a_deviation_that_rises_twice_is_a_sign_under_any_threshold():
    """Three results, each worse than the one before, are noticed at the third."""

    def sliding(n: int) -> dict:
        """Lose more rows each time."""
        return {"rows": list(range(100)), "skipped": n * 2 or 0}

    state = ran(agent_of(sliding), chain("sliding", 3))
    said = [n["text"] for n in state["notes"] if n["kind"] == "trigger"]
    assert len(said) == 1
    assert "deviation rises: 0.00, 0.02, 0.04" in said[0]


def test_three_times_the_expected_time_is_a_sign():
    """Time is measured by the agent's clock and told with what was expected."""
    ticks = itertools.count(1_000_000.0, 0.5)

    def steady(n: int) -> dict:
        """Answer."""
        return {"n": n}

    agent = agent_of(
        steady,
        policies={"steady": {"effect": "read", "expected_ms": 100}},
        clock=lambda: next(ticks),
    )
    state = ran(agent, chain("steady", 1))
    assert any("100 ms were expected" in n["text"] for n in state["notes"])


def describe(table: str) -> dict:
    """Describe a table."""
    return {"table": table, "columns": ["a"], "schema_fingerprint": describe.print}


def use(table: str) -> dict:
    """Use a table."""
    return {"table": table}


STEPS = [
    {"id": "d", "tool": "describe", "inputs": {"table": "sales"}},
    {"id": "u", "tool": "use", "inputs": {"table": "sales"}, "depends_on": ["d"]},
]
REPLANNED = {
    "goal": "t",
    "steps": [
        {"id": "v", "tool": "use", "inputs": {"table": "orders"}, "depends_on": ["d"]}
    ],
    "keep": ["d"],
}


def test_a_changed_schema_plans_the_rest_anew_once():
    """Steps that have not run are planned anew and the finished ones are kept."""
    asked = []

    def script(messages):
        role = ROLE.search(messages[0].text)[1]
        asked.append(role)
        return REPLANNED

    agent = agent_of(describe, use, model=ScriptedModel(script=script))
    describe.print = "before"
    assert ran(agent, STEPS, "first")["plan"]["version"] == 1
    assert asked == []
    describe.print = "after"
    state = ran(agent, STEPS, "second")
    assert state["status"] == "done"
    assert state["plan"]["version"] == 2
    assert asked == ["plan"]
    assert state["steps"]["u"]["status"] == "void"
    (entry,) = state["corrections"]
    assert (entry["trigger"], entry["action"]) == ("environment", "global_replan")
    assert ran(agent, STEPS, "third")["plan"]["version"] == 1


def test_a_planner_that_has_no_better_plan_changes_nothing():
    """A refused draft after a mere change is no failure: the old plan goes on."""
    same = {**REPLANNED, "steps": [{**STEPS[1], "id": "v"}]}
    agent = agent_of(describe, use, model=ScriptedModel(script=lambda _: same))
    describe.print = "before"
    ran(agent, STEPS, "first")
    describe.print = "after"
    state = ran(agent, STEPS, "second")
    assert (state["status"], state["plan"]["version"]) == ("done", 1)


def test_without_a_model_a_changed_schema_is_noted_and_nothing_stops():
    """The plan goes on as it is, and the note says what changed."""
    agent = agent_of(describe, use)
    describe.print = "before"
    ran(agent, STEPS, "first")
    describe.print = "after"
    state = ran(agent, STEPS, "second")
    assert state["status"] == "done"
    assert any("schema:sales is not as it was" in n["text"] for n in state["notes"])


def test_an_announced_end_is_noted_and_concerns_only_those_who_use_it():
    """A Deprecation header is a trigger for later steps of the same address alone."""
    note = {
        "kind": "trigger",
        "trigger": "environment",
        "action": "global_replan",
        "resource": "https://a.example/v1",
        "step_id": "g",
        "text": "the environment changed: sunset",
    }
    plan = Plan.model_validate(
        {
            "steps": [
                {"id": "g", "tool": "get", "inputs": {"url": "https://a.example/v1"}},
                {"id": "h", "tool": "get", "inputs": {"url": "https://b.example"}},
                {"id": "i", "tool": "get", "inputs": {"url": "https://a.example/v1"}},
            ]
        }
    )
    done = {"status": "done", "blocked_by": []}
    event = event_due(plan, {"g": done}, [note])
    assert event["concerned"] == ["i"]
    assert event_due(plan, {"g": done, "i": done}, [note]) is None
    assert event_due(plan, {"g": done}, [note, heeded(event, 0.0)]) is None


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("output.total > 0", (frozenset({"total"}), frozenset())),
        ("size(output.rows) > 0", (frozenset({"rows"}), frozenset({"rows"}))),
        ("output['rows'][0] == 1", None),
        ("size(output) > 0", None),
        ("output.name == 'output.rows'", (frozenset({"name"}), frozenset())),
    ],
)
def test_a_rule_is_read_for_the_fields_it_needs(source, read):
    """Only plain field access is narrowed; anything else sees the whole."""
    assert fields_read(source, "output") == read


RULES = (
    "output.total > 1",
    "size(output.rows) > 2",
    "size(output.rows) > 0 && output.rows[0] == 1",
    "output.rows.all(r, r > 0)",
    "has(output.total)",
    "output.rows_count > 1000",
    "size(output) > 1",
)


@given(
    st.fixed_dictionaries(
        {"rows": st.lists(st.integers(0, 3), max_size=6)},
        optional={"total": st.integers(0, 3), "other": st.text(max_size=3)},
    ),
    st.sampled_from(RULES),
    st.sampled_from([1, 400]),
)
def test_the_narrowed_view_never_changes_a_verdict(output, source, times):
    """Every rule says the same of the narrowed view as of the whole one."""
    value = {**output, "rows": output["rows"] * times}

    def verdict(seen):
        try:
            return compile_rule(source).holds({"output": seen})
        except ValueError:
            return "no verdict"

    assert verdict(bounded_view(value)) == verdict(view_for(source, "output", value))
