"""Do checkpoints grow with the size of a plan or of its outputs?

Chains whose every step returns one megabyte, kept with `persist=`. What LangGraph's
checkpointer keeps is counted apart from the store, where the raw outputs belong.
"""

import asyncio
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import end, quick_wanted, show

from mendgraph import Limits, create_mend_agent

MEGABYTE = 1_000_000
SIZES = (10, 50, 100, 200, 400)
CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}


async def large(x: int) -> dict[str, Any]:
    """Return a megabyte."""
    return {"x": x, "text": "m" * MEGABYTE}


def plan_of(count: int) -> dict[str, Any]:
    """Return a chain in which each step reads a field of the one before."""
    steps: list[dict[str, Any]] = [{"id": "s0", "tool": "large", "inputs": {"x": 0}}]
    steps += [
        {
            "id": f"s{i}",
            "tool": "large",
            "inputs": {"x": f"{{{{ s{i - 1}.x }}}}"},
            "depends_on": [f"s{i - 1}"],
        }
        for i in range(1, count)
    ]
    return {"steps": steps}


def bytes_in(path: Path) -> int:
    """Return what a database holds, free pages not counted."""
    with sqlite3.connect(path) as session:
        session.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = session.execute("PRAGMA page_count").fetchone()[0]
        free = session.execute("PRAGMA freelist_count").fetchone()[0]
        size = session.execute("PRAGMA page_size").fetchone()[0]
    return int((pages - free) * size)


async def run(count: int) -> dict[str, float]:
    """Run a chain; return kilobytes a step of checkpoints and of the store."""
    with tempfile.TemporaryDirectory() as folder:
        agent = create_mend_agent(
            None,
            tools=[large],
            assume="read",
            persist=folder,
            limits=Limits(steps=1_000, executions=5_000),
        )
        result = await agent.ainvoke({"task": "t", "plan": plan_of(count)}, CONFIG)
        agent.close()
        if result["status"] != "done":
            raise RuntimeError(result["answer"])
        kept = bytes_in(Path(folder) / "checkpoints.sqlite")
        stored = bytes_in(Path(folder) / "store.sqlite")
    return {
        "checkpoint_kb": round(kept / count / 1_000, 2),
        "store_kb": round(stored / count / 1_000, 2),
    }


def main(quick: bool) -> int:
    """Measure, print a table and one line of JSON."""
    sizes = (10, 50) if quick else SIZES
    found = {size: asyncio.run(run(size)) for size in sizes}
    first = 10 if quick else 50
    slope = found[sizes[-1]]["checkpoint_kb"] / found[first]["checkpoint_kb"]
    rows = [[size, *told.values()] for size, told in found.items()]
    show("kilobytes a step", ["steps", "checkpoints", "store"], rows)
    print(f"slope from {first} to {sizes[-1]} steps: {slope:.3f}")
    end("state_size", {"sizes": found, "slope": round(slope, 3), "from": first})
    return 0


if __name__ == "__main__":
    sys.exit(main(quick_wanted(__doc__)))
