"""Corrections that do not converge are noticed; a failed one leads back (F43, F45)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph.graph.build import create_mend_agent
from mendgraph.nodes.convergence import Look, looks_at, not_converging, way_out
from mendgraph.nodes.stable import evidence, stable_point
from mendgraph.state.lesson import NextAction
from mendgraph.state.limits import Limits
from mendgraph.state.plan import Plan
from mendgraph.tools.doubles.scripted import ScriptedModel

THREAD = {"configurable": {"thread_id": "t"}}
PATCH, LOCAL = NextAction.PATCH, NextAction.LOCAL_REPLAN


def look(category, decision=PATCH, cause=None):
    return Look(category=category, decision=decision, cause=cause)


def test_an_attribution_that_changes_each_time_is_noticed():
    """Three looks, each blaming another class, are unstable; the reason says which."""
    looks = [look("execution_error"), look("plan_error"), look("execution_error")]
    said = not_converging(looks)
    assert said == (
        "the attribution changes each time "
        "(execution_error, then plan_error, then execution_error)"
    )


def test_blaming_other_steps_each_time_is_unstable_too():
    """The same class with another culprit each time is no stable attribution."""
    looks = [look("plan_error", cause=name) for name in ("s1", "s2", "s3")]
    assert "plan_error of s1, then plan_error of s2" in not_converging(looks)


def test_one_fix_that_never_helps_is_not_tried_a_third_time():
    """Twice the same fix for the same cause in vain is enough."""
    again = [look("execution_error")] * 3
    assert not_converging(again) == "patch has not helped 2 times (execution_error)"
    assert not_converging(again[:2]) is None


@pytest.mark.parametrize(
    "looks",
    [
        [],
        [look("plan_error")],
        [look("plan_error"), look("execution_error")],
        [look("plan_error"), look("plan_error"), look("execution_error")],
        [look("plan_error", PATCH), look("plan_error", LOCAL)],
    ],
)
def test_a_second_opinion_is_not_a_loop(looks):
    """One change of mind, or another fix for the same cause, is how mending works."""
    assert not_converging(looks) is None


def test_the_way_out_is_the_smallest_that_is_open_and_untried():
    """Tier 3, then a global replan, then a person, else the end."""
    all_open = {"fallback": True, "planner": True, "person": True}
    looks = [look("plan_error")] * 3
    fallen = [look("plan_error", NextAction.FALLBACK), look("plan_error")]
    both = [look("plan_error", NextAction.GLOBAL_REPLAN), *fallen]
    nothing = dict.fromkeys(all_open, False)
    assert way_out(looks, **all_open) is NextAction.FALLBACK
    assert way_out(fallen, **all_open) is NextAction.GLOBAL_REPLAN
    assert way_out(both, **all_open) is NextAction.CLARIFY
    assert way_out(looks, **nothing) is NextAction.GIVE_UP


@given(
    st.lists(
        st.builds(
            look,
            st.sampled_from(["plan_error", "execution_error"]),
            st.sampled_from(list(NextAction)),
            st.sampled_from([None, "s1"]),
        ),
        max_size=12,
    )
)
def test_any_history_of_one_cause_stops_within_a_fix_times_two(history):
    """With one attribution, each fix is let through at most twice."""
    passed = []
    for each in history:
        now = each.but(category="plan_error", cause=None)
        if not_converging([*passed, now]) is None:
            passed.append(now)
    assert all(passed.count(each) <= 2 for each in passed)


def test_snapshots_and_other_steps_are_no_looks():
    """Only deep looks at the lineage count, the newest version of each."""

    def kept(name, step="c", decision="patch", **more):
        base = {"id": name, "step_id": step, "category": "plan_error"}
        return {**base, "decision": decision, **more}

    found = looks_at(
        [
            kept("1", decision="retry"),
            kept("1"),
            kept("2", light=True),
            kept("3", step="x"),
        ],
        {"c"},
    )
    assert found == [look("plan_error")]


def record(step_id, status, ended=0.0, *, lineage=None, error=None):
    failure = {"facts": {"message": error}} if error else None
    return {
        "step_id": step_id,
        "status": status,
        "lineage": lineage or step_id,
        "plan_version": 1,
        "tool": "query",
        "attempts": [{"ended_at": ended, "status": "ok"}],
        "failure": failure,
    }


def test_the_stable_point_is_the_step_that_succeeded_last():
    """By time, not by place in the plan; with nothing done it is the start."""
    plan = Plan.model_validate({"steps": [{"id": "a"}, {"id": "b"}, {"id": "c"}]})
    records = {"a": record("a", "done", 9.0), "b": record("b", "done", 5.0)}
    assert stable_point(plan, records) == "a"
    assert stable_point(plan, {"a": record("a", "failed", 9.0)}) == "the start"


def test_evidence_names_what_was_tried_in_the_same_place():
    """Failures of the lineage are told, other steps' are not, secrets are masked."""
    records = {
        "c": record("c", "void", error="no column x, password=hunter2hunter2"),
        "d": record("d", "failed", error="unrelated"),
        "c2": record("c2", "failed", lineage="c", error="no column y"),
    }
    said = evidence(records, ["c2"])
    assert said.startswith("tried before as c with query: no column x")
    assert "hunter2" not in said
    assert "unrelated" not in said
    assert "no column y" not in said


