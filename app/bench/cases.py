"""The grid of the benchmarks: every kind of fault alone, then in pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mendgraph.bench.faults import Kind, Schedule, kinds, schedule, seeds
from mendgraph.bench.tasks import SHAPES, Task, make

TWO = (
    ("http_503", "form_422"),
    ("timeout", "stale"),
    ("http_404", "reset"),
    ("empty", "http_502"),
)
"""Pairs of faults that hit one task."""
CLEAN = "no faults"
NONE = Schedule({})


@dataclass(frozen=True)
class Case:
    """One task with its faults."""

    task: Task
    faults: Schedule
    group: str
    seed: int
    held_out: bool


def shapes_for(chosen: Sequence[Kind]) -> tuple[str, ...]:
    """Return the shapes in which the faults have something to hit."""
    if any(kind.on == "publish" for kind in chosen):
        return ("publish",)
    return ("chain", "diamond", "fan")


def cases(runs: int) -> list[Case]:
    """Return the grid: every kind alone, then the pairs, over shapes and seeds."""
    known = kinds()
    rows = [([kind], kind.group) for kind in known.values()]
    rows += [([known[a], known[b]], "two faults") for a, b in TWO]
    return [each for chosen, group in rows for each in _row(chosen, group, runs)]


def clean(seed: int) -> list[Case]:
    """Return a task of every shape that nothing befalls."""
    tasks = (make(shape, seed) for shape in SHAPES)
    return [Case(task, NONE, CLEAN, seed, held_out=False) for task in tasks]


def _row(chosen: list[Kind], group: str, runs: int) -> Iterator[Case]:
    shapes = shapes_for(chosen)
    for number in range(runs):
        seed = seeds()[number % len(seeds())]
        task = make(shapes[number % len(shapes)], seed)
        held_out = any(kind.held_out for kind in chosen)
        yield Case(task, schedule(task, chosen, seed), group, seed, held_out)
