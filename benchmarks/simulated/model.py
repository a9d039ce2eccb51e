"""One simulated chat model for every agent: it reads what it is sent, and counts it.

It is no model: its answers follow from the prompt's text, from stated rules and from
the luck of hash(seed, task, decision). All agents pay through the same counter.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, PrivateAttr

from mendgraph.bench.world import Clock
from mendgraph.state.tokens import count_tokens
from simulated.graphs import GRAPH_ROLES
from simulated.mind import Luck
from simulated.roles import ROLES
from simulated.talking import talk_in, text_of, transcript_in

ROLE = re.compile(r"^ROLE: (\w+)", re.MULTILINE)
SUMMARY = "Context Extraction Assistant"
CALL_S, TOKEN_S = 0.6, 0.02
"""Simulated seconds of one request and of each token it writes."""
FRAME = 4
"""Tokens of one message's frame."""


def tokens_of(messages: Sequence[BaseMessage], tools: Sequence[Any]) -> int:
    """Return about how many tokens a request is: messages, calls, tool schemas."""
    total = 0
    for message in messages:
        total += FRAME + count_tokens(text_of(message))
        calls = getattr(message, "tool_calls", None)
        total += count_tokens(json.dumps(calls, default=str)) if calls else 0
    schemas = [convert_to_openai_tool(tool) for tool in tools]
    return total + (count_tokens(json.dumps(schemas)) if schemas else 0)


class SimulatedModel(BaseChatModel):
    """Answers every framework's prompts from what they say."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    luck: Luck
    clock: Clock
    model_name: str = "simulated"
    _guard: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _counts: Counter[str] = PrivateAttr(default_factory=Counter)
    _asked: Counter[str] = PrivateAttr(default_factory=Counter)

    @property
    def _llm_type(self) -> str:
        return "simulated, not a model"

    @property
    def counts(self) -> Counter[str]:
        """`calls`, `prompt_tokens`, `completion_tokens`, and calls by role."""
        return self._counts

    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tools among the options of its requests."""
        return self.bind(tools=list(tools), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  as above
        **kwargs: Any,
    ) -> ChatResult:
        tools = kwargs.get("tools") or []
        role, message = self._answer(messages, tools)
        wrote = count_tokens(str(message.text)) + sum(
            count_tokens(json.dumps(call, default=str)) for call in message.tool_calls
        )
        with self._guard:
            self._counts["calls"] += 1
            self._counts[f"role:{role}"] += 1
            self._counts["prompt_tokens"] += tokens_of(messages, tools)
            self._counts["completion_tokens"] += wrote
            self.clock.now += CALL_S + TOKEN_S * wrote
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        """Answer without a thread: nothing here waits."""
        return self._generate(*args, **kwargs)

    def _answer(
        self, messages: list[BaseMessage], tools: Sequence[Any]
    ) -> tuple[str, AIMessage]:
        said = "\n".join(map(text_of, messages))
        luck = replace(self.luck, asked=self._asked[said])
        self._asked[said] += 1
        if SUMMARY in said:
            return "summary", AIMessage(transcript_in(said, self.luck).summary())
        if tools:
            return "agent", self._call(messages)
        named = ROLE.search(text_of(messages[0]))
        for role, answer in GRAPH_ROLES.items():
            if role in said:
                return role, AIMessage(answer(said, luck))
        told: Callable[[str, Luck], dict[str, Any]] = ROLES[named.group(1)]  # type: ignore[union-attr]  # a prompt nobody knows must fail loudly
        user = "\n".join(map(text_of, messages[1:]))
        answered = json.dumps(told(user, luck), ensure_ascii=False)
        return named.group(1), AIMessage(answered)  # type: ignore[union-attr]  # as above

    def _call(self, messages: list[BaseMessage]) -> AIMessage:
        """Ask for the next tool calls, or report."""
        talk = talk_in(messages, self.luck)
        talk.settle()
        calls = [
            {
                "name": move.tool,
                "args": dict(move.args or {}),
                "id": f"{step.id}-{len(talk.tries[step.id]) + 1}",
            }
            for step, move in talk.calls()
        ]
        return AIMessage("", tool_calls=calls) if calls else AIMessage(talk.report())
