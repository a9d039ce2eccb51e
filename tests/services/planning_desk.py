"""An agent whose model answers by role: what tests of planning share."""

import asyncio

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from mendgraph import create_mend_agent
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.models.errors import ModelOutOfMoney

CONFIG = {"configurable": {"thread_id": "t"}}

HOWS = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


def look_up(order: int) -> dict:
    """Look an order up."""
    return {"order": order, "total": 40}


def pay(order: int, amount: int) -> dict:
    """Pay an order back."""
    return {"paid": amount}


LOOK = {"id": "look", "tool": "look_up", "inputs": {"order": 7}, "risk": "low"}

PAY = {
    "id": "pay",
    "tool": "pay",
    "inputs": {"order": 7, "amount": "{{ look.total }}"},
    "depends_on": ["look"],
    "risk": "low",
}


def planned(*steps, **fields):
    return {"goal": "g", "rationale": "r", "steps": list(steps), **fields}


async def no_sleep(_seconds):
    return None


class Desk:
    """An agent whose model answers by role."""

    def __init__(self, script, *, saver=True, fallback_models=(), **options):
        self.said = ByRole(script)
        self.model = ScriptedModel(script=self.said)
        self.store = InMemoryStore()
        self.agent = create_mend_agent(
            self.model,
            fallback_models=fallback_models,
            tools=[look_up, pay],
            assume="read",
            checkpointer=InMemorySaver() if saver else None,
            store=self.store,
            sleep=no_sleep,
            seeded=False,
            **options,
        )

    def run(self, given, how="invoke"):
        if how == "invoke":
            return self.agent.invoke(given, CONFIG)
        return asyncio.run(self.agent.ainvoke(given, CONFIG))

    def answer(self, result, kind, message=None, how="invoke"):
        asked = result["__interrupt__"][0]
        decision = {"type": kind, **({"message": message} if message else {})}
        resume = {asked.id: {"decisions": [decision]}}
        return self.run(Command(resume=resume), how)

    def told(self, number):
        return "\n".join(str(m.text) for m in self.model.prompts[number])


def question(result):
    value = result["__interrupt__"][0].value
    return value["metadata"]["kind"], value["action_requests"][0]["description"]


OUT_OF_MONEY = ModelOutOfMoney("Insufficient Balance")
