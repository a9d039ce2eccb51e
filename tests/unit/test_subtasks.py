"""A step may be a task of its own: fewer rights, a slice of every budget (F09)."""

import asyncio
import os
import subprocess
import sys
import textwrap
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from mendgraph import Limits, PlanError, ToolPolicy, create_mend_agent
from mendgraph.state.limits import SLICED, Spent, narrowed, slice_of
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.scripted import ScriptedModel

CONFIG = {"configurable": {"thread_id": "t"}}
HOWS = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


async def no_sleep(_seconds):
    return None


class World:
    """Tools that count their calls."""

    def __init__(self, *broken):
        self.calls, self.broken = Counter(), set(broken)

    def look(self, name: str) -> dict:
        """Look something up."""
        self.calls[name] += 1
        if name in self.broken:
            raise ValueError(f"{name} cannot be found like this")
        return {"name": name}

    def pay(self, name: str) -> dict:
        """Pay once."""
        self.calls[name] += 1
        return {"paid": name}

    def tools(self):
        return [self.look, self.pay]


def agent_of(world, script=None, *, saver=True, **options):
    model = None
    if script is not None:
        said = ByRole({"patch": lambda _: {"arguments": {}}, **script})
        model = ScriptedModel(script=said)
    options = {"policies": {"pay": ToolPolicy(effect="irreversible")}, **options}
    return create_mend_agent(
        model,
        tools=world.tools(),
        assume="read",
        checkpointer=InMemorySaver() if saver else None,
        sleep=no_sleep,
        seeded=False,
        **options,
    )


def run(agent, given, how="invoke"):
    if how == "invoke":
        return agent.invoke(given, CONFIG)
    return asyncio.run(agent.ainvoke(given, CONFIG))


def call(step_id, tool="look", *needs):
    inputs = {"name": step_id}
    return {"id": step_id, "tool": tool, "inputs": inputs, "depends_on": list(needs)}


def sub(step_id, *steps, tools=("look", "pay"), needs=(), **fields):
    task = {"goal": f"do {step_id}", "tools": list(tools), **fields}
    if steps:
        task["plan"] = {"steps": list(steps)}
    return {"id": step_id, "subtask": task, "depends_on": list(needs)}


def task(*steps):
    return {"task": "t", "plan": {"steps": list(steps)}}


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


def test_another_try_of_a_sub_task_does_not_repeat_its_effects():
    """The ledger knows a sub-task by its step: what was paid is reused (F17)."""
    world = World("b")
    inner = sub("s", call("p", "pay"), call("b", "look", "p"))
    agent = agent_of(world)
    result = run(agent, task(inner))
    for _ in range(3):
        if "__interrupt__" not in result:
            break
        asked = result["__interrupt__"][0]
        said = {"decisions": [{"type": "respond", "message": "retry"}]}
        world.broken.clear()
        result = run(agent, Command(resume={asked.id: said}))
    assert world.calls["p"] == 1


def test_another_try_of_a_planned_sub_task_goes_on_with_its_plan():
    """The model is not let plan the same payment twice under another name."""
    world = World("b")
    first = {"goal": "g", "steps": [call("p", "pay"), call("b", "look", "p")]}
    second = {"goal": "g", "steps": [call("p2", "pay")]}
    script = {
        "plan": [first, second],
        "score": lambda _: {"candidates": []},
        "critique": lambda _: {"score": 1.0},
        "reflect": lambda _: {"decision": "clarify", "observed_issue": "?"},
    }
    agent = agent_of(world, script, paths=1)
    result = run(agent, task(sub("s")))
    for said in ("stop", "retry"):
        asked = result["__interrupt__"][0]
        value = {"decisions": [{"type": "respond", "message": said}]}
        if said == "retry":
            world.broken.clear()
        result = run(agent, Command(resume={asked.id: value}))
    assert result["status"] == "done"
    assert (world.calls["p"], world.calls["p2"]) == (1, 0)


def test_a_replan_sees_the_effects_inside_a_sub_task():
    """A failed sub-task that has paid is not planned away."""
    world = World("b")
    inner = sub("s", call("p", "pay"), call("b", "look", "p"))
    away = {"drop": ["s"], "add": [call("n")]}
    keeps = {"add": [call("n")]}
    script = {
        "reflect": [
            {"decision": "give_up"},
            {"decision": "local_replan", "observed_issue": "not like this"},
            {"decision": "give_up"},
            {"decision": "give_up"},
        ],
        "replan": [away, keeps],
    }
    agent = agent_of(world, script)
    run(agent, task(inner))
    model = agent.held.deps.reasoner.models[0]
    asked = ["\n".join(str(m.text) for m in p) for p in model.prompts]
    assert any("'s' has had an effect" in each for each in asked)
    assert world.calls["p"] == 1


