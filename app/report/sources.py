"""Plain thread state, masked and read through its records once, for all sections."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from mendgraph.state.correction import CorrectionEntry
from mendgraph.state.effect import LedgerEntry
from mendgraph.state.lesson import Reflection, Strategy
from mendgraph.state.limits import Limits, Spent
from mendgraph.state.masking import mask
from mendgraph.state.outcome import StepRecord, TaskStatus
from mendgraph.state.plan import Plan


def masked(value: Any) -> Any:
    """Return the value with secrets in its texts hidden; its shape stays."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: masked(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    return value


@dataclass(frozen=True)
class Sources:
    """The values one report is made from."""

    state: Mapping[str, Any]
    ledger: Sequence[Mapping[str, Any]] = ()
    strategy_book: Sequence[Mapping[str, Any]] = ()
    reasoning: Mapping[str, Mapping[str, Any]] | None = None
    history: Sequence[Mapping[str, Any]] = ()
    questions: Sequence[Mapping[str, Any]] = ()

    @cached_property
    def asked(self) -> dict[str, str]:
        """Open questions to people by step id; `""` stands for the whole task."""
        found = {}
        for payload in self.questions:
            step_id = (payload.get("metadata") or {}).get("step_id") or ""
            actions = payload.get("action_requests") or [{}]
            found[str(step_id)] = str(actions[0].get("description") or "a question")
        return found

    @cached_property
    def status(self) -> TaskStatus:
        """Where the task stands."""
        return TaskStatus(self.state.get("status") or TaskStatus.RUNNING)

    @cached_property
    def plan(self) -> Plan | None:
        """The current plan; a given one that does not fit the record is none."""
        plain = self.state.get("plan") or {}
        return _readable(plain.get("given", plain)) if plain else None

    @cached_property
    def versions(self) -> tuple[Plan, ...]:
        """Every version that is known, oldest first, the current one last."""
        known = {plan.version: plan for plan in map(_readable, self.history) if plan}
        if self.plan:
            known = {n: p for n, p in known.items() if n < self.plan.version}
            known[self.plan.version] = self.plan
        return tuple(known[number] for number in sorted(known))

    @cached_property
    def steps(self) -> dict[str, StepRecord]:
        """Step records by id."""
        plain = (self.state.get("steps") or {}).values()
        records = map(StepRecord.model_validate, plain)
        return {record.step_id: record for record in records}

    @cached_property
    def spent(self) -> Spent:
        """What was spent."""
        return Spent.model_validate(self.state.get("spent") or {})

    @property
    def stopped_by(self) -> str:
        """Why the run ended before its plan did; empty when it did not."""
        pending = self.state.get("pending") or {}
        told = pending.get("exhausted") or pending.get("reason")
        return str(self.report.get("stopped_by") or told or "")

    @cached_property
    def limits(self) -> Limits:
        """What might be spent."""
        told = self.report.get("limits") or self.state.get("limits") or {}
        return Limits.model_validate(told)

    @property
    def report(self) -> Mapping[str, Any]:
        """What `finish` reported; empty before."""
        return self.state.get("report") or {}

    @cached_property
    def corrections(self) -> tuple[CorrectionEntry, ...]:
        """The corrections trail."""
        return tuple(map(CorrectionEntry.model_validate, self._trail("corrections")))

    @cached_property
    def reflections(self) -> tuple[Reflection, ...]:
        """The reflections of the thread; the newest form of each id."""
        found = map(Reflection.model_validate, self._trail("reflections"))
        return tuple({each.id: each for each in found}.values())

    @cached_property
    def effects(self) -> tuple[LedgerEntry, ...]:
        """The effect ledger, oldest first."""
        entries = map(LedgerEntry.model_validate, self.ledger)
        return tuple(sorted(entries, key=lambda entry: (entry.created_at, entry.key)))

    @cached_property
    def strategies(self) -> tuple[Strategy, ...]:
        """The strategies of the store."""
        return tuple(map(Strategy.model_validate, self.strategy_book))

    def trail(self, name: str) -> Iterable[Mapping[str, Any]]:
        """Return the mappings of a free-form trail; texts count as notes."""
        for each in self._trail(name):
            yield each if isinstance(each, Mapping) else {"text": str(each)}

    @cached_property
    def origin(self) -> float | None:
        """Seconds since the epoch of the earliest thing known."""
        attempts = [a for r in self.steps.values() for a in r.attempts]
        moments = [a.started_at - a.waited_s for a in attempts]
        moments += [
            t["started_at"] for t in (self.reasoning or {}).values() if timed(t)
        ]
        began = self.state.get("started_at")
        moments += [float(began)] if began else []
        return min(moments, default=None)

    def since_origin(self, moment: float) -> float:
        """Return seconds between the run's beginning and a moment."""
        return moment - (self.origin or 0.0)

    def _trail(self, name: str) -> Sequence[Any]:
        return self.state.get(name) or ()


def timed(thought: Mapping[str, Any]) -> bool:
    """Tell whether a reasoning chain says when its call ran."""
    ends = (thought.get("started_at"), thought.get("ended_at"))
    return all(isinstance(end, int | float) for end in ends)


def _readable(plain: Mapping[str, Any]) -> Plan | None:
    try:
        return Plan.model_validate(plain)
    except ValidationError:
        return None
