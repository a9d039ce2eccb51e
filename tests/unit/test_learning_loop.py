"""What a mended failure teaches, seen through the public API (F23, F27, F28, F29)."""

import asyncio
import json
import re

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph import Limits, create_mend_agent
from mendgraph.state.lesson import MendRule, RuleStage
from mendgraph.tools.doubles.scripted import ScriptedModel

ROLE = re.compile(r"ROLE: (\w+)")
CONFIG = {"configurable": {"thread_id": "t"}}


def talker(**answers):
    """A scripted double that answers by role; a list is used up, a value stays."""
    asked = []

    def script(messages):
        role = ROLE.search(messages[0].text)[1]
        asked.append(role)
        given = answers[role]
        return given.pop(0) if isinstance(given, list) else given

    return ScriptedModel(script=script), asked


def agent_of(*tools, model=None, **options):
    async def sleep(_seconds):
        return None

    return create_mend_agent(
        model,
        tools=tools,
        assume="read",
        seeded=False,
        checkpointer=InMemorySaver(),
        sleep=sleep,
        **options,
    )


def library_of(agent):
    library = agent.held.deps.library(agent.held.deps.store)
    asyncio.run(library.ensure())
    return library


def one(tool, **inputs):
    return {"steps": [{"id": "s1", "tool": tool, "inputs": inputs}]}


def ran(agent, plan, task="t"):
    agent.invoke({"task": task, "plan": plan}, CONFIG)
    return agent.get_state(CONFIG).values


RULE = MendRule(
    id="r1",
    signature="execution_error:param_error:ask",
    condition="'mode' in args && args.mode == 'old'",
    patch={"mode": "'new'"},
    stage=RuleStage.BUILT_IN,
    source="user",
)
PATCH = {"arguments": {"mode": "new"}, "why": "the old one is gone"}
NO_PATCH = {"arguments": {}, "why": "no idea"}
REFLECTION = {
    "category": "execution_error",
    "subclass": "param_error",
    "observed_issue": "the mode is refused",
    "hypotheses": ["the mode is outdated"],
    "decision": "patch",
    "patch": {"mode": "new"},
    "lesson": "call ask with mode=new",
    "confidence": 0.9,
}


def ask(mode: str) -> dict:
    """Answer in one mode."""
    if mode == "old":
        raise ValueError(f"invalid value for argument mode: {mode}")
    return {"mode": mode}


def other(mode: str) -> dict:
    """Answer in the old mode only."""
    if mode == "new":
        raise ValueError("invalid value for argument mode: new")
    return {"mode": mode}


def test_a_rule_on_arguments_alone_mends_the_call_before_it_is_made():
    """A known fault costs no failed call and no model, and the rule counts its use."""
    agent = agent_of(ask)
    library = library_of(agent)
    asyncio.run(library.rules.add(RULE))
    state = ran(agent, one("ask", mode="old"))
    assert state["status"] == "done"
    assert state["report"]["executions"] == 1
    attempt = state["steps"]["s1"]["attempts"][0]
    assert (attempt["changed"], attempt["status"]) == (["mode"], "ok")
    rule = library.rules.get("r1")
    assert (rule.hits, rule.successes, rule.misjudgements) == (1, 1, 0)


def test_a_rule_that_spoils_a_clean_call_is_undone_and_counts_a_misfire():
    """The call as planned is tried after the changed one failed, and the rule pays."""
    agent = agent_of(other)
    library = library_of(agent)
    rule = RULE.but(signature="execution_error:param_error:other")
    asyncio.run(library.rules.add(rule))
    state = ran(agent, one("other", mode="old"))
    assert state["status"] == "done"
    counted = library.rules.get("r1")
    assert counted.misjudgements == 1
    assert counted.stage is RuleStage.TEMPLATE  # one misjudgement demotes it


def test_a_rule_never_changes_what_is_asked_for_permission():
    """The person is asked for the call as the rule left it, never for another."""
    agent = agent_of(ask, interrupt_on={"ask": True})
    asyncio.run(library_of(agent).rules.add(RULE))
    agent.invoke({"task": "t", "plan": one("ask", mode="old")}, CONFIG)
    (asked,) = agent.get_state(CONFIG).interrupts
    assert asked.value["action_requests"][0]["args"] == {"mode": "new"}


