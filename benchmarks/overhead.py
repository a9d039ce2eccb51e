"""What does a step cost when its tool does nothing, beside LangGraph and create_agent?

Bare LangGraph runs one node a step, `create_agent` one tool call a step with a model
that answers at once. Both get a checkpointer as ours has. Turns are interleaved; CPU
time stands beside wall time because it hardly depends on who else uses the machine.
"""

import asyncio
import operator
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from measure import (
    Cost,
    Job,
    clocked,
    end,
    interleaved,
    median_of,
    quick_wanted,
    ratio_of,
    show,
)

from mendgraph import Limits, create_mend_agent
from mendgraph.tools.doubles.scripted import Line, ScriptedModel

LIMITS = Limits(steps=5_000, executions=20_000)
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}
SIZES = (10, 100, 1_000)
SHAPES = ("chain", "wide")
KEEPERS = ("memory", "sqlite")
FEW = 100
"""Steps up to which a case has five turns; 1,000 steps have two."""
MOST_QUADRATIC = 100
"""Steps up to which `create_agent` is run as a chain with SQLite: it writes its whole
history again at every step, so 1,000 steps would take an hour."""


async def nothing(x: int) -> dict[str, int]:
    """Do nothing."""
    return {"x": x}


def disk_bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


@asynccontextmanager
async def saver_of(keeper: str, folder: Path) -> AsyncIterator[Any]:
    """Open the checkpointer a peer gets."""
    if keeper == "memory":
        yield InMemorySaver()
        return
    async with AsyncSqliteSaver.from_conn_string(str(folder / "peer.db")) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=NORMAL")
        yield saver


def our_plan(shape: str, count: int) -> dict[str, Any]:
    """Return a plan of steps that do nothing."""
    return {
        "steps": [
            {
                "id": f"s{i}",
                "tool": "nothing",
                "inputs": {"x": i},
                "depends_on": [f"s{i - 1}"] if shape == "chain" and i else [],
            }
            for i in range(count)
        ]
    }


def ours(shape: str, keeper: str, count: int) -> Job:
    """Return the job that runs the steps in mendgraph."""

    async def job() -> Cost:
        with tempfile.TemporaryDirectory() as folder:
            kept: dict[str, Any] = {"persist": Path(folder) / "p"}
            if keeper == "memory":
                kept = {"checkpointer": InMemorySaver()}
            agent = create_mend_agent(
                None, tools=[nothing], assume="read", limits=LIMITS, **kept
            )
            given = {"task": "t", "plan": our_plan(shape, count)}
            with clocked() as taken:
                result = await agent.ainvoke(given, CONFIG)
            agent.close()
            if result["status"] != "done":
                raise RuntimeError(result["answer"])
            return taken.cost(disk=disk_bytes(Path(folder)))

    return job


class Counted(TypedDict, total=False):
    """The bare graph's channels."""

    left: int
    width: int
    x: int
    done: Annotated[int, operator.add]


def bare_graph(shape: str) -> Any:
    """Return a LangGraph graph with one node a step and nothing around it."""
    builder: Any = StateGraph(Counted)
    if shape == "chain":

        async def step(state: Counted) -> Counted:
            found = await nothing(state["left"])
            return {"left": state["left"] - 1, "x": found["x"]}

        builder.add_node("step", step)
        builder.add_edge(START, "step")
        builder.add_conditional_edges(
            "step", lambda s: "step" if s["left"] else END, ["step", END]
        )
        return builder

    async def one(state: Counted) -> Counted:
        await nothing(state["x"])
        return {}

    builder.add_node("one", one)
    builder.add_conditional_edges(
        START, lambda s: [Send("one", {"x": i}) for i in range(s["width"])], ["one"]
    )
    return builder


def graph_job(builder: Any, given: dict[str, Any], keeper: str, **more: Any) -> Job:
    """Return the job that runs a plain LangGraph graph."""

    async def job() -> Cost:
        with tempfile.TemporaryDirectory() as folder:
            async with saver_of(keeper, Path(folder)) as saver:
                graph = builder.compile(checkpointer=saver)
                with clocked() as taken:
                    await graph.ainvoke(given, CONFIG, **more)
            return taken.cost(disk=disk_bytes(Path(folder)))

    return job


def bare(shape: str, keeper: str, count: int) -> Job:
    """Return the job that runs the steps as plain LangGraph nodes."""
    return graph_job(bare_graph(shape), {"left": count, "width": count}, keeper)


class Ended(TypedDict, total=False):
    """What an empty step loop gives the plan loop."""

    done: Annotated[int, operator.add]


class Branch(Ended, total=False):
    """The channels of an empty step loop."""

    x: int


async def empty(_state: Any) -> dict[str, Any]:
    """Stand for a node of either loop."""
    return {}


async def ended(_state: Any) -> Ended:
    """Stand for the node that ends a branch."""
    return {"done": 1}


