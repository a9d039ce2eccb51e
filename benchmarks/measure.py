"""What every measure shares: arguments, repetitions in turn, spread, the last line."""

import argparse
import asyncio
import json
import platform
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console
from rich.table import Table

PACKAGES = (
    "mendgraph",
    "langgraph",
    "langchain-core",
    "langchain",
    "deepagents",
    "langgraph-checkpoint-sqlite",
    "pydantic",
    "chromadb",
)
"""Packages whose versions stand beside every figure."""

Job = Callable[[], Awaitable["Cost"]]


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    wall_ms: float
    cpu_ms: float
    extra: Mapping[str, float]
    """Whatever else the run measured, such as bytes on disk."""


def quick_wanted(doc: str | None) -> bool:
    """Read the command line; tell whether `--quick` was given."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--quick", action="store_true", help="smaller, for CI")
    return bool(parser.parse_args().quick)


def installed(name: str) -> str:
    """Return the version of a package, or `absent`."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def versions() -> dict[str, str]:
    """Return the versions the figures belong to."""
    told = {name: installed(name) for name in PACKAGES}
    return {"python": platform.python_version(), **told}


class Clocked:
    """Wall and processor time between two moments, in milliseconds."""

    wall_ms = 0.0
    cpu_ms = 0.0

    def cost(self, **extra: float) -> Cost:
        """Return what was taken."""
        return Cost(wall_ms=self.wall_ms, cpu_ms=self.cpu_ms, extra=extra)


@contextmanager
def clocked() -> Iterator[Clocked]:
    """Measure the block: wall time and the processor time of all threads."""
    taken = Clocked()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield taken
    finally:
        taken.wall_ms = (time.perf_counter() - wall) * 1_000
        taken.cpu_ms = (time.process_time() - cpu) * 1_000


def interleaved(jobs: Mapping[str, Job], repeats: int) -> dict[str, list[Cost]]:
    """Run every job `repeats` times in turn, so that a busy moment meets all."""
    found: dict[str, list[Cost]] = {name: [] for name in jobs}
    for turn in range(repeats):
        order = list(jobs) if turn % 2 == 0 else list(reversed(jobs))
        for name in order:
            found[name].append(asyncio.run(jobs[name]()))
    return found


def median_of(costs: Sequence[Cost], what: str) -> float:
    """Return the median of `wall_ms`, `cpu_ms` or of an extra figure."""
    return statistics.median(value_of(cost, what) for cost in costs)


def value_of(cost: Cost, what: str) -> float:
    """Return one figure of a run."""
    return float(cost.extra[what] if what in cost.extra else getattr(cost, what))


def ratio_of(ours: Sequence[Cost], theirs: Sequence[Cost], what: str) -> dict[str, Any]:
    """Return the ratio turn by turn: median, lowest and highest."""
    pairs = zip(ours, theirs, strict=True)
    return spread([value_of(a, what) / value_of(b, what) for a, b in pairs])


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return median, lowest and highest of some values."""
    told = {"median": statistics.median(values), "low": min(values)}
    told["high"] = max(values)
    return {name: round(value, 3) for name, value in told.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of all values lies, 0..1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table people can read."""
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*map(str, row))
    Console(width=150).print(table)


def end(measure: str, figures: Mapping[str, Any]) -> None:
    """Print the last line: one JSON object with the figures and the versions."""
    print(json.dumps({"measure": measure, **figures, "versions": versions()}))
