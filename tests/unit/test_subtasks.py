"""A step may be a task of its own, with fewer rights (F09)."""

import runpy
from pathlib import Path

import pytest
from langgraph.types import Command

from mendgraph import PlanError

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "subtask_world.py"))
HOWS = KIT["HOWS"]
World = KIT["World"]
agent_of = KIT["agent_of"]
run = KIT["run"]
call = KIT["call"]
sub = KIT["sub"]
task = KIT["task"]


@HOWS
def test_a_sub_task_runs_its_own_plan(how):
    """Its steps run, its result binds, and its calls are the parent's."""
    world = World()
    inner = sub("s", call("a"), call("b", "look", "a"))
    after = {
        "id": "z",
        "tool": "look",
        "inputs": {"name": "{{ s.status }}"},
        "depends_on": ["s"],
    }
    result = run(agent_of(world), task(inner, after), how)
    assert result["status"] == "done"
    assert world.calls == {"a": 1, "b": 1, "done": 1}
    assert result["report"]["executions"] == 4


@HOWS
def test_a_sub_task_without_a_plan_is_planned_by_the_model(how):
    """The planner sees the sub-task's goal and its tools only."""
    world = World()
    script = {"plan": [{"goal": "g", "steps": [call("a")]}]}
    agent = agent_of(world, script)
    result = run(agent, task(sub("s", tools=["look"])), how)
    assert result["status"] == "done"
    assert world.calls == {"a": 1}
    model = agent.held.deps.reasoner.models[0]
    prompt = "\n".join(str(m.text) for m in model.prompts[0])
    assert "do s" in prompt
    assert "look(" in prompt
    assert "pay(" not in prompt
    assert result["report"]["model_calls"] == 1


REFUSED = {
    "a tool the parent lacks": (sub("s", call("a"), tools=["rm"]), "may not use 'rm'"),
    "a tool it was not given": (
        sub("s", call("a", "pay"), tools=["look"]),
        "in its sub-task: step 'a': no tool is called 'pay'",
    ),
    "a rule that does not compile": (
        sub("s", call("a"), acceptance="output.("),
        "acceptance",
    ),
    "nesting too deep": (
        sub("s", sub("t", sub("u", sub("v", call("a"))))),
        "nested any deeper",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_sub_task_that_may_not_run_is_refused_before_anything_runs(fault):
    """Rights never grow, whatever a plan says."""
    world = World()
    step, told = REFUSED[fault]
    with pytest.raises(PlanError, match=told.replace("(", r"\(")):
        run(agent_of(world), task(call("first"), step))
    assert not world.calls


def test_the_models_plan_for_a_sub_task_gains_no_tool():
    """A planner inside a sub-task that names another tool is refused."""
    world = World()
    wrong = {"goal": "g", "steps": [call("x", "pay")]}
    script = {"plan": [wrong] * 3, "reflect": [{"decision": "give_up"}]}
    result = run(agent_of(world, script), task(sub("s", tools=["look"])))
    assert result["status"] == "failed"
    assert world.calls["x"] == 0
    assert "no tool is called 'pay'" in result["answer"]


def test_the_parents_rules_apply_inside():
    """A denied tool stays denied in a sub-task that was given it."""
    world = World()
    rule = {"tool": "pay", "decision": "deny", "reason": "not today"}
    agent = agent_of(world, saver=False, authorise=[rule])
    result = run(agent, task(sub("s", call("a", "pay"))))
    assert result["status"] == "failed"
    assert world.calls["a"] == 0
    assert "not today" in result["answer"]


def test_the_acceptance_rule_decides():
    """A sub-task that is done and not accepted has failed."""
    world = World()
    good = sub("s", call("a"), acceptance="size(output.done) == 1")
    assert run(agent_of(world), task(good))["status"] == "done"
    bad = sub("s", call("a"), acceptance="size(output.done) == 2")
    result = run(agent_of(World(), saver=False), task(bad))
    assert result["status"] == "failed"
    assert "acceptance rule" in result["answer"]


@HOWS
def test_an_approval_inside_a_sub_task_is_asked_and_resumed(how):
    """The interrupt passes through; what was done before it is not done again."""
    world = World()
    agent = agent_of(world, interrupt_on={"pay": True})
    inner = sub("s", call("a"), call("p", "pay", "a"))
    result = run(agent, task(inner, call("z", "look", "s")), how)
    asked = result["__interrupt__"][0]
    assert asked.value["action_requests"][0]["name"] == "pay"
    assert world.calls == {"a": 1}
    answer = Command(resume={asked.id: {"decisions": [{"type": "approve"}]}})
    result = run(agent, answer, how)
    assert result["status"] == "done"
    assert world.calls == {"a": 1, "p": 1, "z": 1}
    assert result["report"]["executions"] == 4


def test_two_nested_approvals_are_answered_one_by_one():
    """Each sub-task waits for its own answer; a partial answer leaves the other."""
    world = World()
    agent = agent_of(world, interrupt_on={"pay": True})
    result = run(agent, task(sub("s", call("p", "pay")), sub("t", call("q", "pay"))))
    first, second = result["__interrupt__"]
    yes = {"decisions": [{"type": "approve"}]}
    result = run(agent, Command(resume={first.id: yes}))
    assert [each.id for each in result["__interrupt__"]] == [second.id]
    result = run(agent, Command(resume={second.id: yes}))
    assert result["status"] == "done"
    assert world.calls == {"p": 1, "q": 1}


def test_a_failed_sub_task_is_replanned_by_its_parent():
    """Its failure is a step's failure: looked at, then mended in the parent's plan."""
    world = World("a")
    fresh = {"id": "n", "tool": "look", "inputs": {"name": "n"}, "replaces": "s"}
    script = {
        "plan": [],
        "reflect": [
            {"decision": "give_up"},
            {"decision": "local_replan", "observed_issue": "not like this"},
        ],
        "replan": [{"replace": [fresh]}],
    }
    result = run(agent_of(world, script), task(call("k"), sub("s", call("a"))))
    assert result["status"] == "done"
    assert world.calls["n"] == 1
    assert world.calls["k"] == 1
