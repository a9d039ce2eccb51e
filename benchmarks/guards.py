"""What must hold, with generous margins: regressions, not noise, make them fail.

Each guard looks at ratios within one run, so that a slow or busy machine passes too.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Figures = Mapping[str, Any]


MOST_OF_TWO_LOOPS = 3.5
MOST_MAKESPAN = 1.25


def makespan(told: Figures) -> Iterable[str]:
    """No branch waits for a slow sibling, also while one is mended."""
    for name, row in told["cases"].items():
        if row["mendgraph"]["low"] > MOST_MAKESPAN:
            yield f"{name}: {row['mendgraph']['low']:.2f} x the bound"


def overhead(told: Figures) -> Iterable[str]:
    """Processor time a step stays in proportion to bare LangGraph and create_agent."""
    for case in told["cases"]:
        name = f"{case['shape']}, {case['keeper']}, {case['steps']} steps"
        most = 16.0 if case["keeper"] == "memory" else 20.0
        found = case["of_langgraph"]["cpu_ms"]["low"]
        if found > most:
            yield f"{name}: {found:.1f} x bare LangGraph, more than {most:g}"
        found = case["of_two_loops"]["cpu_ms"]["low"]
        if found > MOST_OF_TWO_LOOPS:
            yield f"{name}: {found:.1f} x two empty loops"
        react = case.get("of_create_agent")
        if case["shape"] == "chain" and react and react["cpu_ms"]["low"] > 3.0:
            yield f"{name}: more than 3 x create_agent"


def tokens(told: Figures) -> Iterable[str]:
    """One plan for a chain, at most twice the floor; growth is linear."""
    for size, agents in told["clean"].items():
        ours = agents["mendgraph"]
        if not ours["success"] or ours["of_floor"] > 1.6:
            yield f"prompt tokens at {size} steps: {ours['of_floor']} x the floor"
    if told["growth"].get("mendgraph", 9.0) > 1.2:
        yield f"prompt tokens grow with exponent {told['growth'].get('mendgraph')}"


LEAST: Mapping[str, float] = {
    "explicit transient": 0.99,
    "explicit argument": 0.95,
    "explicit permanent": 0.95,
    "implicit transient": 0.95,
    "implicit permanent": 0.95,
    "two faults": 0.9,
}
"""Faults → success that mendgraph must reach with a model that does not err."""


def recovery(told: Figures) -> Iterable[str]:
    """Recovery with a perfect model; no lie, no effect twice, calls bounded."""
    for group, row in told["grid"]["0.0"].items():
        ours = row["mendgraph"]
        if ours["success"] < LEAST.get(group, 0.0):
            yield f"{group}: success {ours['success']:.0%}"
        if ours["false_success"]:
            yield f"{group}: {ours['false_success']} false successes"
        if ours["wasted_per_success"] > 0.02:
            yield f"{group}: {ours['wasted_per_success']} wasted calls per success"
    for groups in told["grid"].values():
        if twice := sum(row["mendgraph"]["duplicates"] for row in groups.values()):
            yield f"{twice} effects happened twice"
        if max(r["mendgraph"]["most_at_hopeless"] for r in groups.values()) > 12:
            yield "more than 12 calls at a fault that nothing mends"


def caf(told: Figures) -> Iterable[str]:
    """Corrections by rules cost no model call; the mixture stays below the target."""
    if told["caf"]["transient"] > 0 or told["caf"]["alternative"] > 0:
        yield f"corrections by rules cost model calls: {told['caf']}"
    if told["caf"]["all"] > 1.2:
        yield f"CAF of the mixture is {told['caf']['all']}"


def state_size(told: Figures) -> Iterable[str]:
    """Checkpoint bytes a step do not grow with the plan or with outputs."""
    if told["slope"] > 1.15:
        yield f"checkpoint bytes a step grow: slope {told['slope']}"


def memory(told: Figures) -> Iterable[str]:
    """Ten times the data, about the same memory."""
    if told["ratio"] > 1.3:
        yield f"peak memory grows with the data: {told['ratio']}"


def rollback(told: Figures) -> Iterable[str]:
    """What was rolled back and resumed is as if it never had been."""
    for back, row in told["backs"].items():
        if not row["equal"]:
            yield f"{back} steps back: the state differs"
        if row["steps_again"] != int(back):
            yield f"{back} steps back: {row['steps_again']} steps ran again"
    if told["backs"]["1"]["share"]["low"] > 0.25:
        yield "one step back costs more than a quarter of a re-run"


def latency(told: Figures) -> Iterable[str]:
    """No decision of code takes long beside a tool call."""
    for name, row in told["ms"].items():
        if row["p50"] > 300.0:
            yield f"{name}: p50 is {row['p50']:.0f} ms"


GUARDS: Mapping[str, Callable[[Figures], Iterable[str]]] = {
    "makespan": makespan,
    "overhead": overhead,
    "tokens": tokens,
    "recovery": recovery,
    "caf": caf,
    "state_size": state_size,
    "memory": memory,
    "rollback": rollback,
    "latency": latency,
}
"""Measure → what must hold of its figures."""


def broken(measure: str, told: Figures) -> list[str]:
    """Return what does not hold of a measure's figures."""
    guard = GUARDS.get(measure)
    return [f"{measure}: {each}" for each in guard(told)] if guard else []
