"""Tools that are own subclasses of BaseTool end no more than their call either."""

import asyncio
import sys
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForToolRun
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt
from pydantic import PrivateAttr

from mendgraph import create_mend_agent
from mendgraph.state.policy import ASSUMED_READ
from mendgraph.tools.call import Called, call_tool
from mendgraph.tools.registry import Entry


def _leave() -> Any:
    sys.exit(3)


def _stop() -> Any:
    return next(iter(()))


def _cancel() -> Any:
    raise asyncio.CancelledError


def _close() -> Any:
    raise GeneratorExit


class Plain(BaseTool):
    """A tool with `_run` alone, which keeps count in itself."""

    name: str = "plain"
    description: str = "Do what it was made for."
    act: Any = None
    calls: int = 0
    _last: str = PrivateAttr(default="")

    def _run(self, text: str = "", **_: Any) -> Any:
        self.calls += 1
        self._last = text
        return self.act() if self.act else {"text": text}


class Awaited(Plain):
    """The same with a coroutine, which asks for the config and the callbacks."""

    name: str = "awaited"
    wait_s: float = 0.0

    async def _arun(
        self,
        text: str = "",
        *,
        config: RunnableConfig,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
    ) -> Any:
        await asyncio.sleep(self.wait_s)
        known = config.get("metadata", {}).get("known")
        told = {"known": known, "managed": run_manager is not None}
        return self._run(text) | told


def called(tool: BaseTool, timeout_s: float = 5.0, **given: Any) -> Called:
    async def call() -> Called:
        return await call_tool(
            Entry(tool, ASSUMED_READ),
            given,
            timeout_s=timeout_s,
            clock=lambda: 0.0,
            config={"metadata": {"known": "yes"}},
        )

    return asyncio.run(call())


def run(*tools: BaseTool, how: str) -> dict[str, Any]:
    agent = create_mend_agent(
        None,
        tools=tools,
        assume="read",
        learn=False,
        seeded=False,
        sleep=lambda _: asyncio.sleep(0),
    )
    steps = [{"id": each.name, "tool": each.name} for each in tools]
    given = {"task": "t", "plan": {"steps": steps}}
    if how == "invoke":
        return agent.invoke(given)
    return asyncio.run(agent.ainvoke(given))


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("act", [_leave, _stop, _cancel])
@pytest.mark.parametrize("kind", [Plain, Awaited])
def test_it_cannot_end_more_than_its_own_call(
    kind: type[Plain], act: Any, how: str
) -> None:
    """Its step fails with the reason; its sibling is done."""
    result = run(kind(name="bad", act=act), Plain(name="good"), how=how)
    assert result["status"] == "partial"
    assert "bad (failed)" in result["answer"]
    assert "good: " in result["answer"]


@pytest.mark.parametrize("kind", [Plain, Awaited])
def test_leaving_gives_the_facts_of_a_failure(kind: type[Plain]) -> None:
    """They name what the tool raised."""
    facts = called(kind(act=_leave)).facts
    assert facts is not None
    assert facts.message == "ToolLeft: the tool raised SystemExit(3)"


def test_a_generators_end_on_a_thread_is_data_too() -> None:
    """There nobody closes a coroutine; the tool raised it itself."""
    assert called(Plain(act=_close)).facts is not None


@pytest.mark.parametrize("kind", [Plain, Awaited])
def test_the_tool_itself_is_called(kind: type[Plain]) -> None:
    """What it keeps in itself is there afterwards; config and callbacks come in."""
    tool = kind()
    value = called(tool, text="a").value
    assert (value["text"], tool.calls, tool._last) == ("a", 1, "a")
    assert value.get("known", "yes") == "yes"
    assert value.get("managed", True)


@pytest.mark.parametrize("kind", [Plain, Awaited])
def test_a_question_passes(kind: type[Plain]) -> None:
    """An interrupt of LangGraph is no failure."""

    def ask() -> Any:
        raise GraphInterrupt(())

    with pytest.raises(GraphInterrupt):
        called(kind(act=ask))


def test_ctrl_c_on_the_loop_passes() -> None:
    """It may be the user's own."""

    def press() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        called(Awaited(act=press))


def test_a_cancellation_from_outside_passes() -> None:
    """So a limit in time stays what it was."""
    facts = called(Awaited(wait_s=5.0), timeout_s=0.05).facts
    assert facts is not None
    assert facts.message == "the tool gave no answer within 0.05 s"


class Wrapping(Awaited):
    """One that wraps the call from outside, as LangChain allows."""

    async def ainvoke(self, given: Any, config: Any = None, **more: Any) -> Any:
        self.calls += 10
        return await super().ainvoke(given, config, **more)


def test_a_tool_may_wrap_its_own_call() -> None:
    """`super()` and what it keeps are the tool's there too."""
    tool, leaving = Wrapping(), Wrapping(act=_leave)
    assert called(tool, text="a").value["text"] == "a"
    assert tool.calls == 11
    assert called(leaving).facts is not None
