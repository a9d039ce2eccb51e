"""Sub-tasks: budgets hold, effects are not repeated, a crash costs nothing (F17)."""

import asyncio
import runpy
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.types import Command

from mendgraph import Limits, create_mend_agent
from mendgraph.state.limits import SLICED, Spent, narrowed, slice_of

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "subtask_world.py"))
no_sleep = KIT["no_sleep"]
World = KIT["World"]
agent_of = KIT["agent_of"]
run = KIT["run"]
call = KIT["call"]
sub = KIT["sub"]
task = KIT["task"]


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


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
