"""Typed progress events of `stream_mode="custom"` (F65).

Each has an id built from what it tells, so a resumed node that emits again is known
by its id and attempt.
"""

from enum import StrEnum
from typing import Any

from pydantic import Field

from mendgraph.state.record import Record


class EventKind(StrEnum):
    """What happened."""

    TASK_STARTED = "task_started"
    PLAN_READY = "plan_ready"
    STEP_STARTED = "step_started"
    STEP_FINISHED = "step_finished"
    STEP_FAILED = "step_failed"
    STEP_BLOCKED = "step_blocked"
    CORRECTION = "correction"
    REFLECTION = "reflection"
    REPLANNED = "replanned"
    MODEL_CALLED = "model_called"
    WAITING = "waiting"
    NOTE = "note"
    TASK_FINISHED = "task_finished"


class Event(Record):
    """One progress event."""

    event: EventKind
    id: str
    """The same happening has the same id, however often it is told."""
    at: float
    """Seconds since the epoch."""
    task_id: str = ""
    step_id: str | None = None
    attempt: int = 1
    text: str = ""
    """One line for people, masked."""
    data: dict[str, Any] = Field(default_factory=dict)
