"""The call a step is about to make, and what the last one gave."""

from typing import Any, Literal

from pydantic import Field

from mendgraph.state.failure import Classification, FailureFacts
from mendgraph.state.outcome import Tier
from mendgraph.state.record import Record


class Call(Record):
    """How the next attempt differs from the plan's step."""

    tier: Tier = Tier.FIRST
    tool: str | None = None
    """Another tool than the step's, for a fallback."""
    inputs: dict[str, Any] | None = None
    """Other templates than the step's, for a fallback."""
    changes: dict[str, Any] = Field(default_factory=dict)
    """Arguments to set after rendering."""
    wait_s: float = 0.0
    timeout_factor: float = 1.0
    why: str = ""
    lesson: str = ""
    """What the adviser says a planner should know; kept if the call succeeds."""
    source: str | None = None
    """`rule:ID`, `strategy:ID`, `reflection:ID`, `model`, `person`: who advised it."""


class Observation(Record):
    """What the last attempt gave; the monitor dispatches on the closed `status`."""

    status: Literal["ok", "pending", "failed", "finished"]
    tool: str = ""
    output_ref: str | None = None
    facts: FailureFacts | None = None
    classification: Classification | None = None
    """Given where our own checks already know the class."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Masked."""
    arguments_digest: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0
    waited_s: float = 0.0
    effect_key: str | None = None
    reused: bool = False
    advice: str | None = None
    """What a person answered instead of approving."""

    @property
    def elapsed_ms(self) -> float:
        """How long the call took in milliseconds."""
        return (self.ended_at - self.started_at) * 1_000


class Approval(Record):
    """A person's consent to one call, bound to its digest (F15)."""

    digest: str
    expires_at: float | None = None
    """Seconds since the epoch."""
