"""The order service of the investigation: queries, a payment in progress, refunds.

It lives in memory and counts what it did, so an example can show what really happened.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from mendgraph import ToolPolicy

FEE = 20.0
"""Kept by the payment provider; no refund gives it back."""


@dataclass
class OrderService:
    """One order, one payment that takes a while, and the refunds made.

    Args:
        processing: Queries the payment answers `processing` before it is final.
    """

    processing: int = 2
    queried: list[str] = field(default_factory=list)
    refunds: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Idempotency key → refund."""
    refused: list[tuple[float, str]] = field(default_factory=list)
    """Amount and key of every refund that was refused."""

    def query_order(self, order_id: str) -> dict[str, Any]:
        """Return the order's status and the id of its payment request."""
        self.queried.append("order")
        return {"order_id": order_id, "status": "paid_twice", "payment": "pay-1"}

    def query_order_events(self, order_id: str) -> dict[str, Any]:
        """Return what changed the order's status, oldest first."""
        self.queried.append("events")
        events = ["created", "payment requested", "payment requested again"]
        return {"order_id": order_id, "events": events}

    def query_payment_status(self, payment: str) -> dict[str, Any]:
        """Return how far a payment request is."""
        self.queried.append("payment")
        self.processing -= 1
        status = "processing" if self.processing >= 0 else "succeeded"
        return {"payment": payment, "status": status, "amount": 120.0}

    def refund(self, order_id: str, amount: float, key: str) -> dict[str, Any]:
        """Refund an amount; the same key refunds once."""
        if key in self.refunds:
            return self.refunds[key]
        most = 120.0 - FEE
        if amount > most:
            self.refused.append((amount, key))
            raise _unprocessable(f"the fee of {FEE:g} is kept; at most {most:g}")
        self.refunds[key] = {"order_id": order_id, "amount": amount, "status": "done"}
        return self.refunds[key]

    def tools(self) -> list[Callable[..., dict[str, Any]]]:
        """Return the service's calls as tools."""
        return [
            self.query_order,
            self.query_order_events,
            self.query_payment_status,
            self.refund,
        ]


def policies(poll_every_s: float = 0.2) -> dict[str, ToolPolicy]:
    """Return what may be repeated, what is final, and what cannot be taken back."""
    read = ToolPolicy(effect="read", idempotent=True)
    return {
        "query_order": read,
        "query_order_events": read,
        "query_payment_status": read.but(
            pending_when="output.status == 'processing'",
            final_when="output.status == 'succeeded'",
            poll_every_s=poll_every_s,
        ),
        "refund": ToolPolicy(
            effect="irreversible", idempotency_arg="key", approval_expires_s=3_600
        ),
    }


def _unprocessable(message: str) -> httpx.HTTPStatusError:
    """Return what an HTTP client raises for a 422."""
    request = httpx.Request("POST", "http://orders.example/refund")
    body = {"error": {"type": "invalid_amount", "message": message}}
    response = httpx.Response(422, json=body, request=request)
    return httpx.HTTPStatusError(message, request=request, response=response)
