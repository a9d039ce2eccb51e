"""Ask models for validated records: the one place that calls a chat model.

It owns every retry of a model call (clients are built without any), counts what is
spent even when an answer is of no use, keeps reasoning apart, and turns every failure
into one of `tools.models.errors`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel

from mendgraph.tools.models.answer import Answer, Attempt, check_ending, reply_of
from mendgraph.tools.models.capabilities import (
    BOOK,
    Capability,
    CapabilityBook,
    ModelId,
    identify,
)
from mendgraph.tools.models.errors import (
    ModelCapabilityMissing,
    ModelContextOverflow,
    ModelError,
    ModelTruncated,
    ModelUnavailable,
)
from mendgraph.tools.models.instruct import with_instruction
from mendgraph.tools.models.parser import parse
from mendgraph.tools.models.reactions import Patience, Request, options, react, uses
from mendgraph.tools.models.translate import translate
from mendgraph.tools.models.usage import Usage, prompt_size, usage_of

T = TypeVar("T", bound=BaseModel)
Prompt = Sequence[BaseMessage | tuple[str, str]]
"""Messages, or (role, text) pairs such as `("system", …), ("user", …)`."""

TIMEOUT_S = 300.0
MAX_CALLS = 12
"""Requests one question may cost, all models together."""


@dataclass
class _Question(Generic[T]):
    """One `ask` in progress: what is wanted and what it has cost so far."""

    role: str
    prompt: list[BaseMessage]
    schema: type[T]
    max_calls: int
    more: Callable[[], bool]
    usage: Usage = field(default_factory=Usage)
    trail: list[Attempt] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)

    def note(self, model: str, error: ModelError | None, wait_s: float = 0.0) -> None:
        outcome = type(error).__name__ if error else "answered"
        detail = error.message[:200] if error else ""
        self.trail.append(
            Attempt(model=model, outcome=outcome, detail=detail, wait_s=wait_s)
        )

    @property
    def used_up(self) -> bool:
        return self.usage.model_calls >= self.max_calls


class Reasoner:
    """Asks the first model that answers, in the order given.

    Args:
        models: The model and its fallbacks; any LangChain chat model.
        clock: Returns seconds since the epoch; measures Retry-After dates.
        sleep: Waits that many seconds; tests pass one that does not.
        book: What is known of each model; shared by the process by default.
        reasks: Times a model is asked again after an answer that does not fit.
        patience: All limits on asking again, when `reasks` is not enough.
        timeout_s: Seconds for one request.
    """

    def __init__(
        self,
        models: Sequence[BaseChatModel],
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        book: CapabilityBook = BOOK,
        reasks: int = 2,
        patience: Patience | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.models = tuple(models)
        self.book = book
        self._clock = clock
        self._sleep = sleep
        self._patience = patience or Patience(reasks=reasks)
        self._timeout_s = timeout_s

    async def ask(
        self,
        role: str,
        messages: Prompt,
        schema: type[T],
        *,
        max_tokens: int | None = None,
        most_tokens: int | None = None,
        thinking: bool | None = None,
        max_calls: int = MAX_CALLS,
        more: Callable[[], bool] = lambda: True,
    ) -> Answer[T]:
        """Return a validated answer of the first model that gives one.

        Args:
            role: Who asks (planner, reflector …); names the run in traces.
            messages: The prompt; JSON instructions for the schema are added.
            schema: The record wanted.
            max_tokens: Cap on output, reasoning included; None is the provider's.
            most_tokens: How far the cap may be raised after an answer was cut off.
            thinking: Switch thinking on or off where it can be; None leaves it.
            max_calls: Requests this question may cost, all models together.
            more: Asked before every request but the first; False ends the question.

        Raises:
            ModelUnavailable: No model answers; `reasons` says why for each.
            ModelError: The request itself is at fault. `usage` holds what was spent.
        """
        prompt = convert_to_messages(list(messages))
        question = _Question(role, prompt, schema, max_calls, more)
        first = Request(
            max_tokens=max_tokens, most_tokens=most_tokens, thinking=thinking
        )
        errors: list[ModelError] = []
        waiting = list(self.models)
        while waiting and not question.used_up and (not errors or more()):
            model = waiting.pop(0)
            result = await self._ask_one(model, question, first)
            if isinstance(result, Answer):
                return result
            errors.append(result)
            waiting = self._others(waiting, result, model)
        raise self._verdict(errors, question)

    async def _ask_one(
        self, model: BaseChatModel, question: _Question[T], request: Request
    ) -> Answer[T] | ModelError:
        """Ask one model until it answers or its chances are used up."""
        who = identify(model)
        while True:
            can = self.book.of(who)
            try:
                value = await self._call(model, question, request, can)
            except ModelError as error:
                error.model = error.model or who.name
                self._learn(who, error, request, can)
                step = react(request, error, can, self._patience)
                question.note(who.name, error, step.wait_s if step else 0.0)
                if step is None or question.used_up or not question.more():
                    return error
                if step.wait_s:
                    await self._sleep(step.wait_s)
                request = step.request
            else:
                question.note(who.name, None)
                return _answer(value, question, who)

    async def _call(
        self,
        model: BaseChatModel,
        question: _Question[T],
        request: Request,
        can: Capability,
    ) -> T:
        """Send one request, charge it, and read the answer."""
        prompt = with_instruction(question.prompt, question.schema, request.problems)
        extra_body = getattr(model, "extra_body", None)
        chosen = options(request, can, extra_body)
        message = await self._send(model, prompt, chosen, question)
        reply = reply_of(message)
        question.usage = question.usage.plus(usage_of(prompt, message, reply.reasoning))
        if reply.reasoning:
            question.thoughts.append(reply.reasoning)
        check_ending(message, reply)
        return parse(reply.text, question.schema, finish_reason=reply.finish)

    async def _send(
        self,
        model: BaseChatModel,
        prompt: list[BaseMessage],
        chosen: dict[str, Any],
        question: _Question[T],
    ) -> BaseMessage:
        """Send one request; every foreign exception comes out as one of ours."""
        who = identify(model)
        if who.family == "openai":
            chosen = {**chosen, "stream": False}
        try:
            return await asyncio.wait_for(
                model.ainvoke(prompt, _config(question.role), **chosen),
                self._timeout_s,
            )
        except GraphBubbleUp:
            raise
        except Exception as error:
            ours = translate(error, model=who.name, now=self._clock())
            question.usage = question.usage.plus(_failed_usage(ours, prompt))
            raise ours from error

    def _learn(
        self, who: ModelId, error: ModelError, request: Request, can: Capability
    ) -> None:
        """Correct the book by an error, if the request used what it complains of."""
        if not isinstance(error, ModelCapabilityMissing):
            return
        if error.feature == "json_schema" and uses(request, can, "json_mode"):
            error.feature = "json_mode"
        if uses(request, can, error.feature):
            self.book.learn(who, error.feature, error.value)

    def _others(
        self, rest: Sequence[BaseChatModel], error: ModelError, asked: BaseChatModel
    ) -> list[BaseChatModel]:
        """Return the models that may do better after an error of `asked`."""
        if isinstance(error, ModelTruncated) and error.told:
            return []
        if not isinstance(error, ModelContextOverflow):
            return list(rest)
        room = self.book.of(identify(asked)).context
        return [each for each in rest if self.book.of(identify(each)).context > room]

    def _verdict(self, errors: list[ModelError], question: _Question[T]) -> ModelError:
        """Return the error that tells the caller most, with all reasons and costs."""
        of_request = [error for error in errors if not error.models_side]
        final = of_request[-1] if of_request else _nobody(errors, question)
        final.usage = question.usage
        final.reasons = tuple(f"{each.model}: {each.message}" for each in errors)
        return final


def _answer(value: T, question: _Question[T], who: ModelId) -> Answer[T]:
    return Answer(
        value=value,
        usage=question.usage,
        reasoning="\n\n".join(question.thoughts) or None,
        model=who.name,
        trail=tuple(question.trail),
    )


def _nobody(errors: list[ModelError], question: _Question[Any]) -> ModelUnavailable:
    waits = [each.retry_after_s for each in errors if each.retry_after_s is not None]
    names = ", ".join(str(each.model) for each in errors) or "no model given"
    remedies = " ".join(dict.fromkeys(each.remedy for each in errors))
    return ModelUnavailable(
        f"no model answered the {question.role} ({names}). {remedies}".strip(),
        retry_after_s=min(waits, default=None),
    )


def _failed_usage(error: ModelError, prompt: list[BaseMessage]) -> Usage:
    """Charge the prompt where the provider may have read it without telling."""
    if error.usage.model_calls:
        return error.usage
    if error.http_status is not None:
        return Usage(model_calls=1)
    return Usage(prompt_tokens=prompt_size(prompt), model_calls=1, estimated=True)


def _config(role: str) -> RunnableConfig:
    """Name the run and keep half-finished JSON out of token streams."""
    tags = [*(ensure_config().get("tags") or ()), TAG_NOSTREAM]
    return RunnableConfig(run_name=f"ask {role}", tags=tags)
