"""An agent with virtual time, on any saver, run both ways, for tests of effects."""

import asyncio
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from mendgraph import create_mend_agent
from mendgraph.state.effect import LedgerEntry
from mendgraph.tools.doubles.clock import VirtualClock
from mendgraph.tools.memory.in_memory import InMemoryMemory

WAYS = [(mode, saver) for mode in ("sync", "async") for saver in ("memory", "folder")]
"""Every way to run that can ask a person."""
ALL_WAYS = [*WAYS, ("sync", "none"), ("async", "none")]


class World:
    """One agent on one thread.

    Args:
        tools: The agent's tools.
        way: How to run (`sync`, `async`) and what keeps (`memory`, `folder`, `none`).
        folder: Where `folder` keeps.
        options: More for `create_mend_agent`.
    """

    def __init__(self, tools, way=("sync", "memory"), folder=None, **options):
        self.mode, saver = way
        self.clock = options.pop("clock", None) or VirtualClock()
        self.store = InMemoryStore()
        kept = {
            "memory": {"checkpointer": InMemorySaver(), "store": self.store},
            "folder": {"persist": folder},
            "none": {"store": self.store},
        }[saver]
        self.agent = create_mend_agent(
            tools=tools,
            clock=self.clock,
            sleep=self.clock.sleep,
            memory=InMemoryMemory(clock=self.clock),
            **{"seeded": False, **kept, **options},
        )
        self.config = {"configurable": {"thread_id": "t"}}
        self.events: list[Any] = []
        self.result: dict[str, Any] = {}

    def run(self, *steps, task="do it", **more):
        """Run a plan of these steps."""
        return self.give({"task": task, "plan": {"steps": list(steps)}, **more})

    def give(self, value):
        """Give the graph an input; return its result."""
        if self.mode == "async":
            self.result = asyncio.run(self.agent.ainvoke(value, self.config))
        else:
            self.result = self.agent.invoke(value, self.config)
        return self.result

    def say(self, kind, message=None, **edit):
        """Answer the only open question."""
        return self.give(Command(resume=answer(kind, message, **edit)))

    def say_to(self, answers):
        """Answer questions by id."""
        return self.give(Command(resume=answers))

    @property
    def asked(self):
        """The values of the open questions."""
        return [each.value for each in self.result.get("__interrupt__", ())]

    @property
    def question(self):
        """The only open question."""
        (value,) = self.asked
        return value

    @property
    def kind(self):
        return self.question["metadata"]["kind"]

    @property
    def request(self):
        return self.question["action_requests"][0]

    @property
    def state(self):
        return self.agent.get_state(self.config).values

    @property
    def records(self):
        return self.state["steps"]

    def ledger(self, task_id=None) -> list[LedgerEntry]:
        """Return what the ledger knows of the thread's task."""
        deps = self.agent.held.deps
        task_id = task_id or self.state["task_id"]
        book = deps.library(deps.store).ledger
        return asyncio.run(book.of_thread(f"t:{task_id}"))


def answer(kind, message=None, **edit):
    """Return a resume value with one decision."""
    decision = {"type": kind}
    if message is not None:
        decision["message"] = message
    if edit:
        decision["edited_action"] = {"name": edit.pop("tool", None), "args": edit}
    return {"decisions": [decision]}


def step(name="pay", tool="pay", needs=(), **inputs):
    """Return a step; its inputs are the keyword arguments."""
    return {"id": name, "tool": tool, "inputs": inputs, "dependencies": list(needs)}
