"""Tools the server tests bring to `langgraph dev` through MENDGRAPH_TOOLS."""

from langchain_core.messages import BaseMessage

from mendgraph.state.policy import Effect, ToolPolicy
from mendgraph.tools.doubles.scripted import ScriptedModel


def look_up(order: str) -> dict[str, str | int]:
    """Return an order."""
    return {"order": order, "amount": 40}


def refund(order: str, amount: int) -> dict[str, str | int]:
    """Refund an order."""
    return {"order": order, "refunded": amount}


def studio() -> dict[str, object]:
    """Return what the agent is built with: one reader, one effect a person approves."""
    return {
        "tools": [look_up, refund],
        "policies": {
            "look_up": ToolPolicy(effect=Effect.READ, idempotent=True),
            "refund": ToolPolicy(effect=Effect.IRREVERSIBLE),
        },
        "interrupt_on": {"refund": True},
    }


def planner(messages: list[BaseMessage]) -> dict[str, object]:
    """Plan one look-up: what the scripted double says to every role."""
    return {
        "goal": "look up the order",
        "steps": [
            {
                "id": "s1",
                "tool": "look_up",
                "description": "look the order up",
                "inputs": {"order": "A7"},
                "expected_output": "the order",
                "risk": "low",
            }
        ],
    }


def chatting() -> dict[str, object]:
    """Return the same tools with a scripted double in the model's place."""
    return {**studio(), "model": ScriptedModel(script=planner)}
