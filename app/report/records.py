"""What a report shows, as frozen records; times are seconds since the run began."""

from typing import Literal

from mendgraph.state.effect import LedgerEntry
from mendgraph.state.lesson import Reflection
from mendgraph.state.outcome import StepStatus, TaskStatus, Tier
from mendgraph.state.plan import Risk
from mendgraph.state.record import Record


class Node(Record):
    """One step of any version of the plan."""

    id: str
    title: str = ""
    tool: str | None = None
    status: StepStatus = StepStatus.PENDING
    risk: Risk = Risk.MEDIUM
    dependencies: tuple[str, ...] = ()
    since: int | None = None
    """First plan version that has it; None where earlier versions are not known."""
    until: int | None = None
    """Last plan version that has it; None while it is in the current plan."""
    replaces: str | None = None
    replaced_by: tuple[str, ...] = ()
    attempts: int = 0
    failures: int = 0
    corrections: int = 0
    seconds: float | None = None
    """From the first wait or call to the last answer."""
    result: str = ""
    """Digest of the output."""
    notes: tuple[str, ...] = ()
    why: str = ""
    """What mended it, or why it is not done."""
    mended: bool = False
    """Done after at least one failed attempt."""
    reused: bool = False

    @property
    def retired(self) -> bool:
        """Whether the current plan no longer has it."""
        return self.until is not None


class Bar(Record):
    """One attempt on the timeline."""

    step_id: str
    number: int
    tier: Tier
    tool: str
    status: Literal["ok", "failed", "pending", "refused"]
    start: float
    end: float
    waited_s: float = 0.0
    error: str | None = None
    verdict: str | None = None
    rule: str | None = None
    changed: tuple[str, ...] = ()
    why: str = ""
    mends: bool = False
    """The first attempt that worked after one that did not."""

    @property
    def asked_for(self) -> float:
        """When its wait began."""
        return max(0.0, self.start - self.waited_s)


class Thought(Record):
    """One model call on the timeline."""

    key: str
    role: str
    label: str = ""
    model: str = ""
    start: float
    end: float
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Mend(Record):
    """One line of the corrections trail with the reflection behind it."""

    at: float
    step_id: str | None
    plan_version: int
    trigger: str
    """Empty where the trail has no entry for it."""
    cause: str
    action: str
    tier: str
    reason: str
    worked: bool | None = None
    model_calls: int = 0
    prompt_tokens: int = 0
    reflection: Reflection | None = None


class Meter(Record):
    """One budget: spent of allowed."""

    label: str
    spent: float
    allowed: float
    unit: str = ""

    @property
    def share(self) -> float:
        """How much of it is gone, 0..1."""
        return min(1.0, self.spent / self.allowed) if self.allowed else 1.0

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left; an allowance of nothing counts once it is missed."""
        return self.spent >= self.allowed and self.spent > 0


class Figure(Record):
    """One line of the review: a figure and what it is made of."""

    label: str
    value: str
    note: str = ""


class StrategyRow(Record):
    """One strategy on the board (F55)."""

    id: str
    signature: str
    content: str
    action: str
    state: str
    version: int = 1
    uses: int = 0
    success_rate: float | None = None
    """0..1; None before the first use."""
    resolve_s: float | None = None
    """Mean seconds to resolve, where measured."""
    condition: str | None = None
    source: str = ""
    rehearsed: int = 0
    """How many of the recorded uses were rehearsals."""


class Said(Record):
    """A note, or a question to a person with the answer."""

    kind: str = "note"
    text: str = ""
    answer: str | None = None
    step_id: str | None = None
    at: float | None = None


class Item(Record):
    """One step in the list of what is done or not, with the reason."""

    step_id: str
    title: str = ""
    status: StepStatus = StepStatus.PENDING
    why: str = ""


class Verdict(Record):
    """What a reader must know first."""

    headline: str
    done: tuple[Item, ...] = ()
    unfinished: tuple[Item, ...] = ()
    warnings: tuple[str, ...] = ()


class RunView(Record):
    """Everything one report shows."""

    task: str
    status: TaskStatus
    answer: str = ""
    goal: str = ""
    plan_id: str = ""
    version: int = 0
    """0 when there never was a plan."""
    started_at: float | None = None
    """Seconds since the epoch of the moment all other times count from."""
    span_s: float = 0.0
    """From the first happening to the last."""
    verdict: Verdict
    nodes: tuple[Node, ...] = ()
    bars: tuple[Bar, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    corrections: tuple[Mend, ...] = ()
    reflections: tuple[Reflection, ...] = ()
    meters: tuple[Meter, ...] = ()
    dropped: tuple[Said, ...] = ()
    """What was left out to keep within a budget."""
    figures: tuple[Figure, ...] = ()
    caf: float | None = None
    """Extra model calls a correction; None before the first correction."""
    strategies: tuple[StrategyRow, ...] = ()
    effects: tuple[LedgerEntry, ...] = ()
    answers: tuple[Said, ...] = ()
    notes: tuple[Said, ...] = ()
    conflicts: tuple[str, ...] = ()
    """Plan proposals that lost the compare-and-set."""
