"""What each model can do: a table of expectations that met errors correct.

Deployments under one name differ (gateways, older servers), so what an endpoint said
itself outweighs the table, and is remembered for the life of the process.
"""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from threading import Lock
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel

from mendgraph.state.record import Record


class Capability(Record):
    """What one deployment of a model can do."""

    thinking: bool = False
    """It has a thinking mode that `extra_body.thinking` switches; on by default."""
    json_mode: bool = True
    """It takes `response_format={"type": "json_object"}`."""
    json_schema: bool = True
    forced_tool_choice: bool = True
    """It takes a forced tool choice while thinking is as it is by default."""
    temperature: bool = True
    """It honours the temperature; where not, diversity must come from the prompt."""
    max_tokens: str | None = "max_tokens"
    """The argument that caps the output; None where none is known."""
    output_cap: int = 8_192
    """Most tokens of one answer, reasoning included."""
    context: int = 128_000
    """Most tokens of prompt and answer together."""


DEEPSEEK = Capability(
    thinking=True,
    json_schema=False,
    forced_tool_choice=False,
    temperature=False,
    output_cap=384_000,
    context=1_000_000,
)
OPENAI = Capability(output_cap=16_384, context=128_000)
OPENAI_REASONING = Capability(temperature=False, output_cap=128_000, context=400_000)
GENERIC = Capability(json_mode=False, json_schema=False, max_tokens=None)

TABLE: tuple[tuple[str, Capability], ...] = (
    ("*deepseek-flash*", DEEPSEEK),
    ("*deepseek-v4*", DEEPSEEK),
    ("*deepseek-chat*", DEEPSEEK),
    ("*deepseek-reasoner*", DEEPSEEK),
    ("*deepseek*", DEEPSEEK.but(output_cap=32_768, context=128_000)),
    ("gpt-5*", OPENAI_REASONING),
    ("o[1-9]*", OPENAI_REASONING),
    ("gpt-*", OPENAI),
)
"""(shell-style pattern on the lower-case model name, expectation); first match wins."""

ASSUMED = Capability(json_schema=False)
"""An OpenAI-compatible endpoint with an unknown model."""

FEATURES = MappingProxyType(
    {
        "forced_tool_choice": r"tool_choice",
        "json_schema": r"json_schema|response_format type is unavailable",
        "json_mode": r"json[ _]?(?:output|mode|object)|response_format",
        "max_tokens": r"max_(?:completion_)?tokens",
        "temperature": r"\btemperature\b",
        "thinking": r"\bthinking\b|enable_thinking",
    }
)
"""Field of `Capability` → what an error says about it; the first match decides."""

REFUSED = re.compile(
    r"not support|unsupported|unavailable|not available|not allowed|unrecognized"
    r"|unknown (?:parameter|field|argument)|unexpected keyword|extra inputs"
    r"|extra fields|not permitted|only .{0,40}supported",
    re.IGNORECASE,
)
OUTPUT_CAP = re.compile(
    r"max_(?:completion_)?tokens.{0,80}?(?:\[1, ?|at most |<= ?|less than or equal to )"
    r"(\d+)",
    re.IGNORECASE | re.DOTALL,
)
INSTEAD = re.compile(r"use '?(max_\w+)'? instead", re.IGNORECASE)


class Missing(Record):
    """A feature that an error message says is not there, and what is instead."""

    feature: str
    value: bool | int | str | None = False


def missing_feature(message: str) -> Missing | None:
    """Return what an error message says about a field of `Capability`."""
    if cap := OUTPUT_CAP.search(message):
        return Missing(feature="output_cap", value=int(cap.group(1)))
    if "must contain the word" in message or not REFUSED.search(message):
        return None
    for feature, pattern in FEATURES.items():
        if re.search(pattern, message, re.IGNORECASE):
            return Missing(feature=feature, value=_instead(feature, message))
    return None


def _instead(feature: str, message: str) -> bool | str | None:
    if feature != "max_tokens":
        return False
    named = INSTEAD.search(message)
    return named.group(1) if named else None


class ModelId(Record):
    """A model at an endpoint; the key of what is known about it."""

    name: str
    endpoint: str = ""
    """Host and port, empty for the provider's own."""
    family: str = "openai"
    """`openai` for clients of the chat-completions protocol, else `other`."""


def identify(model: BaseChatModel) -> ModelId:
    """Return the name, the endpoint and the protocol of a model."""
    names = (getattr(model, key, None) for key in ("model_name", "model", "model_id"))
    name = next((str(name) for name in names if name), model._llm_type)  # noqa: SLF001  the public property is this one
    bases = {base.__name__ for base in type(model).__mro__}
    compatible = getattr(model, "speaks_openai", "BaseChatOpenAI" in bases)
    address: Any = getattr(model, "api_base", None)
    address = address or getattr(model, "openai_api_base", None) or ""
    return ModelId(
        name=name,
        endpoint=urlsplit(str(address)).netloc,
        family="openai" if compatible else "other",
    )


def expected(model: ModelId) -> Capability:
    """Return what the table says of a model."""
    if model.family != "openai":
        return GENERIC
    name = model.name.lower()
    matches = (known for pattern, known in TABLE if fnmatchcase(name, pattern))
    return next(matches, ASSUMED)


@dataclass(slots=True)
class CapabilityBook:
    """What is known of every model met in this process. Safe to share by threads."""

    _known: dict[ModelId, Capability] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, model: ModelId) -> Capability:
        """Return what is known of a model: what it taught us, else the table."""
        with self._lock:
            return self._known.get(model) or expected(model)

    def learn(
        self, model: ModelId, feature: str, value: bool | int | str | None = False
    ) -> bool:
        """Note what a feature really is; False when that was known already."""
        with self._lock:
            before = self._known.get(model) or expected(model)
            if getattr(before, feature) == value:
                return False
            self._known[model] = before.but(**{feature: value})
            return True

    def learned(self) -> dict[ModelId, Capability]:
        """Return what endpoints taught us, for reports."""
        with self._lock:
            return dict(self._known)


BOOK = CapabilityBook()
"""The book of this process; pass another one where runs must not share."""
