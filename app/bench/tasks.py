"""Tasks whose right answer is known: steps over keys, values that hash what they read.

A task's text holds what a person would say: which calls, on what, and what every answer
must fulfil. What an agent reports is compared with values computed here.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

AS_OF = "2026-03-01"
"""Answers of another date are stale."""
ROWS = 3
SHAPES = ("single", "chain", "fan", "diamond", "publish")
MANNERS = f"""Every answer must hold all its rows (row_count says how many), be as of
{AS_OF} and have a value. Publish nothing twice. Where a service is gone for good, its
mirror takes the same arguments. Report the values of the last steps, or truthfully what
could not be done."""


@dataclass(frozen=True)
class Wanted:
    """One call the task needs."""

    id: str
    tool: str
    key: str
    needs: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The step as the task's text says it."""
        read = f" from {', '.join(self.needs)}" if self.needs else ""
        return f"- {self.id}: {self.tool} key={self.key}{read}"


@dataclass(frozen=True)
class Task:
    """What is asked for."""

    name: str
    steps: tuple[Wanted, ...]

    @property
    def text(self) -> str:
        """The task in words."""
        lines = "\n".join(step.line for step in self.steps)
        return f"Task {self.name}. Carry out these steps:\n{lines}\n{MANNERS}"

    @cached_property
    def by_key(self) -> Mapping[str, Wanted]:
        """Steps by the key they work on; reading back has the key it reads."""
        return {s.key: s for s in self.steps if s.tool != "published"}

    @cached_property
    def values(self) -> Mapping[str, str]:
        """Step id → the value a faultless world gives."""
        found: dict[str, str] = {}
        for step in self.steps:
            found[step.id] = value_of(step.key, [found[i] for i in step.needs])
        return found

    @cached_property
    def last(self) -> tuple[str, ...]:
        """Values an answer must hold: those of the steps nobody reads from."""
        read = {need for step in self.steps for need in step.needs}
        ends = [s for s in self.steps if s.id not in read and s.tool != "published"]
        return tuple(self.values[step.id] for step in ends)

    @property
    def published(self) -> tuple[str, ...]:
        """Keys that must be published once."""
        return tuple(step.key for step in self.steps if step.tool == "publish")


def value_of(key: str, sources: Sequence[str]) -> str:
    """Return the value of a key computed from other values."""
    told = f"{key}|{'|'.join(sorted(sources))}"
    return "v" + hashlib.sha256(told.encode()).hexdigest()[:9]


def _steps(*rows: tuple[str, tuple[int, ...]], name: str) -> tuple[Wanted, ...]:
    return tuple(
        Wanted(f"s{i}", tool, f"{name}.{i}", tuple(f"s{n}" for n in needs))
        for i, (tool, needs) in enumerate(rows, start=1)
    )


def chain(length: int, name: str) -> Task:
    """Return a chain: one fetch, then derivations each from the one before."""
    rows = [("fetch", ()), *(("derive", (i,)) for i in range(1, length))]
    return Task(name, _steps(*rows, name=name))


def wide(width: int, name: str) -> Task:
    """Return independent fetches and one derivation from all of them."""
    rows = [("fetch", ()) for _ in range(width)]
    rows.append(("derive", tuple(range(1, width + 1))))  # type: ignore[arg-type]  # longer
    return Task(name, _steps(*rows, name=name))


def diamond(name: str) -> Task:
    """Return one fetch, two derivations from it, one from both."""
    rows = (("fetch", ()), ("derive", (1,)), ("derive", (1,)), ("derive", (2, 3)))
    return Task(name, _steps(*rows, name=name))


def publishing(name: str) -> Task:
    """Return a fetch, a derivation, its publication and its reading back."""
    rows = (("fetch", ()), ("derive", (1,)), ("publish", (2,)))
    steps = _steps(*rows, name=name)
    back = Wanted("s4", "published", steps[-1].key, ("s3",))
    return Task(name, (*steps, back))


def make(shape: str, seed: int) -> Task:
    """Return the task of a shape and a seed."""
    size = random.Random(f"{shape}:{seed}").randint(3, 6)  # noqa: S311  reproducible
    name = f"{shape}{seed}"
    if shape == "single":
        return chain(1, name)
    if shape == "chain":
        return chain(size, name)
    if shape == "fan":
        return wide(size, name)
    return diamond(name) if shape == "diamond" else publishing(name)
