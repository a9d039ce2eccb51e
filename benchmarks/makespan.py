"""Does a fast branch ever wait for a slow one? Wall time over what nobody can beat.

The bound is the longer of the critical path and work / width. Every step really sleeps,
200 to 500 ms, so the ratio is what a user sees. One step fails once in half of the runs
and is mended while the others go on; its attempts and its wait are part of the bound.
Beside it stands a plain LangGraph graph that sends what is ready, wave after wave.
"""

import asyncio
import json
import operator
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from measure import end, quick_wanted, show, spread

from mendgraph import Limits, create_mend_agent

OTHERS = Path(__file__).parents[1].parent / "shared" / "data" / "worfbench_dags.jsonl"
LIMITS = Limits(steps=1_000, executions=5_000)
SHORTEST_S, LONGEST_S = 0.2, 0.5
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
Needs = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Case:
    """A graph with its step times; `fails` is the step that fails once, if any."""

    kind: str
    needs: Needs
    times: tuple[float, ...]
    fails: int | None = None

    @property
    def name(self) -> str:
        """What it is called in tables."""
        told = f"{self.kind}, {len(self.needs)} steps"
        return told if self.fails is None else f"{told}, one mended"


def chain(count: int) -> Needs:
    """Return steps one after the other."""
    return tuple((i - 1,) if i else () for i in range(count))


def fan(count: int) -> Needs:
    """Return steps that need one and are needed by one."""
    middle = range(1, count - 1)
    return ((), *((0,) for _ in middle), tuple(middle))


