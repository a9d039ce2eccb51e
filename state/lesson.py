"""What is learned: reflections, lessons, strategies, distilled rules (F27, F52, F54).

A model's hypothesis stays a hypothesis until a probe or a rerun confirmed it.
"""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from mendgraph.state.record import Record

Source = Literal["rules", "model", "person", "rehearsal"]
"""Who a reflection is by."""


class NextAction(StrEnum):
    """The closed set of fixes a reflection may direct."""

    PATCH = "patch"
    FALLBACK = "fallback"
    RETRY = "retry"
    LOCAL_REPLAN = "local_replan"
    GLOBAL_REPLAN = "global_replan"
    CLARIFY = "clarify"
    GATHER_EVIDENCE = "gather_evidence"
    GIVE_UP = "give_up"


class Reflection(Record):
    """One structured look at a failure (F27)."""

    id: str
    step_id: str
    tool: str | None = None
    tool_class: str | None = None
    decision: NextAction
    observed_issue: str
    confirmed_cause: str | None = None
    """None until a probe or a rerun confirmed it."""
    hypotheses: tuple[str, ...] = ()
    cause_step: str | None = None
    """The step whose output is to blame, when it is not `step_id` (F26)."""
    evidence_refs: tuple[str, ...] = ()
    next_action: str = ""
    lesson: str = ""
    suggested_strategy: str = ""
    patch: dict[str, Any] | None = None
    """Arguments to change, when the decision is `patch`."""
    category: str
    subclass: str
    signature: str
    confidence: float | None = Field(default=None, ge=0, le=1)
    """Calibrated; None while unknown."""
    stated: float | None = Field(default=None, ge=0, le=1)
    """As the model said it; outcomes decide what that is worth."""
    band: str = ""
    """What the confidence allowed: act, verify, explore or unknown."""
    resolved: bool | None = None
    """Whether the directed fix worked; None while open."""
    light: bool = False
    """A tier-2 snapshot, not stored for the long term (F38)."""
    source: Source = "rules"
    created_at: str = ""


class Lesson(Record):
    """A reflection as long-term memory holds it."""

    id: str
    text: str
    """What to do or avoid, one or two sentences."""
    issue: str = ""
    """The symptom it was learned from."""
    strategy: str = ""
    signature: str
    tool: str | None = None
    tool_class: str | None = None
    domain: str | None = None
    category: str
    subclass: str
    task: str = ""
    """The task it was learned in, shortened and masked."""
    created_at: float
    """Seconds since the epoch."""
    last_hit_at: float | None = None
    hits: int = 0
    injected: int = 0
    """How often it was shown to the planner."""
    helped: int = 0
    hurt: int = 0
    provenance: tuple[str, ...] = ()
    """Ids of lessons merged into this one."""
    rehearsed: bool = False
    confidence: float | None = None


class Found(Record):
    """A lesson found by retrieval, with the reasons (F49)."""

    lesson: Lesson
    score: float
    ranks: dict[str, int] = Field(default_factory=dict)
    """Rank (1 = best) in each leg that found it: vector, keyword, signature."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Multipliers applied: age, usefulness."""
    why: str = ""


class StrategyState(StrEnum):
    """Where a strategy is in its life (F52)."""

    CANDIDATE = "candidate"
    ACTIVE = "active"
    TUNING = "tuning"
    RETIRED = "retired"


class Application(Record):
    """One use of a strategy or rule and what came of it (the document's feedback)."""

    task_id: str
    step_id: str
    outcome: Literal["success", "partial", "failure"]
    at: float
    """Seconds since the epoch."""
    resolve_s: float | None = None
    retries: int = 0
    similarity: float | None = None
    """0..1, likeness of this context to earlier ones."""
    satisfaction: float | None = None
    rehearsed: bool = False
    args_before: dict[str, Any] | None = None
    """Masked arguments of the call that failed, when the fix changed arguments."""
    args_after: dict[str, Any] | None = None
    """Masked arguments of the call that worked or failed after the fix."""
    error: str | None = None
    """Masked message of the failure."""


class Strategy(Record):
    """A fix for one signature, in words and, where it can be, as a patch (F52)."""

    id: str
    signature: str
    content: str
    action: NextAction = NextAction.PATCH
    patch: dict[str, str] = Field(default_factory=dict)
    """Argument name → CEL over `args`, `error`, `output` giving the new value."""
    condition: str | None = None
    """CEL that must hold for the strategy to apply."""
    state: StrategyState = StrategyState.CANDIDATE
    version: int = 1
    replaces: str | None = None
    applications: tuple[Application, ...] = ()
    """The newest 50."""
    total: int = 0
    successes: int = 0
    created_at: float = 0.0
    source: Literal["model", "rules", "seed", "rehearsal"] = "model"


class RuleStage(StrEnum):
    """The rungs of the distillation ladder above a strategy (F54)."""

    TEMPLATE = "template"
    BUILT_IN = "built_in"
    RETIRED = "retired"


class MendRule(Record):
    """A distilled rule: when it holds, mend the arguments without a model (F23).

    `condition` and each value of `patch` are CEL over `tool`, `args`, `error` (a map
    of the failure facts) and `output`.
    """

    id: str
    signature: str
    """`category:subclass:tool`; the tool part may be a tool class or `*`."""
    condition: str = "true"
    patch: dict[str, str] = Field(default_factory=dict)
    action: NextAction = NextAction.PATCH
    stage: RuleStage = RuleStage.TEMPLATE
    hits: int = 0
    successes: int = 0
    misjudgements: int = 0
    confidence: float = 0.0
    source: Literal["distilled", "seed", "user"] = "distilled"
    strategy_id: str | None = None
    description: str = ""
    created_at: float = 0.0
