"""A clean step keeps no checkpoints of its own; whatever may be missed is kept."""

import asyncio

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.types import Command

from mendgraph import create_mend_agent
from mendgraph.tools.deferred import DeferredSaver

CONFIG = {"configurable": {"thread_id": "t1"}}
SPACE = "step:1"


class Killed(BaseException):
    """Stands for the death of the process."""


class Tool:
    """Fails as scripted: an exception a call, then success."""

    def __init__(self, *faults):
        self.faults = list(faults)
        self.calls = 0

    async def fetch(self, x: int) -> dict:
        """Fetch a number."""
        self.calls += 1
        if self.faults and (fault := self.faults.pop(0)):
            raise fault
        return {"value": x}


async def at_once(_seconds):
    """Do not wait."""


def agent_of(tool, saver, **options):
    return create_mend_agent(
        None,
        tools=[tool.fetch],
        assume="read",
        checkpointer=saver,
        sleep=at_once,
        **options,
    )


GIVEN = {
    "task": "t",
    "plan": {"steps": [{"id": "a", "tool": "fetch", "inputs": {"x": 1}}]},
}


def spaces(saver):
    """Return the namespaces in which checkpoints of steps are kept."""
    found = {c.config["configurable"]["checkpoint_ns"] for c in saver.list(None)}
    return {each for each in found if each.startswith("step:")}


def run_of_state(tool, saver):
    return agent_of(tool, saver).get_state(CONFIG)


def run_of(agent, mode):
    def run(given):
        if mode == "sync":
            return agent.invoke(given, CONFIG)
        return asyncio.run(agent.ainvoke(given, CONFIG))

    return run


@pytest.fixture(params=["sync", "async"])
def mode(request):
    return request.param


def test_a_clean_step_keeps_none(mode):
    saver = InMemorySaver()
    result = run_of(agent_of(Tool(), saver), mode)(GIVEN)
    assert result["status"] == "done"
    assert spaces(saver) == set()


def test_a_mended_step_keeps_all_of_its_own(mode):
    """From the first failure on, and what came before it, in order."""
    saver = InMemorySaver()
    result = run_of(agent_of(Tool(ConnectionError("reset")), saver), mode)(GIVEN)
    assert result["status"] == "done"
    (space,) = spaces(saver)
    kept = list(saver.list({"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}))
    own = [
        c
        for c in saver.list(None)
        if c.config["configurable"]["checkpoint_ns"] == space
    ]
    assert kept
    steps = [c.metadata["step"] for c in reversed(own)]
    assert steps == list(range(-1, len(own) - 1))
    assert "brief" in own[0].checkpoint["channel_values"]


def test_attempts_before_a_crash_are_remembered(mode):
    """The step in flight goes on with its second attempt, not from the beginning."""
    saver, tool = InMemorySaver(), Tool(ConnectionError("reset"), Killed())
    agent = agent_of(tool, saver)
    with pytest.raises(Killed):
        run_of(agent, mode)(GIVEN)
    result = run_of(agent_of(tool, saver), mode)(None)
    assert result["status"] == "done"
    assert tool.calls == 3
    state = run_of_state(tool, saver)
    (record,) = state.values["steps"].values()
    assert [a["number"] for a in record["attempts"]] == [1, 2]
    assert result["report"]["corrections"]


def test_a_question_is_kept_and_answered(mode):
    saver, tool = InMemorySaver(), Tool()
    agent = agent_of(tool, saver, interrupt_on={"fetch": True})
    asked = run_of(agent, mode)(GIVEN)
    assert "__interrupt__" in asked
    assert spaces(saver)
    answer = Command(resume={"decisions": [{"type": "approve"}]})
    result = run_of(agent_of(tool, saver, interrupt_on={"fetch": True}), mode)(answer)
    assert result["status"] == "done"
    assert tool.calls == 1


def checkpoint(number, **channels):
    made = {**empty_checkpoint(), "id": f"{number:032d}", "channel_values": channels}
    return {**made, "channel_versions": dict.fromkeys(channels, f"{number:032d}")}


def place(space=SPACE):
    return {"configurable": {"thread_id": "t1", "checkpoint_ns": space}}


def put(saver, number, space=SPACE, **channels):
    made = checkpoint(number, **channels)
    meta = {"source": "loop", "step": number, "parents": {}}
    return saver.put(place(space), made, meta, made["channel_versions"])


def deferred():
    below = InMemorySaver()
    return below, DeferredSaver(below, SPACE, lambda channels: "bad" in channels)


def test_held_until_worth_it_then_at_once():
    below, saver = deferred()
    at = put(saver, 1, good=1)
    saver.put_writes({**at}, [("good", 2)], "task")
    assert list(below.list(None)) == []
    put(saver, 2, bad=1)
    put(saver, 3, good=3)
    assert [c.metadata["step"] for c in below.list(None)] == [3, 2, 1]
    assert below.get_tuple(at).pending_writes == [("task", "good", 2)]


def test_an_interrupt_and_a_graph_inside_are_never_held():
    below, saver = deferred()
    at = put(saver, 1, good=1)
    saver.put_writes(at, [(INTERRUPT, ("asked",))], "task")
    assert below.get_tuple(at).pending_writes[0][1] == INTERRUPT
    below, saver = deferred()
    put(saver, 1, good=1)
    put(saver, 2, space=f"{SPACE}|fetch:2", good=1)
    assert len(list(below.list(None))) == 2


def test_a_loop_that_goes_on_holds_nothing():
    below, saver = deferred()
    put(below, 1, good=1)
    assert saver.get_tuple(place()) is not None
    put(saver, 2, good=2)
    assert len(list(below.list(None))) == 2


def test_a_failed_write_is_made_again():
    """What was held is not lost when the database fails once."""
    below, saver = deferred()
    put(saver, 1, good=1)
    working, below.put = below.put, None
    with pytest.raises(TypeError):
        put(saver, 2, bad=1)
    below.put = working
    put(saver, 3, good=1)
    assert [c.metadata["step"] for c in below.list(None)] == [3, 1]


def test_all_else_is_the_savers_own():
    below, saver = deferred()
    put(below, 1, space="", good=1)
    assert isinstance(saver.get_next_version(None, None), str)  # not the base's int
    assert [c.metadata["step"] for c in saver.list(None)] == [1]
    saver.delete_thread("t1")
    assert list(below.list(None)) == []
