"""How long do the decisions that code makes take: p50 and p99 of each?

Facts of an error, its class, the checks of a result, the prompts for a patch and for a
plan over a long history, and the search among many lessons. Timed is processor time.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any

from measure import end, percentile, quick_wanted, show

from mendgraph.bench.faults import RAISED, Schedule
from mendgraph.bench.tasks import AS_OF, chain
from mendgraph.bench.world import World
from mendgraph.nodes.brief import Brief
from mendgraph.nodes.checks import Seen, inspect
from mendgraph.nodes.classify.decide import classify
from mendgraph.nodes.prompts import patch_prompt, plan_prompt
from mendgraph.state.failure import Failure
from mendgraph.state.lesson import Lesson
from mendgraph.state.outcome import ExecutionSummary, StepRecord, StepStatus
from mendgraph.state.plan import Plan, Step
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.facts import gather
from mendgraph.tools.memory.in_memory import InMemoryMemory
from mendgraph.tools.memory.protocol import Query
from mendgraph.tools.registry import make_registry

HISTORY = 100
LESSONS = 2_000
RULE = f'size(output.rows) == output.row_count && output.as_of == "{AS_OF}"'
OUTPUT = {"rows": [{"n": n} for n in range(50)], "row_count": 50, "as_of": AS_OF}
REGISTRY = make_registry(World(chain(1, "x"), Schedule({})).tools(), {}, "read")


def timed(runs: int, work: Callable[[], Any]) -> dict[str, float]:
    """Return p50 and p99 of a call in milliseconds."""
    work()
    taken = []
    for _ in range(runs):
        began = time.thread_time_ns()
        work()
        taken.append((time.thread_time_ns() - began) / 1e6)
    return {"p50": percentile(taken, 0.5), "p99": percentile(taken, 0.99)}


def failure() -> Failure:
    """Return a failure as the monitor makes it."""
    facts = gather(RAISED["form_422"](), tool="fetch", arguments={"key": "x.1"})
    return Failure(facts=facts, classification=classify(facts))


def long_brief() -> Brief:
    """Return the facts of a global replan after a hundred steps."""
    steps = [
        Step(id=f"s{i}", tool="fetch", inputs={"key": f"x.{i}"}, description="read it")
        for i in range(HISTORY)
    ]
    records = {
        step.id: StepRecord(
            step_id=step.id,
            status=StepStatus.DONE,
            summary=ExecutionSummary(status="success", output_digest="value " * 12),
        )
        for step in steps
    }
    return Brief(
        task="mend what failed " * 20,
        tools=tuple(REGISTRY),
        base=Plan(steps=tuple(steps)),
        records=records,
        reason="a service was shut down",
    )


async def filled() -> InMemoryMemory:
    """Return a memory with many lessons."""
    memory = InMemoryMemory(clock=lambda: 0.0)
    for number in range(LESSONS):
        lesson = Lesson(
            id=f"l{number}",
            text=f"use form v{number % 7} for key x.{number} of table t{number % 90}",
            signature=f"execution_error:param_error:tool{number % 40}",
            tool=f"tool{number % 40}",
            category="execution_error",
            subclass="param_error",
            created_at=float(number),
        )
        await memory.remember(lesson)
    return memory


def works() -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    step = Step(id="s1", tool="fetch", inputs={"key": "x.1"}, validation_rule=RULE)
    seen = Seen(step, ToolPolicy(), OUTPUT, {"key": "x.1"}, {})
    known, brief, errors = failure(), long_brief(), [make() for make in RAISED.values()]
    facts = [gather(each, tool="fetch") for each in errors]
    memory, entry = asyncio.run(filled()), REGISTRY.get("fetch")
    turn = iter(range(10**9))
    query = Query(text="form of key x.12 in table t3", tools=("tool3",))
    loop = asyncio.new_event_loop()
    return {
        "facts of an error": lambda: gather(errors[next(turn) % len(errors)]),
        "class of an error": lambda: classify(facts[next(turn) % len(facts)]),
        "checks of a result": lambda: inspect(seen),
        "prompt of a patch": lambda: patch_prompt(step, entry, {"key": "x.1"}, known),
        f"plan prompt, {HISTORY} steps": lambda: plan_prompt(brief),
        f"recall among {LESSONS} lessons": lambda: loop.run_until_complete(
            memory.recall(query, 5)
        ),
    }


def main(quick: bool) -> int:
    """Measure, print a table and one line of JSON."""
    runs = 60 if quick else 400
    found = {name: timed(runs, work) for name, work in works().items()}
    rows = [[n, f"{t['p50']:.3f}", f"{t['p99']:.3f}"] for n, t in found.items()]
    show("milliseconds of processor time", ["decision", "p50", "p99"], rows)
    end("latency", {"ms": found, "runs": runs})
    return 0


if __name__ == "__main__":
    sys.exit(main(quick_wanted(__doc__)))
