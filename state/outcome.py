"""What became of a step: attempts, summary, record; and of the task: the status (F11).

Raw outputs are never here: a record has a digest for people and models and a reference
into the store.
"""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from mendgraph.state.failure import Failure
from mendgraph.state.record import Record


class StepStatus(StrEnum):
    """Where a step stands."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    WAITING = "waiting"
    VOID = "void"


FINAL = frozenset({StepStatus.DONE, StepStatus.FAILED, StepStatus.VOID})


class TaskStatus(StrEnum):
    """Where the task stands; `done` means every step of the current plan is done."""

    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Tier(StrEnum):
    """Why an attempt was made."""

    FIRST = "first"
    TIER1 = "tier1"
    TIER2 = "tier2"
    TIER3 = "tier3"
    DIRECTED = "directed"
    POLL = "poll"
    CONFIRM = "confirm"


class Attempt(Record):
    """One call, or one look at whether a call had happened."""

    number: int
    tier: Tier = Tier.FIRST
    tool: str
    arguments_digest: str = ""
    changed: tuple[str, ...] = ()
    """Names of arguments that differ from the plan's."""
    started_at: float
    """Seconds since the epoch."""
    ended_at: float
    waited_s: float = 0.0
    """Seconds of wait before it."""
    status: Literal["ok", "failed", "pending", "refused"]
    error: str | None = None
    """Masked and shortened."""
    verdict: str | None = None
    """`category:subclass`, when it failed."""
    rule: str | None = None
    """The classification rule or the distilled rule that spoke."""
    why: str = ""
    """What was changed and on whose advice."""


class ExecutionSummary(Record):
    """What prompts and people see of an execution instead of the raw output."""

    status: Literal["success", "partial", "failed"]
    output_digest: str = ""
    """Key fields as short JSON, masked."""
    deviation_score: float = Field(default=0.0, ge=0, le=1)
    error_message: str | None = None
    execution_time_ms: float = 0.0
    rows: int | None = None
    size_bytes: int | None = None
    empty: bool = False
    """A legitimately empty result."""
    notes: tuple[str, ...] = ()
    """Deviations noted and watched, warnings, schema changes."""


class Escalation(Record):
    """Why the step loop gave a failure to the plan loop."""

    action: Literal["local_replan", "global_replan", "clarify", "give_up"]
    reason: str
    question: str | None = None
    options: tuple[str, ...] = ()
    reflection_id: str | None = None


class StepRecord(Record):
    """Everything the thread keeps of one step."""

    step_id: str
    status: StepStatus
    lineage: str = ""
    plan_version: int = 1
    tool: str | None = None
    tool_class: str | None = None
    description: str = ""
    output_ref: str | None = None
    """Key of the raw output in the store."""
    arguments_digest: str | None = None
    fingerprint: str = ""
    """Hash of tool and input templates; a kept result is reused only on equal hash."""
    summary: ExecutionSummary | None = None
    attempts: tuple[Attempt, ...] = ()
    failure: Failure | None = None
    escalation: Escalation | None = None
    blocked_by: tuple[str, ...] = ()
    corrections: int = 0
    """Reflection-directed fixes of this lineage so far."""
    effect_key: str | None = None
    """Its entry in the effect ledger."""
    reused: bool = False
    """The effect had already happened and was not repeated."""


def reduce_steps(
    left: dict[str, Any] | None, right: dict[str, Any] | None
) -> dict[str, Any]:
    """Reduce the step channel: newest record of each id wins; None empties it."""
    return {} if right is None else {**(left or {}), **right}


def reduce_trail(left: list[Any] | None, right: list[Any] | None) -> list[Any]:
    """Reduce an append-only trail; None empties it."""
    return [] if right is None else [*(left or []), *right]
