"""Tools as people write them: every kind of callable, schema and misbehaviour."""

import asyncio
import sys
from typing import Annotated, Any, Literal

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, StructuredTool, tool
from langgraph.prebuilt import InjectedState, ToolRuntime
from pydantic import BaseModel, Field

from mendgraph import create_mend_agent
from mendgraph.tools.errors import ConfigError


def agent_of(*tools, **given):
    return create_mend_agent(
        None,
        tools=tools,
        assume="read",
        learn=False,
        seeded=False,
        sleep=lambda _: asyncio.sleep(0),
        **given,
    )


def run(*tools, steps, how="invoke"):
    agent = agent_of(*tools)
    given = {"task": "t", "plan": {"steps": steps}}
    if how == "invoke":
        return agent.invoke(given)
    return asyncio.run(agent.ainvoke(given))


def fine(number: int = 1) -> dict:
    """Return the number."""
    return {"number": number}


async def fine_async(number: int = 1) -> dict:
    """Return the number after a turn of the loop."""
    await asyncio.sleep(0)
    return {"number": number}


def leaves() -> dict:
    """End the process."""
    sys.exit(3)


def stops() -> dict:
    """Raise what no future can carry."""
    return next(iter(()))


def interrupts() -> dict:
    """Pretend that Ctrl-C was pressed."""
    raise KeyboardInterrupt


def cancels() -> dict:
    """Raise a cancellation nobody asked for."""
    raise asyncio.CancelledError


async def leaves_async() -> dict:
    """End the process from the loop."""
    sys.exit(3)


async def cancels_async() -> dict:
    """Cancel itself."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize(
    "bad", [leaves, stops, interrupts, cancels, leaves_async, cancels_async]
)
def test_a_tool_cannot_end_more_than_its_own_call(bad: Any, how: str) -> None:
    """Its step fails with the reason, its sibling is done, the next run works."""
    steps = [
        {"id": "bad", "tool": bad.__name__},
        {"id": "good", "tool": "fine"},
        {"id": "after", "tool": "fine", "depends_on": ["bad"]},
    ]
    result = run(bad, fine, steps=steps, how=how)
    assert result["status"] == "partial"
    assert "bad (failed): ToolLeft: the tool " in result["answer"]
    assert "good: " in result["answer"]
    again = run(fine, steps=[{"id": "good", "tool": "fine"}], how=how)
    assert again["status"] == "done"


def test_a_generator_is_read_to_its_end() -> None:
    """Its values are the result, not the name of the object."""

    def numbers() -> Any:
        """Yield numbers."""
        yield from (1, 2, 3)

    result = run(numbers, steps=[{"id": "a", "tool": "numbers"}])
    assert "[1,2,3]" in result["answer"]


class Line(BaseModel):
    amount: int = Field(gt=0)
    note: str | None = None


@tool
def by_model(
    lines: list[Line], mode: Literal["fast", "safe"] = "safe", note: str | None = None
) -> dict:
    """Take nested models, a choice and an optional text."""
    return {"sum": sum(line.amount for line in lines), "mode": mode, "note": note}


@tool
def with_config(number: int, config: RunnableConfig) -> dict:
    """Take the config LangChain passes on."""
    return {"number": number, "has": "configurable" in config}


@tool
def with_default(number: int, hidden: Annotated[int, InjectedToolArg] = 7) -> dict:
    """Take an argument no plan sees."""
    return {"number": number, "hidden": hidden}


BY_SCHEMA = StructuredTool(
    name="by_schema",
    description="Take what a JSON Schema says.",
    args_schema={
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
    },
    func=lambda number: {"number": number},
)


class Adder:
    """Add one."""

    def __call__(self, number: int) -> dict:
        return {"number": number + 1}

    def method(self, number: int) -> dict:
        """Add two."""
        return {"number": number + 2}


KINDS = [
    (by_model, {"lines": [{"amount": 2}, {"amount": 3}]}, '"sum":5,"mode":"safe"'),
    (with_config, {"number": 1}, '"has":true'),
    (with_default, {"number": 1}, '"hidden":7'),
    (BY_SCHEMA, {"number": 4}, '"number":4'),
    (Adder(), {"number": 4}, '"number":5'),
    (Adder().method, {"number": 4}, '"number":6'),
    (fine_async, {}, '"number":1'),
    (StructuredTool.from_function(fine, name="查询 1"), {"number": 8}, '"number":8'),
]


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", KINDS, ids=[str(n) for n in range(len(KINDS))])
def test_every_kind_of_tool_works(kind: Any, how: str) -> None:
    """LangChain tools, functions, methods, callable objects; sync and async alike."""
    given, inputs, shown = kind
    name = agent_of(given).held.deps.registry.names[0]
    step = {"id": "a", "tool": name, "inputs": inputs}
    result = run(given, steps=[step], how=how)
    assert result["status"] == "done"
    assert shown in result["answer"]


def test_what_only_a_tool_node_can_inject_is_refused_with_the_way_out() -> None:
    """State and runtime of LangGraph's ToolNode are named before anything runs."""

    @tool
    def by_state(number: int, state: Annotated[dict, InjectedState]) -> dict:
        """Want the state."""
        return {"number": number, "state": state}

    @tool
    def by_runtime(number: int, runtime: ToolRuntime) -> dict:
        """Want the runtime."""
        return {"number": number, "runtime": runtime}

    with pytest.raises(ConfigError) as caught:
        agent_of(by_state, by_runtime)
    lines = str(caught.value).splitlines()
    assert [line[5 : line.index(" injected")] for line in lines] == [
        "'by_state' wants 'state'",
        "'by_runtime' wants 'runtime'",
    ]
    assert all("get_store" in line for line in lines)
