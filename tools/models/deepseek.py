"""DeepSeek's client with the message rules of its API kept.

`ChatDeepSeek` 1.1.1 reads `reasoning_content` and never sends it back, sends lists as
tool results encoded as JSON, and passes on roles the API does not know. This module
imports the client at its top: import it lazily.
"""

from typing import Any, Literal

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ToolMessage,
    merge_message_runs,
)
from langchain_deepseek import ChatDeepSeek

ROLES = {"developer": "system"}
"""Roles of other APIs → the role that DeepSeek knows."""


class MendDeepSeek(ChatDeepSeek):
    """A `ChatDeepSeek` whose requests the API accepts in tool-call conversations."""

    reasoning_back: Literal["tool_turns", "never"] = "tool_turns"
    """When an answer's reasoning goes back: with its tool calls, or never (old R1)."""

    def _get_request_payload(
        self,
        input_: LanguageModelInput,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        messages = tidy(self._convert_input(input_).to_messages())
        payload = super()._get_request_payload(messages, stop=stop, **kwargs)
        for sent, message in zip(payload["messages"], messages, strict=True):
            sent["role"] = ROLES.get(sent["role"], sent["role"])
            if self.reasoning_back == "tool_turns" and _calls_tools(message):
                sent["reasoning_content"] = reasoning_of(message) or ""
        result: dict[str, Any] = payload
        return result


def _calls_tools(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and bool(
        message.tool_calls or message.invalid_tool_calls
    )


def reasoning_of(message: BaseMessage) -> str | None:
    """Return the reasoning a provider gave apart from the content."""
    told = message.additional_kwargs.get("reasoning_content")
    return str(told) if told else None


def tidy(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return messages with neighbours of one role merged and tool results as text."""
    flat = [
        message.model_copy(update={"content": str(message.text)})
        if isinstance(message, ToolMessage)
        else message
        for message in messages
    ]
    merged: list[BaseMessage] = []
    for message in flat:
        mergeable = (
            merged and not _calls_tools(merged[-1]) and not _calls_tools(message)
        )
        if mergeable:
            merged[-1:] = merge_message_runs([merged[-1], message])
        else:
            merged.append(message)
    return merged
