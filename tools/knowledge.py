"""What is known of tools and resources: schemas, speed, success, errors (F51).

Observations are counted in memory and saved by `flush`, one write for a task.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph.store.base import BaseStore

from mendgraph.state.policy import ToolKind
from mendgraph.state.record import Record
from mendgraph.state.statistics import bucket, quantile, raised_threshold
from mendgraph.tools.tallies import Tallies
from mendgraph.tools.uses import every

SCHEMAS = ("mendgraph", "schemas")
FINGERPRINTS = ("mendgraph", "fingerprints")
ERRORS = ("mendgraph", "errors")
THRESHOLDS = {ToolKind.QUERY: 0.3, ToolKind.GENERATIVE: 0.5, ToolKind.ACTION: 0.3}
"""Deviation, 0..1, from which a soft trigger fires, before any measurement (F21)."""
FEW_CALLS = 5
"""Calls before a measured time is expected of a tool."""
SAMPLE_LENGTH = 200
"""Characters of an error kept as an example."""
MOST_ERRORS = 2
"""Error patterns that a description of a tool names."""
BETWEEN = "\x1f"
"""Separates the parts of a counter's name; tools do not carry it in theirs."""


class ToolStats(Record):
    """What was measured of one tool."""

    tool: str
    calls: int
    success_rate: float | None
    p50_ms: float | None
    p95_ms: float | None
    alarms: int
    false_alarms: int


class ErrorPattern(Record):
    """A failure signature that was seen, how often, and one example."""

    signature: str
    count: int
    example: str