def layered(count: int, rng: random.Random, width: int = 4) -> Needs:
    """Return layers of four, each step with one to three needs in the layer before."""

    def needs(step: int) -> tuple[int, ...]:
        first = (step // width) * width
        before = range(max(0, first - width), first)
        chosen = rng.sample(before, min(len(before), rng.choice((1, 2, 3))))
        return tuple(sorted(chosen))

    return tuple(map(needs, range(count)))


def made_by_others(most: int) -> list[Needs]:
    """Return graphs of five steps and more from the data folder, if it is there."""
    if not OTHERS.is_file():
        return []
    graphs = []
    for line in OTHERS.read_text(encoding="utf-8").splitlines():
        given = json.loads(line)
        needs: list[list[int]] = [[] for _ in range(given["nodes"])]
        for before, after in given["edges"]:
            needs[after - 1].append(before - 1)
        if len(needs) >= 5 and len(set(map(tuple, needs))) > 2:
            graphs.append(tuple(map(tuple, needs)))
    return sorted(graphs, key=lambda g: -sum(1 for n in g if not n))[:most]


def cases(quick: bool) -> list[Case]:
    """Return the graphs, each without and with a step that fails once."""
    rng = random.Random(7)
    shapes = [("diamond", ((), (0,), (0,), (1, 2))), ("layered", layered(16, rng))]
    if not quick:
        shapes += [("chain", chain(8)), ("fan-out", fan(16))]
        shapes += [("layered", layered(size, rng)) for size in (8, 30)]
        shapes += [("by others", needs) for needs in made_by_others(3)]
    found = []
    for kind, needs in shapes:
        times = tuple(rng.uniform(SHORTEST_S, LONGEST_S) for _ in needs)
        found += [Case(kind, needs, times), Case(kind, needs, times, len(needs) // 2)]
    return found


def critical_path(needs: Needs, times: Sequence[float]) -> float:
    """Return the length of the longest chain in seconds."""
    ends: list[float] = []
    for step in range(len(needs)):  # every graph here is in topological order
        ends.append(times[step] + max((ends[i] for i in needs[step]), default=0.0))
    return max(ends)


def in_order(needs: Needs) -> Needs:
    """Return the same graph with every step after those it needs."""
    order: list[int] = []
    while len(order) < len(needs):
        order += [
            step
            for step in range(len(needs))
            if step not in order and set(needs[step]) <= set(order)
        ]
    place = {old: new for new, old in enumerate(order)}
    return tuple(tuple(sorted(place[i] for i in needs[old])) for old in order)


def bound(case: Case, waited: float = 0.0) -> float:
    """Return the seconds nobody can beat."""
    times = list(case.times)
    if case.fails is not None:
        times[case.fails] = 2 * times[case.fails] + waited
    return max(critical_path(case.needs, times), sum(times) / LIMITS.concurrency)


def plan_of(case: Case) -> dict[str, Any]:
    """Return the plan of a graph."""
    return {
        "steps": [
            {
                "id": f"s{i}",
                "tool": "nap",
                "inputs": {"number": i, "seconds": case.times[i]},
                "depends_on": [f"s{j}" for j in case.needs[i]],
            }
            for i in range(len(case.needs))
        ]
    }


async def ours(case: Case) -> float:
    """Return wall time over the bound of one run of mendgraph."""
    failed: set[int] = set()

    async def nap(number: int, seconds: float) -> dict[str, float]:
        """Sleep for some seconds."""
        await asyncio.sleep(seconds)
        if number == case.fails and number not in failed:
            failed.add(number)
            raise ConnectionResetError("connection reset by peer")
        return {"slept": seconds}

    agent = create_mend_agent(
        None, tools=[nap], assume="read", limits=LIMITS, checkpointer=InMemorySaver()
    )
    began = time.perf_counter()
    result = await agent.ainvoke({"task": "t", "plan": plan_of(case)}, CONFIG)
    wall = time.perf_counter() - began
    if result["status"] != "done":
        raise RuntimeError(result["answer"])
    records = (await agent.aget_state(CONFIG)).values["steps"].values()
    waited = sum(a["waited_s"] for record in records for a in record["attempts"])
    return wall / bound(case, waited)


class Waves(TypedDict, total=False):
    """The channels of the graph that works in waves."""

    done: Annotated[list[int], operator.add]
    step: int


def waves_graph(case: Case) -> Any:
    """Return a LangGraph graph that sends all ready steps and waits for all."""
    builder: Any = StateGraph(Waves)

    async def work(state: Waves) -> Waves:
        again = 2 if state["step"] == case.fails else 1
        await asyncio.sleep(again * case.times[state["step"]])
        return {"done": [state["step"]]}

    async def gather(_state: Waves) -> Waves:
        return {}

    def ready(state: Waves) -> Any:
        done = set(state.get("done", []))
        found = [
            i for i, n in enumerate(case.needs) if i not in done and set(n) <= done
        ]
        return [Send("work", {"step": i}) for i in found] or END

    builder.add_node("work", work)
    builder.add_node("gather", gather)
    builder.add_edge(START, "gather")
    builder.add_conditional_edges("gather", ready, ["work", END])
    builder.add_edge("work", "gather")
    return builder.compile()


async def waves(case: Case) -> float:
    """Return wall time over the bound of one run in waves."""
    graph, began = waves_graph(case), time.perf_counter()
    await graph.ainvoke({"done": []}, {"recursion_limit": 1_000})
    return (time.perf_counter() - began) / bound(case)


AGENTS: dict[str, Callable[[Case], Awaitable[float]]] = {
    "mendgraph": ours,
    "waves": waves,
}


def main(quick: bool) -> int:
    """Measure in turn, print a table and one line of JSON."""
    asyncio.run(ours(Case("warm", ((),), (0.01,))))
    chosen = [Case(c.kind, in_order(c.needs), c.times, c.fails) for c in cases(quick)]
    found: dict[str, dict[str, list[float]]] = {name: {} for name in AGENTS}
    for _ in range(1 if quick else 5):
        for number, case in enumerate(chosen):
            for name, agent in AGENTS.items():
                label = f"{number + 1}: {case.name}"
                found[name].setdefault(label, []).append(asyncio.run(agent(case)))
    told = {
        label: {name: spread(found[name][label]) for name in AGENTS}
        for label in found["mendgraph"]
    }
    rows = [[label, *map(_cell, row.values())] for label, row in told.items()]
    show("wall time / bound, median (lowest-highest)", ["graph", *AGENTS], rows)
    medians = [row["mendgraph"]["median"] for row in told.values()]
    figures = {
        "worst": max(medians),
        "median": round(statistics.median(medians), 3),
        "graphs": len(medians),
        "cases": told,
    }
    end("makespan", figures)
    return 0


def _cell(each: dict[str, float]) -> str:
    return f"{each['median']:.3f} ({each['low']:.3f}-{each['high']:.3f})"


if __name__ == "__main__":
    sys.exit(main(quick_wanted(__doc__)))
