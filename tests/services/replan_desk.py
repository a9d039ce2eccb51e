"""Counted tools and a model that answers by role: what tests of replanning share."""

import asyncio
from collections import Counter

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from mendgraph import ToolPolicy, create_mend_agent
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.scripted import ScriptedModel

CONFIG = {"configurable": {"thread_id": "t"}}

HOWS = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


async def no_sleep(_seconds):
    return None


class World:
    """Tools that count their calls by step; some steps are broken."""

    def __init__(self, *broken):
        self.calls, self.broken = Counter(), set(broken)

    def work(self, name: str, number: int = 0) -> dict:
        """Do some work."""
        self.calls[name] += 1
        if name in self.broken:
            raise ValueError(f"{name} cannot be done like this")
        return {"number": number + 1}

    def other(self, name: str, number: int = 0) -> dict:
        """Do the work in another way."""
        self.calls[name] += 1
        return {"number": number + 1}

    def send(self, name: str) -> dict:
        """Send something out."""
        self.calls[name] += 1
        return {"sent": name}

    def danger(self, name: str) -> dict:
        """Do what nobody allowed."""
        self.calls[name] += 1
        return {"done": name}


def step(step_id, *needs, tool="work", **fields):
    inputs = {"name": step_id}
    if needs:
        inputs["number"] = f"{{{{ {needs[0]}.number }}}}"
    return {
        "id": step_id,
        "tool": tool,
        "inputs": inputs,
        "depends_on": list(needs),
        **fields,
    }


def line_of(count):
    first = step("s1")
    return [first, *(step(f"s{n}", f"s{n - 1}") for n in range(2, count + 1))]


def reflection(decision="local_replan", **fields):
    return {"decision": decision, "observed_issue": "it cannot be done", **fields}


def instead(old, new, **fields):
    return {**step(new, tool="other"), "replaces": old, **fields}


NO_PATCH = {"arguments": {}, "why": "nothing to change"}


class Desk:
    """An agent with counted tools and a model that answers by role."""

    def __init__(self, world, script, *, saver=True, model=True, **options):
        self.world = world
        self.said = ByRole({"patch": lambda _: NO_PATCH, **script})
        self.model = ScriptedModel(script=self.said) if model else None
        options = {
            "policies": {"send": ToolPolicy(effect="write")},
            "authorise": [{"tool": "danger", "decision": "deny"}],
            **options,
        }
        self.agent = create_mend_agent(
            self.model,
            tools=[world.work, world.other, world.send, world.danger],
            assume="read",
            checkpointer=InMemorySaver() if saver else None,
            sleep=no_sleep,
            seeded=False,
            **options,
        )

    def run(self, given, how="invoke"):
        if how == "invoke":
            return self.agent.invoke(given, CONFIG)
        return asyncio.run(self.agent.ainvoke(given, CONFIG))

    def answer(self, result, kind, message=None):
        asked = result["__interrupt__"][0]
        decision = {"type": kind, **({"message": message} if message else {})}
        return self.run(Command(resume={asked.id: {"decisions": [decision]}}))

    @property
    def values(self):
        return self.agent.get_state(CONFIG).values

    def prompts(self, role):
        asked = zip(self.said.asked, self.model.prompts, strict=True)
        return ["\n".join(str(m.text) for m in p) for name, p in asked if name == role]


def given(*steps, **fields):
    return {"task": "count", "plan": {"steps": list(steps)}, **fields}
