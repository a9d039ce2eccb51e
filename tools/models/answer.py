"""What comes back from a model, read the same whoever the provider is."""

import json
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from langchain_core.messages import AIMessage, BaseMessage

from mendgraph.state.record import Record
from mendgraph.tools.models.errors import (
    ModelBlank,
    ModelContentFiltered,
    ModelError,
    ModelTruncated,
    ModelUnavailable,
)
from mendgraph.tools.models.parser import split_reasoning
from mendgraph.tools.models.usage import Usage

T = TypeVar("T")


class Attempt(Record):
    """One request and what came of it, for reports."""

    model: str
    outcome: str
    """`answered`, or the name of the error."""
    detail: str = ""
    wait_s: float = 0.0
    """Seconds waited after it, before the next one."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A validated answer, what it cost, and the reasoning kept apart from it."""

    value: T
    usage: Usage
    """All requests of this question, those without a usable answer included."""
    reasoning: str | None
    """For the vault (F10); never put it into a prompt."""
    model: str
    trail: tuple[Attempt, ...]

    @property
    def attempts(self) -> int:
        """Requests sent for this question."""
        return len(self.trail)


@dataclass(frozen=True, slots=True)
class Reply:
    """The parts of one model message."""

    text: str
    reasoning: str | None
    finish: str | None
    silent: bool
    """There is nothing but reasoning."""


ENDINGS: dict[str, type[ModelError]] = {
    "length": ModelTruncated,
    "max_tokens": ModelTruncated,
    "max_output_tokens": ModelTruncated,
    "model_context_window_exceeded": ModelTruncated,
    "content_filter": ModelContentFiltered,
    "safety": ModelContentFiltered,
    "prohibited_content": ModelContentFiltered,
    "blocklist": ModelContentFiltered,
    "recitation": ModelContentFiltered,
    "refusal": ModelContentFiltered,
    "insufficient_system_resource": ModelUnavailable,
    "error": ModelUnavailable,
}
"""Finish reason in lower case → what it means; all others end an answer well."""


def reply_of(message: BaseMessage) -> Reply:
    """Return text, reasoning and finish reason of a model message."""
    leaked, text = split_reasoning(str(message.text))
    told = _told_reasoning(message)
    thoughts = "\n".join(part for part in (told, leaked) if part)
    whole = text if text.strip() or told else str(message.text)
    return Reply(
        text=whole if whole.strip() else _arguments(message),
        reasoning=thoughts or None,
        finish=_finish(message),
        silent=bool(thoughts) and not text.strip(),
    )


def _told_reasoning(message: BaseMessage) -> str:
    extra = message.additional_kwargs
    told = extra.get("reasoning_content") or extra.get("reasoning")
    if isinstance(told, str):
        return told
    blocks = message.content if isinstance(message.content, list) else []
    parts = [_thought(block) for block in blocks if isinstance(block, dict)]
    return "\n".join(part for part in parts if part)


def _thought(block: dict[str, Any]) -> str:
    return str(block.get("thinking") or block.get("reasoning") or "")


def _arguments(message: BaseMessage) -> str:
    """Return the arguments of a first tool call made in place of an answer."""
    if not isinstance(message, AIMessage):
        return ""
    if message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    broken = message.invalid_tool_calls
    return str(broken[0].get("args") or "") if broken else ""


def _finish(message: BaseMessage) -> str | None:
    told = message.response_metadata
    keys = ("finish_reason", "stop_reason", "done_reason")
    found = next((told[key] for key in keys if told.get(key)), None)
    return None if found is None else str(found)


def check_ending(message: BaseMessage, reply: Reply) -> None:
    """Refuse an answer that did not end well, whatever it says.

    Raises:
        ModelTruncated: It was cut off at the cap.
        ModelContentFiltered: It was withheld.
        ModelUnavailable: The server broke off.
        ModelBlank: It ended and said nothing.
    """
    if message.additional_kwargs.get("refusal"):
        raise ModelContentFiltered(str(message.additional_kwargs["refusal"])[:300])
    ending = ENDINGS.get((reply.finish or "").lower())
    if ending is ModelTruncated:
        raise ModelTruncated(
            f"finish_reason is {reply.finish}",
            told=True,
            by_reasoning=reply.silent,
        )
    if ending is not None:
        raise ending(f"finish_reason is {reply.finish}")
    if not reply.text.strip():
        raise ModelBlank("the answer is blank")
