"""Tools the server tests bring to `langgraph dev` through MENDGRAPH_TOOLS."""

from mendgraph.state.policy import Effect, ToolPolicy


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
