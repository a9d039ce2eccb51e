"""Tools the server tests bring to `langgraph dev` through MENDGRAPH_TOOLS."""

import re
import time

from langchain_core.messages import BaseMessage

from mendgraph.state.policy import Effect, ToolPolicy
from mendgraph.tools.doubles.scripted import ScriptedModel

READS = ToolPolicy(effect=Effect.READ, idempotent=True)


def look_up(order: str) -> dict[str, str | int]:
    """Return an order."""
    return {"order": order, "amount": 40}


def refund(order: str, amount: int) -> dict[str, str | int]:
    """Refund an order."""
    return {"order": order, "refunded": amount}


def archive(order: str) -> dict[str, str]:
    """Look in an archive that has no orders."""
    raise ValueError(f"unknown order {order}")


async def stall(order: str) -> str:
    """Block the event loop on purpose, so that the detection can be seen at work."""
    time.sleep(0.01)  # noqa: ASYNC251  the fault under test
    return order


def studio() -> dict[str, object]:
    """Return what the agent is built with: readers, one effect a person approves."""
    return {
        "tools": [look_up, refund, archive, stall],
        "policies": {
            "look_up": READS,
            "archive": READS,
            "stall": READS,
            "refund": ToolPolicy(effect=Effect.IRREVERSIBLE),
        },
        "interrupt_on": {"refund": True},
    }


def _step(name: str, tool: str, **more: str) -> dict[str, object]:
    known = {"id": name, "tool": tool, "inputs": {"order": "A7"}}
    words = {"description": "find the order", "expected_output": "the order"}
    return {**known, **words, "risk": "low", **more}


SAID: dict[str, dict[str, object]] = {
    "plan": {"goal": "find the order", "steps": [_step("s1", "archive")]},
    "patch": {"arguments": {}, "why": "the archive has no orders"},
    "reflect": {
        "category": "plan_error",
        "observed_issue": "the archive has no orders",
        "hypotheses": ["the wrong tool"],
        "decision": "local_replan",
    },
    "replan": {"replace": [_step("s2", "look_up", replaces="s1")], "why": "look up"},
}
"""What the scripted double says for each role: it plans the wrong tool first."""


def planner(messages: list[BaseMessage]) -> dict[str, object]:
    """Answer by the role the prompt names."""
    role = re.search(r"ROLE: (\w+)", messages[0].text)
    return SAID[role[1] if role else "plan"]


def chatting() -> dict[str, object]:
    """Return the same tools with a scripted double in the model's place."""
    return {**studio(), "model": ScriptedModel(script=planner)}