def test_a_fix_that_worked_confirms_the_cause_it_was_built_on():
    """The record is open while the cause is a hypothesis, and closed by the rerun."""
    model, _ = talker(patch=NO_PATCH, reflect=REFLECTION)
    agent = agent_of(ask, model=model)
    state = ran(agent, one("ask", mode="old"))
    assert state["status"] == "done"
    first, last = [r for r in state["reflections"] if not r["light"]]
    assert first["confirmed_cause"] is None
    assert first["resolved"] is None
    assert (first["stated"], first["confidence"]) == (0.9, None)
    assert any("too few outcomes" in line for line in first["evidence_refs"])
    assert last["id"] == first["id"]
    assert last["confirmed_cause"] == "the mode is outdated"
    assert last["resolved"] is True
    (row,) = library_of(agent).calibration.report()
    assert (row.outcomes, row.stated, row.enough) == (1, 0.9, False)


def test_a_fix_that_failed_leaves_the_cause_unconfirmed():
    """The outcome goes to the calibration, and the hypothesis stays one."""
    wrong = {**REFLECTION, "patch": {"mode": "older"}}
    give_up = {**REFLECTION, "decision": "give_up", "patch": None}
    model, _ = talker(patch=NO_PATCH, reflect=[wrong, give_up, give_up])

    def picky(mode: str) -> dict:
        """Refuse everything."""
        raise ValueError(f"invalid value for argument mode: {mode}")

    agent = agent_of(picky, model=model)
    state = ran(agent, one("picky", mode="old"))
    directed = [r for r in state["reflections"] if r["resolved"] is not None]
    assert [r["resolved"] for r in directed] == [False]
    assert directed[0]["confirmed_cause"] is None


def make(quote: bool = False) -> dict:
    """Make a statement."""
    return {"sql": 'SELECT "when"' if quote else "SELECT when"}


def execute_sql(sql: str) -> dict:
    """Run a statement."""
    if '"when"' not in sql:
        raise ValueError('syntax error at or near "when"')
    return {"rows": [1]}


CHAIN = {
    "steps": [
        {"id": "make", "tool": "make", "inputs": {"quote": False}},
        {
            "id": "run",
            "tool": "execute_sql",
            "inputs": {"sql": "{{ make.sql }}"},
            "depends_on": ["make"],
        },
    ]
}
BLAMING = {
    **REFLECTION,
    "hypotheses": ["a reserved word is not quoted"],
    "cause_step": "make",
    "decision": "give_up",
    "patch": None,
    "counterfactual": {"step": "make", "argument": "quote", "value": True},
}


def test_a_counterfactual_is_replayed_where_nothing_can_happen():
    """The replay confirms the cause and its step, and feeds the sensitivity map."""
    model, _ = talker(patch=NO_PATCH, reflect=BLAMING)
    agent = agent_of(make, execute_sql, model=model)
    state = ran(agent, CHAIN)
    kept = state["reflections"][-1]
    assert kept["confirmed_cause"] == "a reserved word is not quoted"
    assert kept["cause_step"] == "make"
    assert any("run would have passed" in line for line in kept["evidence_refs"])
    (seen,) = library_of(agent).influences.all()
    assert (seen.cause, seen.argument, seen.effect) == ("make", "quote", "execute_sql")
    assert seen.mattered is True


