"""Root causes are traced upstream by code, before and without a model (F26, F27)."""

import asyncio
import json
import re

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph import create_mend_agent
from mendgraph.nodes.suspicion import Fed, suspicions
from mendgraph.state.failure import (
    Category,
    Classification,
    Failure,
    FailureFacts,
    Reaction,
    Subclass,
)
from mendgraph.tools.doubles.scripted import ScriptedModel

ROLE = re.compile(r"ROLE: (\w+)")


def failure(message="it failed", category=Category.EXECUTION):
    verdict = Classification(
        category=category,
        subclass=Subclass.PARAM_ERROR,
        transient=False,
        reaction=Reaction.ADJUST_PARAMS,
        confidence=0.8,
        reason="r",
        rule="r",
    )
    return Failure(
        facts=FailureFacts(message=message, tool="run"), classification=verdict
    )


def fed(value, **more):
    return Fed("sql", "a.sql", ("a",), value, **more)


@pytest.mark.parametrize(
    ("value", "message", "told"),
    [
        (None, "x", "null"),
        ("", "x", "nothing"),
        ([], "x", "nothing"),
        ("SELECT when FROM t", 'syntax error at or near "when"', "'when'"),
        ("```sql\nSELECT 1\n```", "syntax error", "Markdown fence"),
        ("caf\ufffd au lait", "x", "decoded wrongly"),
        ("Traceback (most recent call last): boom", "x", "error as its result"),
        ([{"a": 1}, {"a": 2}], "no such column: price", "without 'price'"),
        ([{"a": None}, {"a": None}, {"a": 1}], "x", "null in 67%"),
        ("data/gone.csv", "no such file: 'data/gone.csv'", "error quotes"),
    ],
)
def test_a_value_that_explains_the_error_is_suspicious(value, message, told):
    """Nulls, empties, fences, broken text, the word in the error speak against it."""
    found = suspicions(fed(value), failure(message))
    assert told in found[0].what
    assert found[0].step_id == "a"
    assert found[0].strength >= 0.6


@pytest.mark.parametrize("value", [0, False, "SELECT 1", [{"a": 1}], 7.5])
def test_a_sound_value_is_not_suspected(value):
    """Zero and false are values; text the error does not speak of is left alone."""
    assert suspicions(fed(value), failure("connection reset")) == []


def test_an_environment_fault_blames_upstream_only_for_what_is_plainly_wrong():
    """A timeout beside a text with a quoted word says nothing about that text."""
    outside = failure("timeout near token", Category.ENVIRONMENT)
    assert suspicions(fed("a token in a text"), outside) == []
    assert suspicions(fed(None), outside)[0].strength >= 0.9


def generate(topic: str) -> dict:
    """Write a statement."""
    return {"sql": f"SELECT when FROM {topic}"}  # noqa: S608  nothing is run


def polish(sql: str) -> dict:
    """Pass a statement on with a comment."""
    return {"sql": f"{sql} -- checked"}


def run_sql(sql: str) -> dict:
    """Run a statement."""
    word = next((w for w in sql.split() if w == "when"), None)
    if word:
        raise ValueError(f'syntax error at or near "{word}"')
    return {"rows": [1]}


PLAN = {
    "steps": [
        {"id": "gen", "tool": "generate", "inputs": {"topic": "log"}},
        {
            "id": "mid",
            "tool": "polish",
            "inputs": {"sql": "{{ gen.sql }}"},
            "depends_on": ["gen"],
        },
        {
            "id": "run",
            "tool": "run_sql",
            "inputs": {"sql": "{{ mid.sql }}"},
            "depends_on": ["mid"],
        },
    ]
}


def deep(result):
    return [r for r in result if not r["light"]]


def state_of(agent, plan, config=None):
    config = config or {"configurable": {"thread_id": "t"}}
    agent.invoke({"task": "t", "plan": plan}, config)
    return agent.get_state(config).values


def test_the_record_names_the_upstream_step_without_a_model():
    """The rules' own reflection names step and evidence; no cause is confirmed."""
    agent = create_mend_agent(
        None,
        tools=[generate, polish, run_sql],
        assume="read",
        seeded=False,
        checkpointer=InMemorySaver(),
    )
    kept = deep(state_of(agent, PLAN)["reflections"])[0]
    assert kept["cause_step"] == "mid"
    assert kept["confirmed_cause"] is None
    assert "'when', which the error names" in kept["hypotheses"][0]
    assert any("upstream mid → sql" in line for line in kept["evidence_refs"])


def test_a_bad_text_is_followed_to_where_it_first_appears():
    """A fence that a later step only passed on is blamed on the step that made it."""

    def fenced(topic: str) -> dict:
        """Write a statement in a fence."""
        return {"sql": f"```sql\nSELECT {topic}\n```"}

    def passed_on(sql: str) -> dict:
        """Pass it on."""
        return {"sql": sql}

    def refuse(sql: str) -> dict:
        """Refuse fences."""
        raise ValueError("syntax error at the first character")

    plan = json.loads(json.dumps(PLAN))
    for step, tool in zip(
        plan["steps"], ("fenced", "passed_on", "refuse"), strict=True
    ):
        step["tool"] = tool
    agent = create_mend_agent(
        None,
        tools=[fenced, passed_on, refuse],
        assume="read",
        seeded=False,
        checkpointer=InMemorySaver(),
    )
    kept = deep(state_of(agent, plan)["reflections"])[0]
    assert kept["cause_step"] == "gen"
    assert "it came through mid" in kept["hypotheses"][0]


def test_the_model_is_shown_the_chain_and_the_suspicion():
    """What fed the step, what it passed, what speaks against it: all in the prompt."""
    seen = []

    def script(messages):
        role = ROLE.search(messages[0].text)[1]
        if role == "reflect":
            seen.append(messages[-1].text)
            return {"decision": "give_up", "hypotheses": ["h"], "confidence": 0.9}
        return {"arguments": {}, "why": "none"}

    agent = create_mend_agent(
        ScriptedModel(script=script),
        tools=[generate, polish, run_sql],
        assume="read",
        seeded=False,
    )
    asyncio.run(agent.ainvoke({"task": "t", "plan": PLAN}))
    assert "mid: fed sql; passed every check made of it" in seen[0]
    assert "SUSPICIOUS: sql: made the text with 'when'" in seen[0]
