"""A step loop's state, read through its records, and how a branch ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mendgraph.state.call import Approval, Call, Observation
from mendgraph.state.channels import StepState
from mendgraph.state.events import EventKind
from mendgraph.state.failure import Failure
from mendgraph.state.limits import Spent
from mendgraph.state.outcome import Attempt, StepRecord, StepStatus, Tier
from mendgraph.state.plan import Step
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.board import Outcome
from mendgraph.tools.registry import SUBTASK, Entry
from mendgraph.tools.run import Run

RETRIES = frozenset({Tier.TIER1, Tier.TIER2, Tier.TIER3})
"""Attempts that draw on the retry budget."""


@dataclass(frozen=True)
class Work:
    """One step being worked on."""

    state: StepState

    @cached_property
    def step(self) -> Step:
        """The step of the plan."""
        return Step.model_validate(self.state["step"])

    @cached_property
    def call(self) -> Call:
        """How the next attempt differs from the plan."""
        return Call.model_validate(self.state.get("call") or {})

    @cached_property
    def observation(self) -> Observation:
        """What the last attempt gave."""
        return Observation.model_validate(self.state["observation"])

    @cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """All attempts so far."""
        return tuple(map(Attempt.model_validate, self.state.get("attempts") or ()))

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """All failures so far."""
        return tuple(map(Failure.model_validate, self.state.get("failures") or ()))

    @cached_property
    def tried(self) -> tuple[Attempt, ...]:
        """Failed attempts of the steps this one was planned in place of."""
        return tuple(map(Attempt.model_validate, self.state.get("tried") or ()))

    @property
    def approval(self) -> Approval | None:
        """A person's consent given in this loop."""
        given = self.state.get("approval")
        return Approval.model_validate(given) if given else None

    @property
    def lineage(self) -> str:
        """The first id in the chain of replacements."""
        return self.state.get("lineage") or self.step.id

    @property
    def number(self) -> int:
        """Number of the attempt about to be made, from 1."""
        return len(self.state.get("attempts") or ()) + 1

    @property
    def corrections(self) -> int:
        """Reflection-directed fixes of this lineage, those of earlier rounds too."""
        own = sum(
            1 for c in self.state.get("corrections") or () if c["tier"] == "directed"
        )
        return self.state.get("corrections_before", 0) + own

    @property
    def tool(self) -> str:
        """Name of the tool the next attempt calls."""
        own = SUBTASK if self.step.subtask else self.step.tool
        return self.call.tool or own or ""

    def entry(self, run: Run) -> Entry:
        """The tool the next attempt calls."""
        return run.deps.registry.get(self.tool)

    def policy(self, run: Run) -> ToolPolicy:
        """Its policy; a step may only be more careful than the tool."""
        policy = self.entry(run).policy
        if self.step.idempotent is False and policy.idempotent:
            return policy.model_copy(update={"idempotent": False})
        return policy

    def reference(self) -> str:
        """Key under which the next attempt's output is kept."""
        version, this_round = self.state["plan_version"], self.state["round"][:8]
        return f"{self.step.id}@{version}.{self.number}.{this_round}"

    def base_record(self, status: StepStatus, **fields: Any) -> StepRecord:
        """Return a record of the step with what is always known."""
        return StepRecord(
            step_id=self.step.id,
            status=status,
            lineage=self.lineage,
            plan_version=self.state["plan_version"],
            description=self.step.description[:200],
            corrections=self.corrections,
            **{"tool": self.step.tool, **fields},
        )


async def finish_step(
    work: Work, run: Run, record: StepRecord, **trails: Any
) -> dict[str, Any]:
    """End a branch: keep its outcome, wake its dependents, tell who watches.

    Returns:
        The update of the node, with everything the plan loop must learn; trails
        without an entry are left out, as every channel written is stored apart.
    """
    state = work.state
    spent = Spent.model_validate(state.get("spent") or {}).plus(run.meter)
    before: dict[str, Any] = dict(state)
    kept = {
        name: [*(before.get(name) or ()), *trails.get(name, ())]
        for name in ("corrections", "reflections", "notes")
    }
    outcome = {"record": record.plain(), "spent": spent.plain(), **kept}
    await run.vault.put_outcome(state["round"], work.step.id, outcome)
    run.board.resolve(
        work.step.id, Outcome(status=record.status, output_ref=record.output_ref)
    )
    _tell(run, record)
    added = {name: entries for name, entries in trails.items() if entries}
    return {"steps": {work.step.id: record.plain()}, **added}


TOLD: Mapping[StepStatus, EventKind] = {
    StepStatus.DONE: EventKind.STEP_FINISHED,
    StepStatus.BLOCKED: EventKind.STEP_BLOCKED,
    StepStatus.WAITING: EventKind.WAITING,
    StepStatus.FAILED: EventKind.STEP_FAILED,
}


def _tell(run: Run, record: StepRecord) -> None:
    summary = record.summary
    why = summary.error_message if summary else None
    by = ", ".join(record.blocked_by)
    text = why or (
        f"waits for {by}" if by else (summary.output_digest[:160] if summary else "")
    )
    kind = TOLD.get(record.status, EventKind.NOTE)
    run.emit(
        kind,
        text,
        step_id=record.step_id,
        attempt=len(record.attempts) or 1,
        status=record.status.value,
        tool=record.tool,
        ms=round(summary.execution_time_ms, 1) if summary else None,
    )
