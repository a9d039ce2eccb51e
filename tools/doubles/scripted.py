"""A chat model that says what a script tells it: a double for tests and rehearsals.

Nothing it says is a model's work, and its type and metadata say so.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun as Async
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import BaseModel, Field, PrivateAttr

from mendgraph.state.record import Record

NOTE = "scripted double, not a model"


class Line(Record):
    """One answer of the script with all that may come beside its text."""

    text: str = ""
    reasoning: str | None = None
    finish_reason: str = "stop"
    usage: dict[str, int] | None = None
    """`input_tokens`, `output_tokens`, `reasoning`; None gives no usage metadata."""
    tool_calls: tuple[dict[str, Any], ...] = ()
    """LangChain tool calls: name, args, id."""
    delay_s: float = 0.0


Said = Line | str | dict[str, Any] | list[Any] | BaseModel | Exception
"""A line; text; a value sent as JSON; or an error to raise."""


class ScriptEnded(LookupError):
    """The script was asked for more answers than it has."""


class ScriptedModel(BaseChatModel):
    """Answers from a list, one after the other, or from a function of the messages.

    Args:
        script: Answers in order, or a function that makes the answer to messages.
        model_name: The name it goes by; capabilities are looked up by it.
        speaks_openai: It takes the keyword arguments of the chat-completions protocol.
    """

    script: Sequence[Any] | Callable[[list[BaseMessage]], Any]
    """Each answer is one of `Said`."""
    model_name: str = "scripted-double"
    speaks_openai: bool = True
    extra_body: dict[str, Any] | None = None
    told: dict[str, Any] = Field(default_factory=dict)
    """More entries for every answer's `response_metadata`."""
    _seen: list[tuple[list[BaseMessage], dict[str, Any]]] = PrivateAttr(
        default_factory=list
    )
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def _llm_type(self) -> str:
        return NOTE

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        """The messages of every request, in order."""
        return [messages for messages, _ in self._seen]

    @property
    def options(self) -> list[dict[str, Any]]:
        """The keyword arguments of every request, in order."""
        return [options for _, options in self._seen]

    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tools noted among the options of its requests."""
        return self.bind(tools=list(tools), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  as above
        **kwargs: Any,
    ) -> ChatResult:
        line = self._next(messages, kwargs)
        if line.delay_s:
            time.sleep(line.delay_s)
        return self._result(line)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  LangChain's signature
        run_manager: Async | None = None,  # noqa: ARG002  as above
        **kwargs: Any,
    ) -> ChatResult:
        line = self._next(messages, kwargs)
        if line.delay_s:
            await asyncio.sleep(line.delay_s)
        return self._result(line)

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> Line:
        with self._lock:
            asked = len(self._seen)
            self._seen.append((list(messages), options))
        said = self.script(messages) if callable(self.script) else self._at(asked)
        if isinstance(said, Exception):
            raise said
        return _line(said)

    def _at(self, position: int) -> Any:
        answers = self.script
        if callable(answers) or position >= len(answers):
            raise ScriptEnded(f"the script has no answer number {position + 1}")
        return answers[position]

    def _result(self, line: Line) -> ChatResult:
        message = AIMessage(
            content=line.text,
            tool_calls=[dict(call) for call in line.tool_calls],
            response_metadata={
                "model_name": self.model_name,
                "finish_reason": line.finish_reason,
                "double": NOTE,
                **self.told,
            },
        )
        if line.reasoning is not None:
            message.additional_kwargs["reasoning_content"] = line.reasoning
        if line.usage is not None:
            message = message.model_copy(
                update={"usage_metadata": _usage_metadata(line.usage)}
            )
        return ChatResult(generations=[ChatGeneration(message=message)])


def _line(said: Any) -> Line:
    if isinstance(said, Line):
        return said
    if isinstance(said, str):
        return Line(text=said)
    if isinstance(said, BaseModel):
        return Line(text=said.model_dump_json(by_alias=True))
    return Line(text=json.dumps(said, ensure_ascii=False))


def _usage_metadata(usage: dict[str, int]) -> dict[str, Any]:
    read, wrote = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    return {
        "input_tokens": read,
        "output_tokens": wrote,
        "total_tokens": read + wrote,
        "output_token_details": {"reasoning": usage.get("reasoning", 0)},
    }