def empty_loops(count: int) -> Any:
    """Return the graph of our two loops, all nodes empty: LangGraph's own share."""
    inner: Any = StateGraph(Branch, output_schema=Ended)
    inner.add_node("execute", empty)
    inner.add_node("monitor", ended)
    inner.add_edge(START, "execute")
    inner.add_edge("execute", "monitor")
    outer: Any = StateGraph(Counted)
    for name, node in (("think", empty), ("step", inner.compile()), ("settle", empty)):
        outer.add_node(name, node)
    outer.add_edge(START, "think")
    outer.add_conditional_edges(
        "think", lambda _: [Send("step", {"x": i}) for i in range(count)], ["step"]
    )
    outer.add_edge("step", "settle")
    return outer


def loops(keeper: str, count: int) -> Job:
    """Return the job that runs the two loops without anything in them."""
    return graph_job(empty_loops(count), {"width": count}, keeper, durability="sync")


def call(number: int) -> dict[str, Any]:
    """Return one tool call of the model that answers at once."""
    return {"name": "nothing", "args": {"x": number}, "id": f"c{number}"}


def instant(shape: str, count: int) -> ScriptedModel:
    """Return a model that asks for one tool call a step, or for all at once."""

    def script(messages: list[BaseMessage]) -> Line:
        done = sum(1 for each in messages if each.type == "tool")
        if done >= count:
            return Line(text="done")
        width = 1 if shape == "chain" else count
        return Line(tool_calls=tuple(call(i) for i in range(done, done + width)))

    return ScriptedModel(script=script)


def react(shape: str, keeper: str, count: int) -> Job:
    """Return the job that runs the steps as tool calls of `create_agent`."""
    tool = StructuredTool.from_function(coroutine=nothing, name="nothing")

    async def job() -> Cost:
        with tempfile.TemporaryDirectory() as folder:
            async with saver_of(keeper, Path(folder)) as saver:
                agent = create_agent(
                    instant(shape, count), tools=[tool], checkpointer=saver
                )
                with clocked() as taken:
                    result = await agent.ainvoke({"messages": [("user", "go")]}, CONFIG)
            if not isinstance(result["messages"][-1], AIMessage):
                raise TypeError("create_agent did not end")
            return taken.cost(disk=disk_bytes(Path(folder)))

    return job


def jobs_of(shape: str, keeper: str, count: int) -> dict[str, Job]:
    """Return what is compared for one case."""
    jobs = {
        "mendgraph": ours(shape, keeper, count),
        "langgraph": bare(shape, keeper, count),
        "two_loops": loops(keeper, count),
    }
    hopeless = shape == "chain" and keeper == "sqlite" and count > MOST_QUADRATIC
    if not hopeless:
        jobs["create_agent"] = react(shape, keeper, count)
    return jobs


def case(shape: str, keeper: str, count: int, repeats: int) -> dict[str, Any]:
    """Measure one case: milliseconds and bytes a step, ratios of the same turn."""
    found = interleaved(jobs_of(shape, keeper, count), repeats)
    told: dict[str, Any] = {"shape": shape, "keeper": keeper, "steps": count}
    for name, costs in found.items():
        told[name] = {
            "wall_ms": round(median_of(costs, "wall_ms") / count, 3),
            "cpu_ms": round(median_of(costs, "cpu_ms") / count, 3),
            "disk": round(median_of(costs, "disk") / count),
        }
    for peer in found.keys() - {"mendgraph"}:
        told[f"of_{peer}"] = {
            what: ratio_of(found["mendgraph"], found[peer], what)
            for what in ("wall_ms", "cpu_ms")
        }
    return told


def row_of(told: dict[str, Any]) -> list[str]:
    """Return a case as a line of the table."""

    def cell(name: str) -> str:
        each = told.get(name)
        return f"{each['wall_ms']:.2f} / {each['cpu_ms']:.2f}" if each else "-"

    def share(name: str) -> str:
        each = told.get(f"of_{name}")
        return (
            f"{each['wall_ms']['median']:.2f} / {each['cpu_ms']['median']:.2f}"
            if each
            else "-"
        )

    names = ("mendgraph", "langgraph", "two_loops", "create_agent")
    head = [told["shape"], told["keeper"], told["steps"], *map(cell, names)]
    disk = f"{told['mendgraph']['disk']}" if told["keeper"] == "sqlite" else "-"
    return [*map(str, head), share("create_agent"), share("langgraph"), disk]


def main(quick: bool) -> None:
    """Measure all cases, print a table and one line of JSON."""
    asyncio.run(ours("chain", "memory", 5)())
    asyncio.run(react("chain", "memory", 5)())
    sizes, repeats = ((60,), 3) if quick else (SIZES, 5)
    cases = [
        case(shape, keeper, count, repeats if count <= FEW else 2)
        for keeper in KEEPERS
        for shape in SHAPES
        for count in sizes
    ]
    columns = (
        "shape",
        "keeper",
        "steps",
        "mendgraph ms wall / cpu",
        "langgraph",
        "two empty loops",
        "create_agent",
        "of create_agent",
        "of langgraph",
        "bytes a step",
    )
    show(
        "cost of a step with a tool that does nothing",
        columns,
        list(map(row_of, cases)),
    )
    end("overhead", {"cases": cases})


if __name__ == "__main__":
    sys.exit(main(quick_wanted(__doc__)))
