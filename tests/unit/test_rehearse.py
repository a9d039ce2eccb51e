"""A rehearsal learns from injected faults, marks it, and touches nothing real (F56)."""

import asyncio
import re

import pytest

from mendgraph import create_mend_agent
from mendgraph.rehearse import rehearse
from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.errors import ConfigError

ROLE = re.compile(r"ROLE: (\w+)")
PLAN = {"steps": [{"id": "s1", "tool": "look", "inputs": {"mode": "old"}}]}
FAULT = {
    "tool": "look",
    "error": "ValueError",
    "message": "invalid value for argument mode",
    "when": "args.mode == 'old'",
}


def look(mode: str) -> dict:
    """Look in one mode."""
    return {"mode": mode}


def script(messages):
    return {"arguments": {"mode": "new"}, "why": "w", "lesson": "use mode=new"}


async def _no_wait(_seconds):
    return None


def test_a_rehearsal_fills_a_cold_start(tmp_path):
    """Lessons and strategies are kept, marked as rehearsed, and serve the real run."""
    options = {"assume": "read", "seeded": False, "sleep": _no_wait}
    done = rehearse(
        PLAN,
        [look],
        [FAULT],
        model=ScriptedModel(script=script),
        persist=tmp_path,
        **options,
    )
    assert [run["status"] for run in done.runs] == ["done"] * 3
    assert [run["model_calls"] for run in done.runs] == [1, 1, 0]
    assert (len(done.lessons), len(done.strategies)) >= (1, 1)

    def broken(mode: str) -> dict:
        """Look for real, with the rehearsed fault."""
        if mode == "old":
            raise ValueError("invalid value for argument mode")
        return {"mode": mode}

    broken.__name__ = "look"
    agent = create_mend_agent(None, tools=[broken], persist=tmp_path, **options)
    config = {"configurable": {"thread_id": "real"}}
    result = agent.invoke({"task": "t", "plan": PLAN}, config)
    assert result["status"] == "done"
    library = agent.held.deps.library(agent.held.deps.store)
    (strategy,) = asyncio.run(library.strategies.all())
    assert strategy.source == "rehearsal"
    assert strategy.applications[0].rehearsed is True
    lessons = asyncio.run(agent.held.deps.memory.all())
    agent.close()
    marked = {lesson.id for lesson in lessons if lesson.rehearsed}
    assert marked == set(done.lessons)
    assert len(lessons) == len(marked) + 1  # the real run has one of its own


def test_an_effect_is_never_rehearsed_for_real():
    """Without a stand-in it is refused; with one the tool is not called."""
    paid = []

    def pay(amount: int) -> dict:
        """Pay."""
        paid.append(amount)
        return {"status": "ok"}

    plan = {"steps": [{"id": "s1", "tool": "pay", "inputs": {"amount": 5}}]}
    with pytest.raises(ConfigError, match="pay has an effect"):
        rehearse(plan, [pay], [])
    stand_in = {"tool": "pay", "kind": "stand_in", "value": {"status": "ok"}}
    done = rehearse(plan, [pay], [stand_in], runs=1, seeded=False)
    assert done.runs[0]["status"] == "done"
    assert paid == []


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"tool": "look", "kind": "fire"}, "no fault is called 'fire'"),
        ({"tool": "look", "error": "Fire"}, "no error 'Fire'"),
        ({"tool": "look", "when": "((("}, "does not compile"),
    ],
)
def test_a_fault_that_cannot_be_made_is_refused(fault, told):
    """The message names what is known."""
    with pytest.raises(ConfigError, match=told):
        rehearse(PLAN, [look], [fault], assume="read")
