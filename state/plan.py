"""Plan and step records; the JSON of both source documents loads as written (F01).

Aliases, lossless conversions and unknown fields are handled here, once. What a plan
means (acyclic, known tools, bindable inputs) is checked in `algebra` and
`mendgraph.tools.plan_check`.
"""

from enum import StrEnum
from functools import cache
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from mendgraph.state.record import Record


class Risk(StrEnum):
    """How bad a failure of the step would be."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


def _identifier(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else value


def _identifiers(value: Any) -> Any:
    if value is None:
        return ()
    return (value,) if isinstance(value, str | int) else value


def _text(value: Any) -> Any:
    return "" if value is None else value


def _mapping(value: Any) -> Any:
    return {} if value is None else value


StepId = Annotated[str, BeforeValidator(_identifier), Field(min_length=1)]
StepIds = Annotated[tuple[StepId, ...], BeforeValidator(_identifiers)]
Text = Annotated[str, BeforeValidator(_text)]
Inputs = Annotated[dict[str, Any], BeforeValidator(_mapping)]


@cache
def _known(cls: type[Record]) -> frozenset[str]:
    """Return every name and alias of a record's fields."""
    aliases = (field.validation_alias for field in cls.model_fields.values())
    named = {
        str(choice)
        for alias in aliases
        if isinstance(alias, AliasChoices)
        for choice in alias.choices
    }
    return frozenset(cls.model_fields) | named


def _keep_unknown(cls: type[Record], data: Any) -> Any:
    """Move fields the record does not have to `extras`, so nothing is lost."""
    if not isinstance(data, dict) or data.keys() <= _known(cls):
        return data
    extras = {key: value for key, value in data.items() if key not in _known(cls)}
    kept = {key: value for key, value in data.items() if key not in extras}
    return {**kept, "extras": {**(kept.get("extras") or {}), **extras}}


class Fallback(Record):
    """What to do instead when a step cannot be mended (tier 3).

    With a `tool` it is a call; with a `description` only, the model turns it into one.
    """

    description: Text = ""
    tool: str | None = None
    inputs: Inputs = Field(default_factory=dict)
    """Empty means: the same arguments as the step."""


def _fallback(value: Any) -> Any:
    if isinstance(value, str):
        return {"description": value} if value.strip() else None
    return value


class SubTask(Record):
    """A step that is a task of its own (F09); it only narrows its parent's rights."""

    goal: str = Field(min_length=1)
    tools: tuple[str, ...] = ()
    """Allowed tools, a subset of the parent's; empty means none."""
    share: float = Field(default=0.25, gt=0, le=1)
    """Slice of every remaining budget of the parent, 0..1."""
    acceptance: str | None = None
    """CEL over `output` that must hold for the sub-task to count as done."""
    exploring: bool = False
    """A bounded reason-and-act loop instead of a planned graph."""
    plan: dict[str, Any] | None = None
    """A given plan, for a sub-task without a model."""


class Step(Record):
    """One step of a plan: a call with a checkable expectation."""

    id: StepId = Field(validation_alias=AliasChoices("id", "step_id"))
    description: Text = ""
    tool: str | None = None
    inputs: Inputs = Field(default_factory=dict)
    """Argument templates; `"{{ s1.rows }}"` binds to another step's output."""
    dependencies: StepIds = Field(
        default=(), validation_alias=AliasChoices("dependencies", "depends_on")
    )
    precondition: Text = ""
    precondition_rule: str | None = None
    """CEL over upstream outputs, checked before the call."""
    expected_output: Text = ""
    validation_rule: str | None = None
    """CEL over `output`, `args` and upstream outputs, checked after the call."""
    fallback: Annotated[Fallback | None, BeforeValidator(_fallback)] = Field(
        default=None, validation_alias=AliasChoices("fallback", "fallback_strategy")
    )
    no_fallback_reason: Text = ""
    """Why a high-risk step has no fallback (F03)."""
    risk: Risk = Field(
        default=Risk.MEDIUM, validation_alias=AliasChoices("risk", "risk_level")
    )
    idempotent: bool | None = None
    """Overrides the tool's policy only towards more caution."""
    expected_ms: float | None = Field(default=None, gt=0)
    timeout_s: float | None = Field(default=None, gt=0)
    required_fields: tuple[str, ...] = ()
    min_expected_size: int | None = Field(default=None, ge=0)
    """Bytes a produced file must at least have."""
    may_be_empty: bool | None = None
    replaces: StepId | None = None
    """The step this one was planned in place of."""
    subtask: SubTask | None = None
    extras: dict[str, Any] = Field(default_factory=dict)
    """Fields this version does not know, kept as they came."""

    @model_validator(mode="before")
    @classmethod
    def _keep(cls, data: Any) -> Any:
        return _keep_unknown(cls, data)

    @property
    def templates(self) -> dict[str, Any]:
        """The argument templates, a sub-task's goal and tools among them."""
        if self.subtask is None:
            return self.inputs
        own = {"goal": self.subtask.goal, "tools": list(self.subtask.tools)}
        return {**self.inputs, **own}


class Plan(Record):
    """A versioned DAG of steps. Ids are stable and never used twice."""

    id: StepId = Field(
        default="plan", validation_alias=AliasChoices("id", "plan_id", "task_id")
    )
    goal: Text = ""
    version: int = Field(
        default=1, ge=1, validation_alias=AliasChoices("version", "plan_version")
    )
    created_at: Text = ""
    steps: tuple[Step, ...] = ()
    rationale_ref: str | None = None
    """Where the reasoning behind this version is stored (F10)."""
    constraint_answers: dict[str, str] = Field(default_factory=dict)
    """How each constraint was met, in the planner's words (F04)."""
    retired: StepIds = ()
    """Ids of replaced and dropped steps; they are never used again."""
    conflicts: tuple[dict[str, Any], ...] = ()
    """Proposals that lost the compare-and-set (F42)."""
    extras: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _keep(cls, data: Any) -> Any:
        return _keep_unknown(cls, data)

    def step(self, step_id: str) -> Step:
        """Return the step with this id.

        Raises:
            KeyError: There is no such step in this version.
        """
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all steps, in plan order."""
        return tuple(step.id for step in self.steps)
