"""Counted tools and plans with sub-tasks: what tests of sub-tasks share."""

import asyncio
from collections import Counter

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph import ToolPolicy, create_mend_agent
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
