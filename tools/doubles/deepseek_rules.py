"""What DeepSeek's chat-completions API refuses, as a table of checks on the body.

The texts are those of public reports.
"""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Body = dict[str, Any]
Refusal = tuple[int, str]
Rule = Callable[[Body], Refusal | None]

MODELS = ("deepseek-flash", "deepseek-v4-pro")
ROLES = ("system", "user", "assistant", "tool", "latest_reminder")
MAX_OUTPUT = 384_000


def thinks(body: Body) -> bool:
    """Say whether the request runs in thinking mode, which is on by default."""
    told = body.get("thinking") or {}
    return bool(told.get("type", "enabled") != "disabled")


def known_model(body: Body) -> Refusal | None:
    """Refuse names that are unknown or retired."""
    return None if body.get("model") in MODELS else (400, "Model Not Exist")


def known_roles(body: Body) -> Refusal | None:
    """Refuse roles of other APIs, such as `developer`."""
    for index, message in enumerate(body["messages"]):
        if message.get("role") not in ROLES:
            wanted = ", ".join(f"`{role}`" for role in ROLES)
            return 400, (
                "Failed to deserialize the JSON body into the target type: "
                f"messages[{index}].role: unknown variant `{message.get('role')}`, "
                f"expected one of {wanted} at line 1 column 60"
            )
    return None


def text_content(body: Body) -> Refusal | None:
    """Refuse tool results that are lists of content blocks."""
    for index, message in enumerate(body["messages"]):
        if message["role"] == "tool" and not isinstance(message["content"], str):
            return 422, (
                "Failed to deserialize the JSON body into the target type: "
                f"messages[{index}].content: invalid type: sequence, expected a string"
            )
    return None


def no_forced_tool(body: Body) -> Refusal | None:
    """Refuse a forced tool choice while thinking."""
    choice = body.get("tool_choice")
    forced = choice is not None and choice not in ("auto", "none")
    if forced and thinks(body):
        return 400, "Thinking mode does not support this tool_choice"
    return None


def no_json_schema(body: Body) -> Refusal | None:
    """Refuse structured outputs by schema."""
    if (body.get("response_format") or {}).get("type") != "json_schema":
        return None
    return 400, "This response_format type is unavailable now"


def json_word(body: Body) -> Refusal | None:
    """Refuse JSON mode when no message says the word."""
    if (body.get("response_format") or {}).get("type") != "json_object":
        return None
    if "json" in json.dumps(body["messages"]).lower():
        return None
    return 400, (
        "Prompt must contain the word 'json' in some form to use "
        "'response_format' of type 'json_object'."
    )


def reasoning_passed_back(body: Body) -> Refusal | None:
    """Refuse histories whose tool-call turns lost their reasoning."""
    for index, message in enumerate(body["messages"]):
        lost = message.get("tool_calls") and "reasoning_content" not in message
        if lost and thinks(body):
            return 400, (
                "Missing `reasoning_content` field in the assistant message at "
                f"message index {index}"
            )
    return None


def output_cap(body: Body) -> Refusal | None:
    """Refuse a cap on output that is larger than the model's."""
    if not 1 <= int(body.get("max_tokens") or 1) <= MAX_OUTPUT:
        return 400, (
            f"Invalid max_tokens value, the valid range of max_tokens is "
            f"[1, {MAX_OUTPUT}]"
        )
    return None


RULES: tuple[Rule, ...] = (
    known_model,
    known_roles,
    text_content,
    no_forced_tool,
    no_json_schema,
    json_word,
    reasoning_passed_back,
    output_cap,
)
"""The API of today."""


def no_json_mode(body: Body) -> Refusal | None:
    """Refuse JSON mode altogether, as the older reasoner did."""
    if not body.get("response_format"):
        return None
    return 400, "deepseek-reasoner does not support Json Output."


def no_successive_roles(body: Body) -> Refusal | None:
    """Refuse neighbours of one role, as R1 did."""
    roles = [message["role"] for message in body["messages"]]
    for index, (one, other) in enumerate(pairwise(roles)):
        if one == other and one in {"user", "assistant"}:
            return 400, (
                "deepseek-reasoner does not support successive user or assistant "
                f"messages (messages[{index}] and messages[{index + 1}] in your input)"
            )
    return None


def no_forced_tool_reasoner(body: Body) -> Refusal | None:
    """Refuse a forced tool choice in the words of the older reasoner."""
    if no_forced_tool(body) is None:
        return None
    return 400, "deepseek-reasoner does not support this tool_choice"


def no_thinking_switch(body: Body) -> Refusal | None:
    """Refuse the thinking switch, as gateways without it do."""
    if "thinking" not in body:
        return None
    return 400, "Unrecognized request argument supplied: thinking"
