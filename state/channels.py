"""The channels of both loops: plain JSON values and their reducers.

Nodes read them through the typed records; own classes never enter a checkpoint.
"""

from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from mendgraph.state.algebra import reduce_plan
from mendgraph.state.limits import add_spent
from mendgraph.state.outcome import reduce_steps, reduce_trail

SCHEMA_VERSION = 1
"""Raised when a stored thread can no longer be read by newer code."""


class MendInput(TypedDict, total=False):
    """What a caller gives: a task in words or as messages, and optionally a plan."""

    task: str
    messages: Annotated[list[AnyMessage], add_messages]
    plan: dict[str, Any]
    constraints: list[str]


class MendOutput(TypedDict, total=False):
    """What a caller gets."""

    status: str
    answer: str
    report: dict[str, Any]
    messages: Annotated[list[AnyMessage], add_messages]


class MendState(TypedDict, total=False):
    """The plan loop's channels."""

    schema_version: int
    task_id: str
    task: str
    accepted: str
    """The task as `think` took it; another text begins a new task."""
    messages: Annotated[list[AnyMessage], add_messages]
    constraints: list[str]
    plan: Annotated[dict[str, Any], reduce_plan]
    steps: Annotated[dict[str, Any], reduce_steps]
    spent: Annotated[dict[str, Any], add_spent]
    corrections: Annotated[list[dict[str, Any]], reduce_trail]
    reflections: Annotated[list[dict[str, Any]], reduce_trail]
    notes: Annotated[list[dict[str, Any]], reduce_trail]
    """What was dropped, noted, said once: budget ladder, memory trouble, signals."""
    answers: Annotated[list[dict[str, Any]], reduce_trail]
    """Clarifications: question and answer."""
    pending: dict[str, Any] | None
    """The question `clarify` must ask, or the escalation `replan` must mend."""
    started_at: float
    round: str
    """Token of the current superstep; names its board."""
    round_at: float
    status: str
    answer: str
    report: dict[str, Any]


class StepState(TypedDict, total=False):
    """What the nodes of the step loop read; its size does not depend on the plan's."""

    task_id: str
    task: str
    step: dict[str, Any]
    lineage: str
    plan_version: int
    round: str
    base: dict[str, Any]
    """What the task had spent when the round began."""
    upstream: dict[str, str]
    """Step id → reference of the output, for results of earlier rounds."""
    corrections_before: int
    looked: list[dict[str, Any]]
    """What earlier looks at this lineage blamed and directed, the newest few."""
    tried: list[dict[str, Any]]
    """Failed attempts of the steps this one was planned in place of, the newest few."""
    lineages: list[str]
    """Lineages of the current plan, from its second version on."""
    awaits: list[str]
    """Dependencies that run in the same superstep."""
    approval: dict[str, Any] | None
    call: dict[str, Any]
    """The call to make: tool, changed arguments, tier, timeout factor, wait."""
    observation: dict[str, Any]
    """What the last call gave."""
    decision: dict[str, Any]
    """The monitor's or the reflector's correction."""
    attempts: Annotated[list[dict[str, Any]], reduce_trail]
    failures: Annotated[list[dict[str, Any]], reduce_trail]
    steps: Annotated[dict[str, Any], reduce_steps]
    spent: Annotated[dict[str, Any], add_spent]
    corrections: Annotated[list[dict[str, Any]], reduce_trail]
    reflections: Annotated[list[dict[str, Any]], reduce_trail]
    notes: Annotated[list[dict[str, Any]], reduce_trail]


class StepChannels(TypedDict, total=False):
    """The step loop's channels.

    What a branch begins with never changes, so it is one channel: every channel is
    written and stored apart, and a dozen of them took a third of a step's time.
    """

    brief: dict[str, Any]
    approval: dict[str, Any] | None
    call: dict[str, Any]
    observation: dict[str, Any]
    decision: dict[str, Any]
    attempts: Annotated[list[dict[str, Any]], reduce_trail]
    failures: Annotated[list[dict[str, Any]], reduce_trail]
    steps: Annotated[dict[str, Any], reduce_steps]
    spent: Annotated[dict[str, Any], add_spent]
    corrections: Annotated[list[dict[str, Any]], reduce_trail]
    reflections: Annotated[list[dict[str, Any]], reduce_trail]
    notes: Annotated[list[dict[str, Any]], reduce_trail]


class StepOutput(TypedDict):
    """What the step loop adds to the plan loop's channels."""

    steps: NotRequired[Annotated[dict[str, Any], reduce_steps]]
    spent: NotRequired[Annotated[dict[str, Any], add_spent]]
    corrections: NotRequired[Annotated[list[dict[str, Any]], reduce_trail]]
    reflections: NotRequired[Annotated[list[dict[str, Any]], reduce_trail]]
    notes: NotRequired[Annotated[list[dict[str, Any]], reduce_trail]]


EMPTY: dict[str, Any] = {
    "schema_version": SCHEMA_VERSION,
    "steps": None,
    "spent": {"fresh": {}},
    "corrections": None,
    "reflections": None,
    "notes": None,
    "answers": None,
    "pending": None,
    "status": "running",
    "answer": "",
    "report": {},
}
"""The update that begins a new task on a thread."""