def test_a_counterfactual_through_an_effect_is_never_tried():
    """Where a step of the chain writes, nothing is called and it is said why."""
    calls = []

    def writer(sql: str) -> dict:
        """Write."""
        calls.append(sql)
        raise ValueError('syntax error at or near "when"')

    plan = json.loads(json.dumps(CHAIN))
    plan["steps"][1]["tool"] = "writer"
    model, _ = talker(patch=NO_PATCH, reflect=BLAMING)
    agent = agent_of(
        make, writer, model=model, policies={"writer": {"effect": "write"}}
    )
    state = ran(agent, plan)
    kept = state["reflections"][-1]
    assert kept["confirmed_cause"] is None
    assert any("not tried: writer" in line for line in kept["evidence_refs"])
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("expression", "confirmed", "decision"),
    [
        ("args.mode == 'old'", "the mode is outdated", "patch"),
        ("args.mode == 'else'", None, "local_replan"),
        ("nothing.there == 1", None, "patch"),
    ],
)
def test_a_probe_confirms_or_stops_a_patch(expression, confirmed, decision):
    """A refuted cause is not acted on; what cannot be judged changes nothing."""
    probing = {**REFLECTION, "probes": [{"expression": expression, "confirms": 0}]}
    replan = {"impossible": "no other way"}
    model, _ = talker(patch=NO_PATCH, reflect=probing, replan=replan)
    agent = agent_of(ask, model=model, limits=Limits(clarifications=0))
    state = ran(agent, one("ask", mode="old"))
    first = next(r for r in state["reflections"] if not r["light"])
    assert (first["confirmed_cause"], first["decision"]) == (confirmed, decision)
    refuted = any("refuted: the mode" in line for line in first["evidence_refs"])
    stands = "the mode is outdated" in first["hypotheses"]
    assert stands is not refuted


def test_a_cause_of_low_worth_asks_for_more_opinions():
    """Once outcomes say that such causes are mostly wrong, samples are compared."""
    model, asked = talker(patch=NO_PATCH, reflect=REFLECTION)
    agent = agent_of(ask, model=model)
    library = library_of(agent)
    for _ in range(12):
        library.calibration.record("execution_error", "param_error", 0.9, right=False)
    state = ran(agent, one("ask", mode="old"))
    assert asked.count("reflect") == 3
    first = next(r for r in state["reflections"] if not r["light"])
    assert first["band"] == "explore"
    assert first["confidence"] < 0.6
    assert first["confirmed_cause"] is None
    assert any("opinion of 3 of 3 samples" in line for line in first["evidence_refs"])


def test_reflecting_on_one_step_does_not_stop_the_others():
    """While the model thinks about a failure, an independent chain runs to its end."""
    times = {}
    waiting = asyncio.Event()

    async def broken(x: int) -> dict:
        """Fail."""
        raise ValueError("invalid value for argument x")

    async def link(x: int) -> dict:
        """Be one link of the other chain."""
        times.setdefault("links", []).append(x)
        if x == 3:
            waiting.set()
        return {"x": x + 1}

    class Thinking(ScriptedModel):
        async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
            if ROLE.search(messages[0].text)[1] == "reflect":
                times["reflection began after"] = list(times.get("links", ()))
                await asyncio.wait_for(waiting.wait(), 30)
                times["reflection ended after"] = list(times["links"])
            return await super()._agenerate(messages, stop, run_manager, **kwargs)

    def script(messages):
        role = ROLE.search(messages[0].text)[1]
        return NO_PATCH if role == "patch" else {**REFLECTION, "decision": "give_up"}

    steps = [{"id": "bad", "tool": "broken", "inputs": {"x": 1}}]
    for n in range(1, 4):
        value = f"{{{{ l{n - 1}.x }}}}" if n > 1 else 1
        needs = [f"l{n - 1}"] if n > 1 else []
        inputs = {"x": value}
        steps.append(
            {"id": f"l{n}", "tool": "link", "inputs": inputs, "depends_on": needs}
        )
    agent = agent_of(broken, link, model=Thinking(script=script))
    result = asyncio.run(agent.ainvoke({"task": "t", "plan": {"steps": steps}}, CONFIG))
    assert result["status"] == "partial"
    assert times["reflection ended after"] == [1, 2, 3]
    records = agent.get_state(CONFIG).values["steps"]
    assert [records[f"l{n}"]["status"] for n in (1, 2, 3)] == ["done"] * 3
    assert records["bad"]["status"] == "failed"


def test_the_second_task_uses_what_the_first_one_learned():
    """One model call mends the first task; after two the strategy mends alone."""
    model, asked = talker(patch=PATCH, reflect=REFLECTION)
    agent = agent_of(ask, model=model)
    counts = []
    for number in range(4):
        config = {"configurable": {"thread_id": f"t{number}"}}
        before = len(asked)
        result = agent.invoke(
            {"task": f"t{number}", "plan": one("ask", mode="old")}, config
        )
        assert result["status"] == "done"
        counts.append(len(asked) - before)
    assert counts == [1, 1, 0, 0]
