"""Gather what is known of a failure, from exception objects or from text alone.

Attributes are read by name, so no client library is imported: what is looked for is
listed in `facts_chain`. Secrets are masked on the way.
"""

import re
from typing import Any, TypedDict, Unpack

from mendgraph.state.failure import FailureFacts, Layer
from mendgraph.state.masking import mask, mask_value
from mendgraph.tools.facts_chain import attributes, chain, dotted, spoken
from mendgraph.tools.facts_text import mine

LONGEST_TEXT = 4_000
LONGEST_BODY = 500


class Context(TypedDict, total=False):
    """What the caller knows about the call beside the exception."""

    layer: Layer
    tool: str | None
    tool_class: str | None
    service: str | None
    arguments: dict[str, Any]
    secret_names: tuple[str, ...]
    arguments_digest: str | None
    command: str | None
    attempts: int
    same_before: int
    others_healthy: bool | None
    timeout_s: float | None
    elapsed_ms: float | None
    cancelled_by_us: bool
    idempotency_key: str | None
    earlier_message: str | None
    problems: tuple[str, ...]


_LAYERS: tuple[tuple[str, Layer], ...] = (
    ("langgraph.", Layer.FRAMEWORK),
    ("openai.", Layer.MODEL),
    ("anthropic.", Layer.MODEL),
    ("langchain_core.exceptions.", Layer.PARSER),
    ("httpx.", Layer.TRANSPORT),
    ("httpcore.", Layer.TRANSPORT),
    ("requests.", Layer.TRANSPORT),
    ("urllib3.", Layer.TRANSPORT),
    ("aiohttp.", Layer.TRANSPORT),
)
_HISTORY = re.compile(
    r"\b(?:each|every) time\b|\brepeatedly\b|\b(?:second|third|\d+(?:nd|rd|th)) "
    r"(?:identical |consecutive )?(?:time|timeout|failure|attempt)\b"
    r"|\bagain and again\b",
    re.IGNORECASE,
)
_HEALTHY = re.compile(
    r"\bonly (?:for|with|when|on|if)\b|\bother (?:calls|requests|tools|inputs)\b.{0,30}"
    r"\b(?:work|succeed|fine|ok|pass)",
    re.IGNORECASE,
)


def gather(error: BaseException, **context: Unpack[Context]) -> FailureFacts:
    """Return the facts of a raised exception and of everything that caused it."""
    errors = chain(error)
    message = spoken(errors)
    fields = mine(shortened(message))
    fields.update(attributes(errors))
    fields["exceptions"] = tuple(dotted(item) for item in errors)
    fields["bases"] = tuple(base.__name__ for base in type(error).__mro__[1:-1])
    fields.setdefault("layer", _layer(fields["exceptions"]))
    return _facts(message, fields, context)


def from_text(text: str, **context: Unpack[Context]) -> FailureFacts:
    """Return the facts that a message holds when the exception itself is gone."""
    fields = mine(shortened(text))
    fields.setdefault("layer", _layer(fields.get("exceptions", ())))
    if _HISTORY.search(text):
        fields["same_before"] = 1
        fields["others_healthy"] = True if _HEALTHY.search(text) else None
    return _facts(text, fields, context)


def shortened(text: str) -> str:
    """Return the beginning and the end of a long text: errors stand in either."""
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else text[:half] + text[-half:]


def _facts(message: str, fields: dict[str, Any], context: Context) -> FailureFacts:
    given: dict[str, Any] = {k: v for k, v in context.items() if v is not None}
    secret_names = given.pop("secret_names", ())
    given["arguments"] = mask_value(given.get("arguments", {}), secret_names)
    merged = {**fields, **given, "message": shortened(mask(shortened(message)))}
    merged["headers"] = mask_value(merged.get("headers", {}))
    if body := merged.get("body_head"):
        merged["body_head"] = mask(body[:LONGEST_BODY])
    return FailureFacts.model_validate(merged)


def _layer(names: tuple[str, ...]) -> Layer:
    """Return the layer of the first exception whose package is known, else tool."""
    for name in names:
        layer = next((at for prefix, at in _LAYERS if name.startswith(prefix)), None)
        if layer is not None:
            return layer
    return Layer.TOOL
