"""Does a fast branch ever wait for a slow one? Wall time over the critical path.

Random DAGs of 5 to 50 steps with uneven step times, and shapes that others made where
the data folder is there. Every step really sleeps, so the ratio is what a user sees.
"""

import argparse
import asyncio
import json
import platform
import random
import statistics
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mendgraph import Limits, create_mend_agent

SHAPES = Path(__file__).parents[1].parent / "shared" / "data" / "worfbench_dags.jsonl"
LIMITS = Limits(steps=1_000, executions=5_000)


async def nap(seconds: float) -> dict:
    """Sleep for some seconds."""
    await asyncio.sleep(seconds)
    return {"slept": seconds}


def random_dag(rng: random.Random, count: int) -> list[list[int]]:
    """Return for each step the earlier steps it needs."""
    return [
        sorted(rng.sample(range(i), min(i, rng.choice((0, 1, 1, 2, 3)))))
        for i in range(count)
    ]


def made_by_others(most: int) -> list[list[list[int]]]:
    """Return graphs of five steps and more from the data folder, if it is there."""
    if not SHAPES.is_file():
        return []
    graphs = []
    for line in SHAPES.read_text(encoding="utf-8").splitlines():
        given = json.loads(line)
        needs: list[list[int]] = [[] for _ in range(given["nodes"])]
        for before, after in given["edges"]:
            needs[after - 1].append(before - 1)
        if len(needs) >= 5 and len(set(map(tuple, needs))) > 2:
            graphs.append(needs)
    wide = sorted(graphs, key=lambda g: -sum(1 for n in g if not n))
    return wide[:most]


def plan_of(needs: list[list[int]], times: list[float]) -> dict:
    """Return the plan of a graph."""
    return {
        "steps": [
            {
                "id": f"s{i}",
                "tool": "nap",
                "inputs": {"seconds": times[i]},
                "depends_on": [f"s{j}" for j in needs[i]],
            }
            for i in range(len(needs))
        ]
    }


def critical_path(needs: list[list[int]], times: list[float]) -> float:
    """Return the length of the longest chain in seconds."""
    ends: dict[int, float] = {}

    def end(step: int) -> float:
        if step not in ends:
            ends[step] = times[step] + max(map(end, needs[step]), default=0.0)
        return ends[step]

    return max(map(end, range(len(needs))))


async def measure(needs: list[list[int]], times: list[float]) -> float:
    """Return wall time over critical path of one run."""
    agent = create_mend_agent(None, tools=[nap], assume="read", limits=LIMITS)
    given = {"task": "t", "plan": plan_of(needs, times)}
    started = time.perf_counter()
    result = await agent.ainvoke(given)
    wall = time.perf_counter() - started
    if result["status"] != "done":
        raise RuntimeError(result["answer"])
    return wall / critical_path(needs, times)


async def main(quick: bool) -> None:
    """Measure, print a table and one line of JSON."""
    rng = random.Random(7)
    await measure([[]], [0.05])
    sizes = [5, 20] if quick else [rng.randint(5, 50) for _ in range(20)]
    cases = [("random", random_dag(rng, size)) for size in sizes]
    cases += [("by others", g) for g in made_by_others(2 if quick else 10)]
    table = Table("kind", "steps", "wall / critical path")
    ratios = []
    for kind, needs in cases:
        times = [rng.uniform(0.05, 0.5) for _ in needs]
        ratio = await measure(needs, times)
        ratios.append(ratio)
        table.add_row(kind, str(len(needs)), f"{ratio:.3f}")
    Console().print(table)
    figures = {
        "worst": round(max(ratios), 3),
        "median": round(statistics.median(ratios), 3),
        "graphs": len(ratios),
        "python": platform.python_version(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    asyncio.run(main(parser.parse_args().quick))
