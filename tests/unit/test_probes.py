"""Probes: the cheapest look first, only reads, and no verdict without grounds (F29)."""

import re

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph import create_mend_agent
from mendgraph.tools.doubles.scripted import ScriptedModel

ROLE = re.compile(r"ROLE: (\w+)")
CONFIG = {"configurable": {"thread_id": "t"}}
CALLS = []


def failing(path: str) -> dict:
    """Fail for one path."""
    CALLS.append("failing")
    if path == "a":
        raise ValueError("invalid value for argument path")
    return {"path": path}


def look(path: str) -> dict:
    """Look whether it is there."""
    CALLS.append("look")
    return {"there": path == "b"}


def write(path: str) -> dict:
    """Leave something behind."""
    CALLS.append("write")
    return {"ok": True}


def reflected(*probes, **options):
    """Run one failure whose reflection asks for these probes; return the record."""
    CALLS.clear()
    draft = {
        "hypotheses": ["h0", "h1", "h2"],
        "decision": "give_up",
        "probes": list(probes),
        "confidence": 0.7,
    }

    def script(messages):
        role = ROLE.search(messages[0].text)[1]
        return draft if role == "reflect" else {"arguments": {}, "why": "none"}

    agent = create_mend_agent(
        ScriptedModel(script=script),
        tools=[failing, look, write],
        policies={
            "failing": {"effect": "read"},
            "look": {"effect": "read"},
            "write": {"effect": "write"},
        },
        checkpointer=InMemorySaver(),
        seeded=False,
        **options,
    )
    plan = {"steps": [{"id": "s", "tool": "failing", "inputs": {"path": "a"}}]}
    agent.invoke({"task": "t", "plan": plan}, CONFIG)
    return agent.get_state(CONFIG).values["reflections"][-1]


CEL = {"expression": "args.path == 'a'", "confirms": 1}
READ = {"tool": "look", "arguments": {"path": "b"}, "expression": "output.there"}


def test_the_look_that_costs_nothing_comes_first_and_ends_the_search():
    """CEL over what is there confirms, so no tool is called at all."""
    kept = reflected({**READ, "confirms": 0}, CEL)
    assert kept["confirmed_cause"] == "h1"
    assert "look" not in CALLS


def test_competing_causes_are_tested_in_order_of_cost():
    """A refuted cheap one is followed by the read that confirms another."""
    kept = reflected({**READ, "confirms": 2}, {**CEL, "expression": "args.path == 'b'"})
    assert kept["confirmed_cause"] == "h2"
    looks = [line for line in kept["evidence_refs"] if line.startswith("probe")]
    assert [line.rpartition(": ")[2] for line in looks] == ["does not hold", "holds"]
    assert kept["hypotheses"] == ["h0", "h2"]
    assert "refuted: h1" in kept["evidence_refs"]


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        ({"tool": "write", "arguments": {"path": "a"}}, "not a read"),
        ({"tool": "nowhere", "arguments": {}}, "no such tool"),
        ({"tool": "look", "arguments": {}}, "'path' is a required property"),
        ({"tool": "look", "arguments": {"path": "b"}}, "nothing to judge it by"),
        ({"expression": "args.path + 1"}, "failed"),
        ({"expression": "output.x"}, "failed"),
        ({"expression": "'text'"}, "not true or false"),
    ],
)
def test_what_cannot_be_judged_confirms_nothing(probe, told):
    """Effects, unknown tools, wrong arguments and broken rules are said and skipped."""
    kept = reflected({**probe, "confirms": 0})
    assert kept["confirmed_cause"] is None
    assert any(told in line for line in kept["evidence_refs"])
    assert "write" not in CALLS


def test_the_failed_tool_answering_another_call_confirms_the_change():
    """It is the rerun with one thing changed, made on a read."""
    kept = reflected({"tool": "failing", "arguments": {"path": "b"}, "confirms": 0})
    assert kept["confirmed_cause"] == "h0"


def test_a_read_a_person_would_be_asked_about_is_not_made():
    """A probe has no more rights than a step, and asks nobody."""
    kept = reflected({**READ, "confirms": 0}, interrupt_on={"look": True})
    assert kept["confirmed_cause"] is None
    assert "look" not in CALLS
