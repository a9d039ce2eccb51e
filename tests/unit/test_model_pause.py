"""A provider that is down in the middle of a step costs a pause, not the run (F68)."""

import asyncio
from collections import Counter

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from mendgraph import create_mend_agent
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.models.errors import ModelOutOfMoney

CONFIG = {"configurable": {"thread_id": "t"}}
HOWS = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
BROKE = ModelOutOfMoney("Insufficient Balance")


class World:
    """One tool that takes the number 7 and no other."""

    def __init__(self):
        self.calls = Counter()

    def pick(self, number: int) -> dict:
        """Pick a number."""
        self.calls[number] += 1
        if number != 7:
            raise ValueError(f"invalid value {number} for argument number")
        return {"picked": number}


async def no_sleep(_seconds):
    return None


def agent_of(world, script, *, saver=True):
    return create_mend_agent(
        ScriptedModel(script=ByRole(script)),
        tools=[world.pick],
        assume="read",
        checkpointer=InMemorySaver() if saver else None,
        sleep=no_sleep,
        seeded=False,
    )


def run(agent, given, how="invoke"):
    if how == "invoke":
        return agent.invoke(given, CONFIG)
    return asyncio.run(agent.ainvoke(given, CONFIG))


def steps(*numbers):
    listed = [{"id": f"s{n}", "tool": "pick", "inputs": {"number": n}} for n in numbers]
    return {"task": "pick", "plan": {"steps": listed}}


def answer(result, kind):
    return Command(
        resume={
            each.id: {"decisions": [{"type": kind}]} for each in result["__interrupt__"]
        }
    )


@HOWS
def test_a_patch_that_cannot_be_asked_for_waits_for_the_model(how):
    """The step pauses; after approve the patch is asked for and mends it."""
    world, mended = World(), []
    good = {"arguments": {"number": 7}, "why": "only 7 is taken"}
    script = {"patch": lambda _: good if mended else BROKE}
    agent = agent_of(world, script)
    result = run(agent, steps(1, 7), how)
    asked = result["__interrupt__"][0].value
    assert asked["metadata"]["kind"] == "model_unavailable"
    assert asked["metadata"]["step_id"] == "s1"
    assert "Insufficient Balance" in asked["action_requests"][0]["description"]
    mended.append(True)
    result = run(agent, answer(result, "approve"), how)
    assert result["status"] == "done"
    assert world.calls[1] == 1
    assert world.calls[7] == 2


def test_approve_while_it_is_still_down_pauses_again():
    """Each approve is one more try."""
    agent = agent_of(World(), {"patch": lambda _: BROKE})
    result = run(agent, steps(1))
    for _ in range(2):
        result = run(agent, answer(result, "approve"))
        kind = result["__interrupt__"][0].value["metadata"]["kind"]
        assert kind == "model_unavailable"


def test_reject_goes_on_without_the_model_and_asks_once():
    """The rules decide what is left; reflection does not pause a second time."""
    agent = agent_of(World(), {"patch": lambda _: BROKE, "reflect": lambda _: BROKE})
    result = run(agent, answer(run(agent, steps(1)), "reject"))
    kinds = [i.value["metadata"]["kind"] for i in result.get("__interrupt__", ())]
    notes = agent.get_state(CONFIG).values["reflections"]
    assert notes[-1]["source"] == "rules"
    assert kinds == ["model_unavailable"]
    name = result["__interrupt__"][0].value["action_requests"][0]["name"]
    assert name == "clarify"


def test_without_a_checkpointer_the_rules_go_on():
    """Nobody can be asked: the task ends by the rules and says why."""
    agent = agent_of(World(), {}, saver=False)
    agent.held.deps.reasoner.models[0].script = lambda _: BROKE
    result = agent.invoke(steps(1))
    assert result["status"] == "failed"
    assert "invalid value 1" in result["answer"]


def test_a_pause_of_an_earlier_task_is_not_taken_for_this_one():
    """A new task on the thread asks its own question with its own reason."""
    said = ["first reason"]
    agent = agent_of(World(), {"patch": lambda _: ModelOutOfMoney(said[0])})
    result = run(agent, steps(1))
    said[0] = "second reason"
    again = {**steps(1), "task": "another"}
    result = run(agent, again)
    asked = result["__interrupt__"][0].value["action_requests"][0]["description"]
    assert "second reason" in asked
