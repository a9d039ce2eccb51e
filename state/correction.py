"""Triggers, the correction matrix as data, and the trail of what was done (F20, F40).

The matrix is the table of the adaptive planning document (section 5.2). A user may
override any row: `Matrix.with_row`.
"""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from mendgraph.state.failure import Category
from mendgraph.state.record import Record


class Trigger(StrEnum):
    """What set a correction off."""

    HARD = "hard"
    SOFT = "soft"
    ENVIRONMENT = "environment"
    SIGNAL = "signal"


class Action(StrEnum):
    """What the correction does."""

    NONE = "none"
    NOTE = "note_and_watch"
    RETRY_SAME = "retry_same"
    CHANGE_ARGUMENTS = "change_arguments"
    FALLBACK = "fallback"
    REFLECT = "reflect"
    LOCAL_REPLAN = "local_replan"
    GLOBAL_REPLAN = "global_replan"
    CLARIFY = "clarify"
    GIVE_UP = "give_up"


class Scope(StrEnum):
    """What a correction leaves untouched."""

    REST = "keep the rest"
    UNCHANGED = "unchanged"
    SUMMARIES = "keep summaries"
    RESET = "reset"


class Row(Record):
    """One line of the matrix; `category` None stands for any."""

    trigger: Trigger
    category: Category | None
    action: Action
    scope: Scope


MATRIX: tuple[Row, ...] = (
    Row(
        trigger=Trigger.HARD,
        category=Category.PLAN,
        action=Action.LOCAL_REPLAN,
        scope=Scope.REST,
    ),
    Row(
        trigger=Trigger.HARD,
        category=Category.EXECUTION,
        action=Action.CHANGE_ARGUMENTS,
        scope=Scope.UNCHANGED,
    ),
    Row(
        trigger=Trigger.HARD,
        category=Category.ENVIRONMENT,
        action=Action.FALLBACK,
        scope=Scope.UNCHANGED,
    ),
    Row(
        trigger=Trigger.HARD,
        category=Category.REQUIREMENT,
        action=Action.CLARIFY,
        scope=Scope.RESET,
    ),
    Row(
        trigger=Trigger.HARD,
        category=Category.INTERNAL,
        action=Action.GIVE_UP,
        scope=Scope.UNCHANGED,
    ),
    Row(
        trigger=Trigger.SOFT,
        category=Category.PLAN,
        action=Action.NOTE,
        scope=Scope.UNCHANGED,
    ),
    Row(
        trigger=Trigger.SOFT,
        category=Category.EXECUTION,
        action=Action.CHANGE_ARGUMENTS,
        scope=Scope.UNCHANGED,
    ),
    Row(trigger=Trigger.SOFT, category=None, action=Action.NOTE, scope=Scope.UNCHANGED),
    Row(
        trigger=Trigger.ENVIRONMENT,
        category=None,
        action=Action.GLOBAL_REPLAN,
        scope=Scope.SUMMARIES,
    ),
    Row(
        trigger=Trigger.SIGNAL,
        category=None,
        action=Action.GLOBAL_REPLAN,
        scope=Scope.RESET,
    ),
)
"""The shipped correction matrix, most specific rows first."""


def look_up(
    trigger: Trigger, category: Category, matrix: tuple[Row, ...] = MATRIX
) -> Row:
    """Return the row for a trigger and a category; exact category before any."""
    rows = [row for row in matrix if row.trigger is trigger]
    exact = [row for row in rows if row.category is category]
    general = [row for row in rows if row.category is None]
    for row in (*exact, *general):
        return row
    return Row(
        trigger=trigger, category=category, action=Action.REFLECT, scope=Scope.UNCHANGED
    )


def override(*rows: Row) -> tuple[Row, ...]:
    """Return the shipped matrix with these rows put before it."""
    return (*rows, *MATRIX)


class Correction(Record):
    """One decision of the monitor or the reflector, with its reason."""

    action: Action
    tier: Literal["tier1", "tier2", "tier3", "directed", "poll", "plan", "none"]
    wait_s: float = 0.0
    reason: str
    changes: dict[str, Any] = Field(default_factory=dict)
    """Arguments to set, for a directed change."""
    question: str | None = None
    options: tuple[str, ...] = ()
    reflection_id: str | None = None


class CorrectionEntry(Record):
    """One line of the corrections trail, as the report shows it."""

    step_id: str | None
    trigger: Trigger
    category: str
    subclass: str
    action: Action
    tier: str
    reason: str
    at: float
    """Seconds since the epoch."""
    plan_version: int = 1
    worked: bool | None = None
    model_calls: int = 0
    signature: str = ""
    prompt_tokens: int = 0
    returned_to: str | None = None
    """The step that had succeeded last, when an earlier replan of this lineage failed
    and the plan loop went back to that stable point (F43)."""
