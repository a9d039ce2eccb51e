"""Is a thread that was rolled back and resumed what it would have been, and how dear?

A chain is run to its end, taken back to a step near it and resumed. The final state is
compared with that of a run that never went back; the price with running it all again.
"""

import asyncio
import sys
import time
from collections import Counter
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from measure import (
    Cost,
    Job,
    end,
    interleaved,
    median_of,
    quick_wanted,
    ratio_of,
    show,
)

from mendgraph import Limits, create_mend_agent
from mendgraph.graph.rollback import arollback

STEP_S = 0.05
VOLATILE = frozenset({"started_at", "ended_at", "execution_time_ms", "output_ref"})
"""Times and keys, which no two runs share."""


class Kept:
    """A tool that takes its time and counts its calls."""

    def __init__(self) -> None:
        self.calls: Counter[int] = Counter()

    async def work(self, x: int) -> dict[str, int]:
        """Work for a moment."""
        self.calls[x] += 1
        await asyncio.sleep(STEP_S)
        return {"x": x + 1}


def plan_of(count: int) -> dict[str, Any]:
    """Return a chain in which each step counts on from the one before."""
    steps: list[dict[str, Any]] = [{"id": "s1", "tool": "work", "inputs": {"x": 0}}]
    steps += [
        {
            "id": f"s{i}",
            "tool": "work",
            "inputs": {"x": f"{{{{ s{i - 1}.x }}}}"},
            "depends_on": [f"s{i - 1}"],
        }
        for i in range(2, count + 1)
    ]
    return {"steps": steps}


def bare(value: Any) -> Any:
    """Return a state without what no two runs share."""
    if isinstance(value, dict):
        return {k: bare(v) for k, v in value.items() if k not in VOLATILE}
    return [bare(each) for each in value] if isinstance(value, list) else value


async def went_back(count: int, back: int) -> tuple[dict[str, Any], dict[str, float]]:
    """Run, go back, resume; return the final state and what it took."""
    kept, config = Kept(), {"configurable": {"thread_id": "t"}}
    agent = create_mend_agent(
        None,
        tools=[kept.work],
        assume="read",
        checkpointer=InMemorySaver(),
        limits=Limits(steps=1_000),
        learn=False,
    )
    began = time.perf_counter()
    first = await agent.ainvoke({"task": "t", "plan": plan_of(count)}, config)
    whole = time.perf_counter() - began
    before = (await agent.aget_state(config)).values
    began = time.perf_counter()
    await arollback(agent, config, f"s{count - back}")
    again = await agent.ainvoke(None, config)
    price = time.perf_counter() - began
    after = (await agent.aget_state(config)).values
    told = {
        "whole_ms": whole * 1_000,
        "price_ms": price * 1_000,
        "again": sum(kept.calls.values()) - count,
        "equal": float(_same(before, after) and first["answer"] == again["answer"]),
    }
    return after, told


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(
        bare(one["steps"]) == bare(other["steps"])
        and one["plan"]["steps"] == other["plan"]["steps"]
        and one["status"] == other["status"]
    )


def job(count: int, back: int) -> Job:
    """Return the job that goes back so many steps."""

    async def run() -> Cost:
        _, told = await went_back(count, back)
        return Cost(wall_ms=told["price_ms"], cpu_ms=0.0, extra=told)

    return run


def main(quick: bool) -> int:
    """Measure, print a table and one line of JSON."""
    count, repeats = (40, 1) if quick else (60, 5)
    backs = (1, 2) if quick else (1, 2, 10)
    found = interleaved({str(back): job(count, back) for back in backs}, repeats)
    told = {}
    for back, costs in found.items():
        whole = [Cost(c.extra["whole_ms"], 0.0, {}) for c in costs]
        told[back] = {
            "share": ratio_of(costs, whole, "wall_ms"),
            "steps_again": median_of(costs, "again"),
            "equal": all(c.extra["equal"] for c in costs),
        }
    rows = [
        [b, t["share"]["median"], t["share"]["high"], t["steps_again"], t["equal"]]
        for b, t in told.items()
    ]
    columns = ["steps back", "of a re-run", "worst", "steps run again", "state equal"]
    show(f"rollback and resume, chain of {count}", columns, rows)
    end("rollback", {"steps": count, "backs": told})
    return 0


if __name__ == "__main__":
    sys.exit(main(quick_wanted(__doc__)))