class KnowledgeBook:
    """Knowledge in a store, held in memory between `load` and `flush`.

    Args:
        store: Where it is kept.
        clock: Seconds since the epoch.
        new_id: Returns a new id.
    """

    def __init__(
        self,
        store: BaseStore,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._clock = clock
        self._counts = Tallies(store, "knowledge", new_id())
        self._latencies: dict[str, dict[int, float]] = {}
        self._schemas: dict[str, dict[str, Any]] = {}
        self._prints: dict[str, str] = {}
        self._examples: dict[str, str] = {}
        self._unsaved: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {}

    async def load(self) -> None:
        """Read what is stored; call it when a task begins."""
        await self._counts.load()
        self._latencies = {}
        for item in await every(self._store, SCHEMAS):
            self._schemas.setdefault(item.value["tool"], item.value)
        for item in await every(self._store, FINGERPRINTS):
            self._prints[item.value["resource"]] = item.value["fingerprint"]
        for item in await every(self._store, ERRORS):
            self._examples.setdefault(item.value["signature"], item.value["example"])

    async def flush(self) -> None:
        """Save the counts in one write, and schemas or marks that are new."""
        await self._counts.flush()
        unsaved, self._unsaved = self._unsaved, {}
        for (namespace, key), value in unsaved.items():
            await self._store.aput(namespace, key, value, index=False)

    def observe(self, tool: str, elapsed_ms: float, ok: bool) -> None:
        """Count one call; failed ones do not count for the expected time."""
        self._add("calls", tool)
        if not ok:
            return
        number = bucket(elapsed_ms)
        self._add("ok", tool)
        self._add("ms", tool, str(number))
        histogram = self._histogram(tool)
        histogram[number] = self._value("ms", tool, str(number))

    def expected_ms(self, tool: str) -> float | None:
        """Return the median time of a tool in ms; None before five calls."""
        if self._value("ok", tool) < FEW_CALLS:
            return None
        return quantile(self._histogram(tool), 0.5)

    def alarm(self, tool: str, false: bool) -> None:
        """Count a soft trigger, and whether nothing had been wrong."""
        self._add("alarms", tool)
        if false:
            self._add("false", tool)

    def threshold(self, tool: str, kind: ToolKind) -> float:
        """Return the deviation, 0..1, from which a tool's result is suspicious."""
        counts = self._value("alarms", tool), self._value("false", tool)
        return raised_threshold(THRESHOLDS[kind], *counts)

    def stats(self, tool: str) -> ToolStats:
        """Return what was measured of a tool."""
        calls, histogram = self._value("calls", tool), self._histogram(tool)
        return ToolStats(
            tool=tool,
            calls=int(calls),
            success_rate=self._value("ok", tool) / calls if calls else None,
            p50_ms=quantile(histogram, 0.5),
            p95_ms=quantile(histogram, 0.95),
            alarms=int(self._value("alarms", tool)),
            false_alarms=int(self._value("false", tool)),
        )

    def tools(self) -> list[str]:
        """Return the names of all tools that were called or described."""
        called = {name.split(BETWEEN)[1] for name in self._counts.names("calls")}
        return sorted(called | self._schemas.keys())

    def note_schema(
        self, tool: str, description: str, schema: Mapping[str, Any]
    ) -> None:
        """Keep a tool's description and the JSON Schema of its arguments."""
        value = {"tool": tool, "description": description, "schema": dict(schema)}
        if self._schemas.get(tool) != value:
            self._schemas[tool] = value
            self._unsaved[SCHEMAS, tool] = value

    def note_error(self, tool: str, signature: str, message: str) -> None:
        """Count a failure signature of a tool, with its first masked message."""
        self._add("error", tool, signature)
        if signature not in self._examples:
            example = message[:SAMPLE_LENGTH]
            self._examples[signature] = example
            value = {"signature": signature, "example": example}
            self._unsaved[ERRORS, signature] = value

    def patterns(self, tool: str) -> list[ErrorPattern]:
        """Return the failure signatures seen of a tool, the commonest first."""
        prefix = BETWEEN.join(("error", tool, ""))
        found = [
            ErrorPattern(
                signature=name.removeprefix(prefix),
                count=int(self._counts.value(name)),
                example=self._examples.get(name.removeprefix(prefix), ""),
            )
            for name in self._counts.names(prefix)
        ]
        return sorted(found, key=lambda item: (-item.count, item.signature))

    def fingerprint(self, resource: str) -> str | None:
        """Return a resource's fingerprint as it was last seen."""
        return self._prints.get(resource)

    def fingerprint_changed(self, resource: str, fingerprint: str) -> bool:
        """Keep a resource's fingerprint; True when it was another before (F20)."""
        before = self._prints.get(resource)
        if before == fingerprint:
            return False
        self._prints[resource] = fingerprint
        self._unsaved[FINGERPRINTS, resource] = {
            "resource": resource,
            "fingerprint": fingerprint,
            "at": self._clock(),
        }
        return before is not None

    def describe(self, tools: Iterable[str]) -> str:
        """Return one line a tool for a prompt: purpose, arguments, experience."""
        return "\n".join(self._line(tool) for tool in tools)

    def _line(self, tool: str) -> str:
        known = self._schemas.get(tool, {})
        properties = known.get("schema", {}).get("properties", {})
        parts = [f"{tool}({', '.join(properties)})", *_purpose(known)]
        stats = self.stats(tool)
        if stats.success_rate is not None and stats.calls >= FEW_CALLS:
            parts.append(f"{stats.success_rate:.0%} of {stats.calls} calls worked")
        if (expected := self.expected_ms(tool)) is not None:
            parts.append(f"takes about {expected:.0f} ms")
        often = self.patterns(tool)[:MOST_ERRORS]
        parts += [f"failed with {json.dumps(e.example[:80])}" for e in often]
        return "; ".join(parts)

    def _histogram(self, tool: str) -> dict[int, float]:
        if tool not in self._latencies:
            prefix = BETWEEN.join(("ms", tool, ""))
            counts: dict[int, float] = defaultdict(float)
            for name in self._counts.names(prefix):
                counts[int(name.removeprefix(prefix))] = self._counts.value(name)
            self._latencies[tool] = counts
        return self._latencies[tool]

    def _add(self, *parts: str) -> None:
        self._counts.add(BETWEEN.join(parts))

    def _value(self, *parts: str) -> float:
        return self._counts.value(BETWEEN.join(parts))


def _purpose(known: Mapping[str, Any]) -> list[str]:
    lines = str(known.get("description", "")).strip().splitlines()
    return [lines[0][:SAMPLE_LENGTH]] if lines else []
