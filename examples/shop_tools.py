"""A small shop: orders, a stock list, and refunds that are written to a file.

    mendgraph run --tools examples.shop_tools:toolkit --plan examples/shop_plan.json

`refund` is irreversible: it carries an idempotency key, it can be confirmed by asking
for it, and the command line asks a person first (`interrupt_on`).
"""

import json
from pathlib import Path
from typing import Any

from mendgraph import ConfirmCall, ToolPolicy

ORDERS: dict[str, dict[str, Any]] = {
    "A-100": {"order_id": "A-100", "customer": "Li", "total": 59.90, "paid": True},
    "A-101": {"order_id": "A-101", "customer": "Berg", "total": 12.50, "paid": True},
    "A-102": {"order_id": "A-102", "customer": "Okoye", "total": 8.00, "paid": False},
}
BOOK = Path("refunds.jsonl")
"""Where refunds are written, in the current folder."""


def find_order(order_id: str) -> dict[str, Any]:
    """Return an order: customer, total in euro, and whether it was paid."""
    if order_id not in ORDERS:
        raise LookupError(f"404: no order {order_id!r}; there are {sorted(ORDERS)}")
    return ORDERS[order_id]


def refund(order_id: str, amount: float, key: str) -> dict[str, Any]:
    """Pay money back; the same key pays once, however often it is asked."""
    known = find_refund(order_id, key)
    if known["found"]:
        return known
    entry = {"order_id": order_id, "amount": amount, "key": key}
    with BOOK.open("a", encoding="utf-8") as book:
        book.write(json.dumps(entry) + "\n")
    return {"found": True, **entry}


def find_refund(order_id: str, key: str) -> dict[str, Any]:
    """Tell whether a refund with this key was paid."""
    lines = BOOK.read_text("utf-8").splitlines() if BOOK.exists() else []
    entries = (json.loads(line) for line in lines)
    wanted = (e for e in entries if (e["order_id"], e["key"]) == (order_id, key))
    return next(({"found": True, **entry} for entry in wanted), {"found": False})


def write_note(order_id: str, text: str) -> dict[str, Any]:
    """Write a note to the customer's file; returns its size in bytes."""
    path = Path(f"note-{order_id}.txt")
    path.write_text(text + "\n", encoding="utf-8")
    return {"path": str(path), "size_bytes": path.stat().st_size}


def toolkit() -> dict[str, Any]:
    """Return tools, policies and who must be asked."""
    read = ToolPolicy(effect="read", idempotent=True, required_fields=())
    return {
        "tools": [find_order, refund, find_refund, write_note],
        "policies": {
            "find_order": read,
            "find_refund": read,
            "refund": ToolPolicy(
                effect="irreversible",
                idempotency_arg="key",
                service="payments",
                confirm_with=ConfirmCall(
                    tool="find_refund",
                    arguments={
                        "order_id": "{{ args.order_id }}",
                        "key": "{{ args.key }}",
                    },
                    done_when="output.found",
                    absent_when="!output.found",
                ),
            ),
            "write_note": ToolPolicy(effect="write", idempotent=True),
        },
        "interrupt_on": {"refund": True},
    }
