"""The older Agent Inbox shape of questions and answers, converted both ways.

Agent Inbox shows `HumanInterrupt` and answers with a list of one `HumanResponse`.
"""

from collections.abc import Mapping
from typing import Any

from mendgraph.state.interrupts import AnswerError

ALLOWS = {
    "approve": "allow_accept",
    "edit": "allow_edit",
    "respond": "allow_respond",
    "reject": "allow_ignore",
}
"""Decision of ours → flag of the inbox's config."""
TYPES = {
    "accept": "approve",
    "edit": "edit",
    "response": "respond",
    "ignore": "reject",
}
"""Type of the inbox's response → decision of ours."""


def to_inbox(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return an interrupt value of ours as a `HumanInterrupt`."""
    request = payload["action_requests"][0]
    allowed = payload["review_configs"][0]["allowed_decisions"]
    return {
        "action_request": {"action": request["name"], "args": request["args"]},
        "config": {flag: decision in allowed for decision, flag in ALLOWS.items()},
        "description": request["description"],
    }


def from_inbox(response: Any) -> dict[str, Any]:
    """Return the inbox's answer as a resume value of ours.

    Raises:
        AnswerError: It is not one `HumanResponse`.
    """
    given = (
        response[0] if isinstance(response, list) and len(response) == 1 else response
    )
    if not isinstance(given, Mapping) or given.get("type") not in TYPES:
        raise AnswerError(
            f"an Agent Inbox answer is one of {', '.join(TYPES)} with its args"
        )
    decision: dict[str, Any] = {"type": TYPES[given["type"]]}
    args = given.get("args")
    if decision["type"] == "edit":
        if not isinstance(args, Mapping) or "args" not in args:
            raise AnswerError('an edit needs "args": {"action": ..., "args": {...}}')
        edited = {"name": args.get("action"), "args": dict(args["args"])}
        decision["edited_action"] = edited
    elif args is not None:
        decision["message"] = str(args)
    return {"decisions": [decision]}
