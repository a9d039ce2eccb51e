"""One call of a tool: a value, or the facts of its failure. Nothing is raised.

Interrupts of LangGraph are the exception: they pass. A tool that takes longer than its
limit is left; whether it had an effect is then unknown.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph.errors import GraphBubbleUp

from mendgraph.state.failure import FailureFacts, Layer
from mendgraph.state.masking import MASK, is_secret_name
from mendgraph.state.record import Record
from mendgraph.tools.contained import awaited, guarded, returned
from mendgraph.tools.facts import gather
from mendgraph.tools.plain import json_value
from mendgraph.tools.registry import Entry

SHORTEST_SECRET = 4
"""Shorter texts are too common to be looked for in an error's words."""


class Called(Record):
    """What a call gave."""

    value: Any = None
    facts: FailureFacts | None = None
    """Why it failed; None when it returned."""
    started_at: float
    ended_at: float

    @property
    def elapsed_ms(self) -> float:
        """How long it took in milliseconds."""
        return (self.ended_at - self.started_at) * 1_000


async def call_tool(
    entry: Entry,
    arguments: Mapping[str, Any],
    *,
    timeout_s: float,
    clock: Callable[[], float],
    config: RunnableConfig | None = None,
    idempotency_key: str | None = None,
) -> Called:
    """Call a tool once.

    Args:
        entry: The tool and its policy.
        arguments: Rendered arguments.
        timeout_s: Limit in seconds.
        clock: Gives seconds since the epoch.
        config: Passed on, so callbacks and the stream writer work inside the tool.
        idempotency_key: Put into the policy's `idempotency_arg`.
    """
    given = dict(arguments)
    if entry.policy.idempotency_arg and idempotency_key:
        given[entry.policy.idempotency_arg] = idempotency_key
    started = clock()
    try:
        async with asyncio.timeout(timeout_s) as limit:
            value = await _invoke(entry.tool, given, config)
        return Called(value=normal(value), started_at=started, ended_at=clock())
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001  every fault of a tool becomes data
        facts = _facts(error, entry, given, timeout_s, (clock() - started) * 1_000)
        if limit.expired():
            said = f"the tool gave no answer within {timeout_s:g} s"
            facts = facts.but(message=said)
        return Called(facts=facts, started_at=started, ended_at=clock())


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """Return the threads of synchronous tools; a forked process starts its own.

    A loop's own pool has few, and waiting ones fill it.
    """
    return ThreadPoolExecutor(max_workers=512, thread_name_prefix="mendgraph-tool")


async def _invoke(
    tool: BaseTool, given: dict[str, Any], config: RunnableConfig | None
) -> Any:
    """Call a tool without blocking the loop, whether or not it is asynchronous."""
    if is_async(tool):
        return await awaited(guarded(tool).ainvoke)(given, config)
    call = partial(copy_context().run, returned(tool.invoke), given, config)
    return await asyncio.get_running_loop().run_in_executor(_pool(os.getpid()), call)


def is_async(tool: BaseTool) -> bool:
    """Tell whether a tool has a coroutine of its own."""
    if isinstance(tool, StructuredTool | Tool):
        return tool.coroutine is not None
    return type(tool)._arun is not BaseTool._arun  # noqa: SLF001  the way to tell


def _facts(
    error: Exception,
    entry: Entry,
    given: Mapping[str, Any],
    timeout_s: float,
    ms: float,
) -> FailureFacts:
    facts = gather(
        error,
        tool=entry.name,
        tool_class=entry.tool_class,
        service=entry.policy.service,
        arguments=dict(given),
        secret_names=entry.policy.secret_args,
    )
    secrets = _secrets(given, entry.policy.secret_args)
    return facts.but(
        message=_without(facts.message, secrets),
        body_head=_without(facts.body_head, secrets),
        earlier_message=_without(facts.earlier_message, secrets),
        timeout_s=timeout_s,
        elapsed_ms=ms,
        layer=facts.layer if facts.layer is not Layer.OWN else Layer.TOOL,
    )


def _secrets(given: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the secret texts of a call; errors like to quote them."""
    marked = frozenset(name.lower() for name in names)
    return [
        value
        for name, value in given.items()
        if isinstance(value, str)
        and len(value) >= SHORTEST_SECRET
        and is_secret_name(name, marked)
    ]


def _without(text: Any, secrets: Iterable[str]) -> Any:
    for secret in secrets if isinstance(text, str) else ():
        text = text.replace(secret, MASK)
    return text


def normal(value: Any) -> Any:
    """Return a tool's result as plain JSON values.

    Messages give their content, text blocks their text, JSON text its value.
    """
    if isinstance(value, BaseMessage):
        value = value.content
    value = _joined_blocks(value)
    if isinstance(value, str):
        return json_value(_json_text(value))
    return json_value(value)


def _joined_blocks(value: Any) -> Any:
    blocks = isinstance(value, list) and value and all(_is_text(item) for item in value)
    return "\n".join(item["text"] for item in value) if blocks else value


def _is_text(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "text" and "text" in item


def _json_text(text: str) -> Any:
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