class Case:
    """A run whose step c and its replacements fail until a name is accepted."""

    def __init__(self, accepted, reflections=(), **options):
        self.calls, self.prompts, self.accepted = [], {}, accepted
        self.reflections = list(reflections)
        self.version = 1
        self.agent = create_mend_agent(
            ScriptedModel(script=self.say),
            tools=[self.query],
            assume="read",
            learn=False,
            seeded=False,
            checkpointer=InMemorySaver(),
            **options,
        )

    def query(self, name: str) -> str:
        """Query something."""
        self.calls.append(name)
        if name.startswith("c") and name != self.accepted:
            raise ValueError(f"no table {name}")
        return name

    def say(self, messages):
        role = re.search(r"ROLE: (\w+)", messages[0].text)[1]
        self.prompts.setdefault(role, []).append(messages[-1].text)
        return getattr(self, role)()

    def patch(self):
        return {"arguments": {}, "why": "nothing to change"}

    def reflect(self):
        planned = {"category": "plan_error", "decision": "local_replan"}
        said = self.reflections.pop(0) if self.reflections else planned
        return {"observed_issue": "no table", "hypotheses": ["a wrong name"], **said}

    def replan(self):
        old = "c" if self.version == 1 else f"c{self.version}"
        self.version += 1
        name = f"c{self.version}"
        step = {"id": name, "tool": "query", "inputs": {"name": name}, "replaces": old}
        return {"replace": [{**step, "expected_output": "a name"}], "why": "another"}

    def plan(self):
        self.version += 1
        name = f"c{self.version}"
        step = {"id": name, "tool": "query", "inputs": {"name": name}}
        said = {**step, "expected_output": "a name", "dependencies": ["b"]}
        return {"goal": "x", "keep": ["a", "b"], "steps": [said]}

    def run(self):
        steps = [
            {"id": "a", "tool": "query", "inputs": {"name": "a"}},
            {
                "id": "b",
                "tool": "query",
                "inputs": {"name": "b"},
                "dependencies": ["a"],
            },
            {
                "id": "c",
                "tool": "query",
                "inputs": {"name": "c"},
                "dependencies": ["b"],
            },
        ]
        return self.agent.invoke({"task": "x", "plan": {"steps": steps}}, THREAD)

    @property
    def values(self):
        return self.agent.get_state(THREAD).values


def test_a_failed_correction_leads_back_to_the_last_stable_point():
    """The second replan starts after b again, with the first one's failure shown."""
    case = Case("c3")
    assert case.run()["status"] == "done"
    assert case.calls == ["a", "b", "c", "c2", "c3"]
    first, second = [c for c in case.values["corrections"] if c["tier"] == "plan"]
    assert first["returned_to"] is None
    assert second["returned_to"] == "b"
    assert "1 earlier replans of it failed; back at b" in second["reason"]
    steps = case.values["steps"]
    assert [steps[i]["status"] for i in ("c", "c2", "c3")] == ["void", "void", "done"]
    assert (
        "tried before as c with query: ValueError: no table c\n"
        in case.prompts["replan"][1]
    )


def test_a_failed_correction_is_evidence_for_the_deeper_reflection():
    """The look at the replacement sees how the replaced step had failed."""
    case = Case("c3")
    case.run()
    looks = case.prompts["reflect"]
    assert len(looks) == 2
    assert "no table c2" in looks[1]
    assert re.search(r"no table c\b", looks[1])


def test_a_changing_attribution_ends_with_a_person_and_the_reason():
    """Three looks that blame something else each time stop the mending."""
    blamed = ("plan_error", "execution_error", "env_error")
    case = Case(
        "never",
        [{"category": each, "decision": "local_replan"} for each in blamed],
        limits=Limits(corrections_per_step=5),
    )
    asked = case.run()["__interrupt__"][0].value
    assert asked["metadata"]["kind"] == "clarification"
    reasons = [r["next_action"] for r in case.values["reflections"]]
    assert reasons[-1].startswith("the attribution changes each time")
    assert case.calls == ["a", "b", "c", "c2", "c3"]


def test_two_corrections_in_vain_are_said_to_the_person():
    """The question names the failure and how often mending had no effect."""
    asked = Case("never").run()["__interrupt__"][0].value
    text = asked["action_requests"][0]["description"]
    assert "2 corrections in a row had no effect. Step 'c3'" in text
    assert "no table c3" in text


def test_without_a_person_the_caps_end_the_mending():
    """With nobody to ask it ends truthfully, within the cap on replans."""
    case = Case("never")
    case.agent = create_mend_agent(
        ScriptedModel(script=case.say),
        tools=[case.query],
        assume="read",
        learn=False,
        seeded=False,
        limits=Limits(replans=4),
    )
    done = case.run()
    assert done["status"] == "partial"
    assert done["report"]["replans"] <= 4
    assert case.calls[:2] == ["a", "b"]
    assert len(case.calls) == len(set(case.calls))
    assert done["report"]["done"] == ["a", "b"]
