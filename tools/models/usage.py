"""What model calls cost, counted also when their answers were of no use."""

from typing import Any

from langchain_core.messages import BaseMessage

from mendgraph.state.limits import Spent
from mendgraph.state.record import Record
from mendgraph.state.tokens import count_tokens


class Usage(Record):
    """Tokens and calls; addition is associative."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Reasoning included, as providers count."""
    reasoning_tokens: int = 0
    model_calls: int = 0
    """Requests sent, failed ones included."""
    estimated: bool = False
    """True when some figure was counted by us and not told by the provider."""

    def plus(self, other: "Usage") -> "Usage":
        """Return the field-wise sum."""
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            model_calls=self.model_calls + other.model_calls,
            estimated=self.estimated or other.estimated,
        )

    def spent(self) -> Spent:
        """Return the delta to charge; completion tokens count as reasoning budget."""
        return Spent(
            model_calls=self.model_calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            reasoning_tokens=self.reasoning_tokens,
            budgeted_tokens=self.completion_tokens,
        )


def prompt_size(messages: list[BaseMessage]) -> int:
    """Return about how many tokens the messages are, four a message for its frame."""
    return sum(count_tokens(str(message.text)) + 4 for message in messages)


def usage_of(
    messages: list[BaseMessage], answer: BaseMessage, reasoning: str | None
) -> Usage:
    """Return what one answered call cost, by the provider's word where it gave one."""
    told: dict[str, Any] | None = getattr(answer, "usage_metadata", None)
    thought = count_tokens(reasoning or "")
    if not told or not told.get("input_tokens"):
        return Usage(
            prompt_tokens=prompt_size(messages),
            completion_tokens=count_tokens(str(answer.text)) + thought,
            reasoning_tokens=thought,
            model_calls=1,
            estimated=True,
        )
    details = told.get("output_token_details") or {}
    return Usage(
        prompt_tokens=told["input_tokens"],
        completion_tokens=told["output_tokens"],
        reasoning_tokens=details.get("reasoning", thought),
        model_calls=1,
    )


def completion_usage(completion: Any) -> Usage:
    """Return what an OpenAI completion object cost; nothing when it does not say."""
    told = getattr(completion, "usage", None)
    if told is None:
        return Usage()
    details = getattr(told, "completion_tokens_details", None)
    return Usage(
        prompt_tokens=told.prompt_tokens,
        completion_tokens=told.completion_tokens,
        reasoning_tokens=getattr(details, "reasoning_tokens", None) or 0,
        model_calls=1,
    )