def test_policies_reach_their_own_tools_inside_a_sub_task():
    """A confirm or fallback tool of a policy needs no leave from the plan."""
    world = World("a")

    def spare(name: str) -> dict:
        """Look elsewhere."""
        world.calls[f"spare {name}"] += 1
        return {"name": name}

    agent = create_mend_agent(
        None,
        tools=[world.look, world.pay, spare],
        policies={"look": {"effect": "read", "fallback": "spare"}},
        assume="read",
        sleep=no_sleep,
        seeded=False,
    )
    result = agent.invoke(task(sub("s", call("a"), tools=["look"])))
    assert result["status"] == "done"
    assert world.calls["spare a"] == 1


LIMITS = st.builds(
    Limits,
    executions=st.integers(0, 60),
    retries=st.integers(0, 20),
    model_calls=st.integers(0, 60),
    reasoning_tokens=st.integers(0, 10_000),
    total_tokens=st.integers(0, 100_000),
)
SHARES = st.lists(st.floats(0.01, 1.0), min_size=8, max_size=8)


@given(LIMITS, SHARES)
def test_slices_set_aside_one_after_the_other_never_exceed_the_parent(limits, shares):
    """Whatever the shares, the sum of all slices is within every allowance."""
    spent = Spent()
    for share in shares:
        slice_ = slice_of(limits, spent, share)
        child = narrowed(limits, spent, slice_, share)
        assert child.executions == slice_.executions
        spent = spent.plus(slice_)
    for name in SLICED:
        assert getattr(spent, name) <= getattr(limits, name)
    assert spent.budgeted_tokens <= limits.reasoning_tokens
    assert spent.total_tokens <= limits.total_tokens


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.integers(8, 40), st.lists(st.floats(0.1, 1), min_size=8, max_size=8))
def test_eight_sub_tasks_at_once_stay_within_the_parents_calls(allowed, shares):
    """No interleaving of eight greedy children spends more than the parent may."""
    world = World()
    steps = [
        sub(f"s{n}", *[call(f"s{n}_{m}") for m in range(6)], share=share)
        for n, share in enumerate(shares)
    ]
    agent = agent_of(world, saver=False, limits=Limits(executions=allowed))
    result = asyncio.run(agent.ainvoke(task(*steps)))
    assert sum(world.calls.values()) <= allowed
    assert result["report"]["executions"] <= allowed


def test_a_slice_stays_set_aside_while_a_person_is_asked():
    """Siblings cannot spend what a waiting sub-task has been given."""
    world = World()
    agent = agent_of(world, interrupt_on={"pay": True}, limits=Limits(executions=11))
    waiting = sub("s", call("a"), call("p", "pay", "a"), share=0.5)
    others = [call(f"o{n}", "look", *([f"o{n - 1}"] if n else [])) for n in range(12)]
    result = run(agent, task(waiting, *others))
    asked = result["__interrupt__"][0]
    answer = Command(resume={asked.id: {"decisions": [{"type": "approve"}]}})
    result = run(agent, answer)
    assert world.calls["p"] == 1
    assert sum(world.calls.values()) <= 11
    assert result["report"]["executions"] <= 11


CHILD = '''
import os, sys, pathlib
from mendgraph import create_mend_agent

folder, die = pathlib.Path(sys.argv[1]), sys.argv[2] == "die"
log = folder / "calls.txt"

def look(name: str) -> dict:
    """Look something up."""
    with log.open("a") as file:
        file.write(name + "\\n")
    if die and name == "b":
        os._exit(9)
    return {"name": name}

def call(step_id, *needs):
    return {"id": step_id, "tool": "look", "inputs": {"name": step_id},
            "depends_on": list(needs)}

inner = {"goal": "g", "tools": ["look"],
         "plan": {"steps": [call("a"), {**call("b", "a")}, call("c", "b")]}}
plan = {"steps": [call("k"), {"id": "s", "subtask": inner, "depends_on": ["k"]}]}
agent = create_mend_agent(None, tools=[look], assume="read", persist=folder / "p",
                          seeded=False)
config = {"configurable": {"thread_id": "t"}}
given = {"task": "t", "plan": plan} if die else None
print(agent.invoke(given, config)["status"])
agent.close()
'''


def test_a_killed_nested_run_goes_on_where_it_was(tmp_path):
    """After a crash inside a sub-task its finished steps are not run again (F73)."""
    script = tmp_path / "child.py"
    script.write_text(textwrap.dedent(CHILD))

    def start(mode):
        return subprocess.run(
            [sys.executable, str(script), str(tmp_path), mode],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )

    assert start("die").returncode == 9
    assert (tmp_path / "calls.txt").read_text().split() == ["k", "a", "b"]
    went_on = start("go on")
    assert went_on.stdout.strip() == "done", went_on.stderr
    assert (tmp_path / "calls.txt").read_text().split() == ["k", "a", "b", "b", "c"]
