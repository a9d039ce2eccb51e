"""The world the tools act on: it answers, fails by schedule and counts it all."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from mendgraph.bench.faults import DAMAGED, Kind, Schedule, raised
from mendgraph.bench.tasks import AS_OF, ROWS, Task, Wanted, value_of

TOOL_S = 0.2
"""Simulated seconds of one tool call."""


@dataclass(frozen=True)
class Made:
    """One call that reached the world."""

    tool: str
    step_id: str
    attempt: int
    good: bool
    fault: Kind | None


class Clock:
    """Simulated time: it moves when somebody sleeps, calls a tool or asks the model."""

    def __init__(self) -> None:
        self.now = 1_770_000_000.0

    def __call__(self) -> float:
        """Return the seconds since the epoch."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass
class World:
    """What one run acts on."""

    task: Task
    faults: Schedule
    clock: Clock = field(default_factory=Clock)
    made: list[Made] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)
    """Keys published, once for each time it happened."""
    strange: int = 0
    """Calls with a key nobody knows."""
    _tries: Counter[tuple[str, str]] = field(default_factory=Counter)

    def tools(self) -> list[BaseTool]:
        """Return the tools, the same for every agent."""
        return [
            StructuredTool.from_function(coroutine=each, name=each.__name__)
            for each in (
                self.fetch,
                self.fetch_mirror,
                self.derive,
                self.derive_mirror,
                self.publish,
                self.published,
            )
        ]

    async def fetch(
        self, key: str, form: str = "v1", fresh: bool = False
    ) -> dict[str, Any]:
        """Read a key: value, rows, row_count, as_of. `fresh` bypasses the cache."""
        return self._read("fetch", key, [], form, fresh)

    async def fetch_mirror(
        self, key: str, form: str = "v1", fresh: bool = False
    ) -> dict[str, Any]:
        """Do what `fetch` does, on another server; slower."""
        return self._read("fetch_mirror", key, [], form, fresh)

    async def derive(
        self, key: str, sources: list[str], form: str = "v1", fresh: bool = False
    ) -> dict[str, Any]:
        """Compute a key from the values of others: value, rows, row_count, as_of."""
        return self._read("derive", key, sources, form, fresh)

    async def derive_mirror(
        self, key: str, sources: list[str], form: str = "v1", fresh: bool = False
    ) -> dict[str, Any]:
        """Do what `derive` does, on another server; slower."""
        return self._read("derive_mirror", key, sources, form, fresh)

    async def publish(self, key: str, sources: list[str]) -> dict[str, Any]:
        """Publish a key from the values of others. Each call publishes once more."""
        step = self._step("publish", key)
        self._fitting(step, sources)
        fault = self._meets("publish", step)
        told = {"published": key, "value": value_of(key, sources)}
        if fault and fault.name == "no_op":
            return told
        if fault and fault.name != "lost_answer":
            raise raised(fault)
        self.effects.append(key)
        if fault:
            raise raised(fault)
        return told

    async def published(self, key: str) -> dict[str, Any]:
        """Tell whether a key has been published: found."""
        self.clock.now += TOOL_S
        self._step("published", key)
        return {"found": key in self.effects, "key": key}

    def _read(
        self, tool: str, key: str, sources: list[str], form: str, fresh: bool
    ) -> dict[str, Any]:
        del fresh  # a fault lasts as long as its schedule says
        step = self._step(tool, key)
        self._fitting(step, sources)
        fault = self._meets(tool, step, form)
        told: dict[str, Any] = {
            "value": value_of(key, sources),
            "rows": [{"n": n} for n in range(ROWS)],
            "row_count": ROWS,
            "as_of": AS_OF,
        }
        if fault is None:
            return told
        if fault.surface == "explicit":
            raise raised(fault)
        return DAMAGED[fault.name](told)

    def _step(self, tool: str, key: str) -> Wanted:
        step = self.task.by_key.get(key)
        if step is None:
            self.strange += 1
            self.clock.now += TOOL_S
            known = ", ".join(sorted(self.task.by_key))
            raise ValueError(f"{tool}: unknown key {key!r}; valid keys: {known}")
        return step

    def _fitting(self, step: Wanted, sources: list[str]) -> None:
        wanted = sorted(self.task.values[need] for need in step.needs)
        if sorted(sources) != wanted:
            self.strange += 1
            raise ValueError(f"argument 'sources' does not fit {step.key}: {sources}")

    def _meets(self, tool: str, step: Wanted, form: str = "v1") -> Kind | None:
        self.clock.now += TOOL_S
        self._tries[tool, step.id] += 1
        attempt = self._tries[tool, step.id]
        fault = self.faults.at(step.id, tool, attempt)
        if fault and fault.lasts == "argument" and form == "v2":
            fault = None
        self.made.append(Made(tool, step.id, attempt, good=fault is None, fault=fault))
        return fault

    @property
    def repeated(self) -> int:
        """Successful calls made again for the same step."""
        good = Counter(each.step_id for each in self.made if each.good)
        return sum(count - 1 for count in good.values())

    @property
    def duplicates(self) -> int:
        """Effects that happened more than once."""
        return len(self.effects) - len(set(self.effects))

    def calls_at(self, lasting: frozenset[str]) -> int:
        """Return the calls made at faults of these kinds of duration."""
        return sum(1 for m in self.made if m.fault and m.fault.lasts in lasting)
