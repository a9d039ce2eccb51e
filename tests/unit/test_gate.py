"""Branches that can begin are set up before those that wait for them."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph import create_mend_agent
from mendgraph.graph.step_loop import StepGraph
from mendgraph.tools.gate import Gate

CONFIG = {"configurable": {"thread_id": "t1"}}


def test_open_while_nobody_is_on_the_way():
    async def scene():
        gate = Gate()
        await asyncio.wait_for(gate.passed(), 1)
        gate.enter("a")
        gate.enter("b")
        waiting = asyncio.create_task(gate.passed())
        gate.leave("a")
        gate.leave("a")
        await asyncio.sleep(0)
        assert not waiting.done()
        gate.leave("b")
        await asyncio.wait_for(waiting, 1)

    asyncio.run(scene())


def plan_of(ready, blocked):
    first = [{"id": f"r{i}", "tool": "work", "inputs": {"n": i}} for i in range(ready)]
    rest = [
        {"id": f"b{i}", "tool": "work", "inputs": {"n": i}, "depends_on": ["r0"]}
        for i in range(blocked)
    ]
    return {"task": "t", "plan": {"steps": [*first, *rest]}}


@pytest.mark.parametrize("fault", [None, ValueError("bad"), ConnectionError("reset")])
def test_the_waiting_are_set_up_when_the_first_call_is_under_way(fault, monkeypatch):
    """At the first call no waiting branch has entered its loop; all run in the end."""
    entered, seen, faults = [], [], [fault]

    async def work(n: int) -> dict:
        """Do some work."""
        seen.append(len(entered))
        if faults and (problem := faults.pop()):
            raise problem
        return {"n": n}

    async def at_once(_seconds):
        return None

    agent = create_mend_agent(None, tools=[work], assume="read", sleep=at_once)
    in_turn = StepGraph._in_turn

    @asynccontextmanager
    async def watched(self, given):
        async with in_turn(self, given):
            entered.append(given["brief"]["step"]["id"])
            yield

    monkeypatch.setattr(StepGraph, "_in_turn", watched)
    result = asyncio.run(agent.ainvoke(plan_of(2, 20)))
    assert seen[0] <= 2
    assert len(entered) == 22
    expected = "partial" if isinstance(fault, ValueError) else "done"
    assert result["status"] == expected


def test_an_interrupt_lets_the_others_on():
    """A branch that asks a person holds nobody up."""

    async def work(n: int) -> dict:
        """Do some work."""
        return {"n": n}

    agent = create_mend_agent(
        None,
        tools=[work],
        assume="read",
        interrupt_on={"work": True},
        checkpointer=InMemorySaver(),
    )
    asked = asyncio.run(asyncio.wait_for(agent.ainvoke(plan_of(2, 3), CONFIG), 20))
    assert len(asked["__interrupt__"]) == 2


def test_a_ready_step_that_waits_for_its_turn_holds_up_nobody():
    """With one call of a service at a time, others' dependents go on meanwhile."""
    done = []

    async def slow(n: int) -> dict:
        """Take its time."""
        await asyncio.sleep(0.3)
        done.append(f"slow{n}")
        return {"n": n}

    async def quick(n: int) -> dict:
        """Be quick."""
        done.append(f"quick{n}")
        return {"n": n}

    agent = create_mend_agent(
        None,
        tools=[slow, quick],
        policies={
            "slow": {"effect": "read", "concurrency": 1, "service": "s"},
            "quick": {"effect": "read"},
        },
    )
    steps = [{"id": f"s{i}", "tool": "slow", "inputs": {"n": i}} for i in range(3)]
    steps.append({"id": "q0", "tool": "quick", "inputs": {"n": 0}})
    after = {"id": "q1", "tool": "quick", "inputs": {"n": 1}, "depends_on": ["q0"]}
    given = {"task": "t", "plan": {"steps": [*steps, after]}}
    assert asyncio.run(agent.ainvoke(given))["status"] == "done"
    assert done[:2] == ["quick0", "quick1"]
