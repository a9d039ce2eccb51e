"""How do prompt tokens grow with the length of a chain, beside planning just once?

The floor is the leanest request a whole plan can be asked for with: the task, the tools
with their arguments and one sentence. Nothing fails here; a second table has one
transient and one argument fault. All are counted by one counter at the model.
"""

import asyncio
import sys
from collections.abc import Sequence
from math import log
from typing import Any

from langchain_core.tools import render_text_description_and_args
from measure import end, quick_wanted, show
from peers import PEERS
from peers.base import carry_out
from simulated.mind import Luck

from mendgraph.bench.cases import NONE
from mendgraph.bench.faults import Schedule, kinds, schedule
from mendgraph.bench.tasks import Task, chain
from mendgraph.bench.world import World
from mendgraph.state.tokens import count_tokens

SENTENCE = "Plan this task as JSON steps with tool, arguments and dependencies."
NAMES = (
    "mendgraph",
    "create_agent best",
    "create_agent default",
    "deepagents",
    "plan-and-execute",
    "LLMCompiler-style",
)


def floor(task: Task) -> int:
    """Return the tokens of the leanest request for a whole plan."""
    tools = render_text_description_and_args(World(task, NONE).tools())
    return sum(map(count_tokens, (SENTENCE, task.text, tools)))


def prompt_tokens(name: str, task: Task, faults: Schedule) -> dict[str, Any]:
    """Return what an agent sends to the model for one task."""
    result = asyncio.run(carry_out(PEERS[name], task, faults, Luck()))
    return {
        "tokens": result.prompt_tokens,
        "calls": result.model_calls,
        "seconds": round(result.simulated_s, 1),
        "success": result.success,
        "error": result.error,
    }


def measure(names: Sequence[str], sizes: Sequence[int]) -> dict[str, Any]:
    """Return floors, tokens and ratios by size and agent, without and with faults."""
    found: dict[str, Any] = {"floor": {}, "clean": {}, "faults": {}}
    for size in sizes:
        task = chain(size, f"long{size}")
        two = [kinds()["http_503"], kinds()["form_422"]]
        found["floor"][size] = floor(task)
        for label, faults in (("clean", NONE), ("faults", schedule(task, two, 3))):
            told = {name: prompt_tokens(name, task, faults) for name in names}
            for each in told.values():
                each["of_floor"] = round(each["tokens"] / floor(task), 3)
            found[label][size] = told
    return {**found, "growth": growth(found["clean"], names, sizes)}


def growth(
    clean: dict[int, Any], names: Sequence[str], sizes: Sequence[int]
) -> dict[str, float]:
    """Return the exponent of growth: 1 is linear in the steps, 2 quadratic.

    One step is left out: it is there for what planning first costs.
    """
    first, last = sizes[1], sizes[-1]
    return {
        name: round(
            log(clean[last][name]["tokens"] / clean[first][name]["tokens"])
            / log(last / first),
            2,
        )
        for name in names
        if clean[first][name]["success"] and clean[last][name]["success"]
    }


def main(quick: bool) -> int:
    """Measure, print tables and one line of JSON."""
    names = NAMES[:2] if quick else NAMES
    sizes = (1, 8, 20) if quick else (1, 8, 20, 50)
    found = measure(names, sizes)
    for label in ("clean", "faults"):
        rows = [
            [
                name,
                *(
                    f"{found[label][size][name]['tokens']} "
                    f"({found[label][size][name]['of_floor']:.1f} x, "
                    f"{found[label][size][name]['calls']} calls)"
                    for size in sizes
                ),
            ]
            for name in names
        ]
        floors = ["floor", *(found["floor"][size] for size in sizes)]
        show(f"prompt tokens, {label}", ["agent", *map(str, sizes)], [floors, *rows])
    end("tokens", found)
    return 0


if __name__ == "__main__":
    sys.exit(main(quick_wanted(__doc__)))
