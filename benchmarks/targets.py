"""The targets, each computed from the figures of the run; nothing is typed in."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Target:
    """One line of the summary."""

    what: str
    wanted: str
    found: str
    met: bool


def _at_most(what: str, value: float, most: float, unit: str = "") -> Target:
    return Target(what, f"≤ {most:g}{unit}", f"{value:.3g}{unit}", value <= most)


def _at_least(what: str, value: float, least: float) -> Target:
    return Target(what, f"≥ {least:.0%}", f"{value:.1%}", value >= least)


def makespan(told: Figures) -> Iterator[Target]:
    """Makespan over the bound: medians of each graph, whole and with a mended step."""
    for kind in ("whole", "mended"):
        rows = [
            row["mendgraph"]["median"]
            for name, row in told["cases"].items()
            if name.endswith("mended") == (kind == "mended")
        ]
        yield _at_most(f"makespan / bound, {kind}, median", median(rows), 1.05)
        yield _at_most(f"makespan / bound, {kind}, worst graph", max(rows), 1.05)


def overhead(told: Figures) -> Iterator[Target]:
    """Cost of a step beside create_agent, and its absolute size."""
    for case in told["cases"]:
        name = f"{case['shape']}, {case['keeper']}, {case['steps']} steps"
        if case["shape"] == "chain" and "of_create_agent" in case:
            ratio = case["of_create_agent"]["cpu_ms"]["median"]
            yield _at_most(f"CPU a step / create_agent ({name})", ratio, 0.6)
        most = 4.0 if case["keeper"] == "memory" else 10.0
        value = case["mendgraph"]["wall_ms"]
        yield _at_most(f"wall a step ({name})", value, most, " ms")


def tokens(told: Figures) -> Iterator[Target]:
    """Prompt tokens over the leanest plan request."""
    for size, agents in told["clean"].items():
        if size == "1":
            continue  # what planning first costs is listed among the losses
        ratio = agents["mendgraph"]["of_floor"]
        yield _at_most(f"prompt tokens / floor, chain of {size}", ratio, 1.3)
    yield _at_most("growth exponent of prompt tokens", told["growth"]["mendgraph"], 1.0)


LEAST = {
    "explicit transient": 0.99,
    "explicit argument": 0.95,
    "explicit permanent": 0.95,
    "implicit transient": 0.95,
    "implicit permanent": 0.95,
}


def recovery(told: Figures) -> Iterator[Target]:
    """Success by kind of fault, and what must never happen."""
    rows = {group: row["mendgraph"] for group, row in told["grid"]["0.0"].items()}
    for group, least in LEAST.items():
        yield _at_least(f"recovery, {group}, q = 0", rows[group]["success"], least)
    lies = sum(row["false_success"] for row in rows.values())
    yield _at_most("false successes, q = 0", lies, 0)
    wasted = max(row["wasted_per_success"] for row in rows.values())
    yield _at_most("successful calls run again per success, q = 0", wasted, 0.02)
    cells = [r["mendgraph"] for g in told["grid"].values() for r in g.values()]
    yield _at_most("duplicated effects, all q", sum(c["duplicates"] for c in cells), 0)
    most = max(cell["most_at_hopeless"] for cell in cells)
    yield _at_most("calls at one fault nothing mends (budget)", most, 10)


def caf(told: Figures) -> Iterator[Target]:
    """Model calls a correction costs."""
    yield _at_most("CAF, transient faults", told["caf"]["transient"], 0)
    yield _at_most("CAF, planned alternative", told["caf"]["alternative"], 0)
    yield _at_most("CAF, the document's mixture", told["caf"]["all"], 1.2)


def state_size(told: Figures) -> Iterator[Target]:
    """Growth of checkpoints."""
    yield _at_most("checkpoint bytes a step, slope", told["slope"], 1.05)


def memory(told: Figures) -> Iterator[Target]:
    """Growth of the process."""
    yield _at_most("peak memory, ten times the rows", told["ratio"], 1.2)


def rollback(told: Figures) -> Iterator[Target]:
    """Equality and price."""
    rows = told["backs"]
    wrong = sum(not row["equal"] for row in rows.values())
    yield _at_most("rolled-back runs whose state differs", wrong, 0)
    price = rows["1"]["share"]["median"]
    yield _at_most("one step back and resumed / re-run", price, 0.1)


def replan(told: Figures) -> Iterator[Target]:
    """Tokens of a local replan over planning anew."""
    yield _at_most(
        "tokens of a local replan / planning anew, 20 steps", told["ratio_20"], 0.4
    )


def monitor(told: Figures) -> Iterator[Target]:
    """Rules on a result of 100 KB."""
    yield _at_most("monitor, p99, 100 KB", told["monitor_p99_ms"], 1.0, " ms")


def learning(told: Figures) -> Iterator[Target]:
    """Calls a fault, last third over first; rules that fired on sound calls."""
    yield _at_most("model calls a fault, last third / first", told["calls_ratio"], 0.5)
    yield _at_most("rules that fired on sound calls", told["false_fire_rate"], 0.01)


TARGETS: Mapping[str, Callable[[Figures], Iterator[Target]]] = {
    "makespan": makespan,
    "overhead": overhead,
    "tokens": tokens,
    "recovery": recovery,
    "caf": caf,
    "state_size": state_size,
    "memory": memory,
    "rollback": rollback,
    "replan": replan,
    "monitor": monitor,
    "learning": learning,
}
"""Measure → its targets."""


def all_targets(figures: Mapping[str, Figures]) -> list[Target]:
    """Return every target whose figures are there."""
    return [
        target
        for name, judge in TARGETS.items()
        if name in figures
        for target in judge(figures[name])
    ]
