"""What the planner and the mender are told: the facts of a case, without effects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mendgraph.state.lesson import Found, Reflection
from mendgraph.state.outcome import StepRecord
from mendgraph.state.plan import Plan
from mendgraph.tools.registry import Entry

CONTEXT_TOKENS = 8_000


@dataclass(frozen=True, slots=True)
class Brief:
    """Everything one plan is made from; with a `base` it is a global replan."""

    task: str
    """The user's own words; the goal of every version."""
    tools: tuple[Entry, ...] = ()
    constraints: tuple[str, ...] = ()
    answers: tuple[Mapping[str, str], ...] = ()
    """Clarifications: `question` and `answer`."""
    lessons: tuple[Found, ...] = ()
    knowledge: str = ""
    """Statistics of tools and rules of the domain."""
    resources: str = ""
    """Time, calls and concurrency that are left, in words."""
    risky: bool = False
    """Plan with care although no step says so."""
    base: Plan | None = None
    """The version to replace, None for the first plan."""
    records: Mapping[str, StepRecord] = field(default_factory=dict)
    """What became of the base's steps."""
    done: frozenset[str] = frozenset()
    effects: frozenset[str] = frozenset()
    """Steps whose effect stands in the ledger."""
    scope: Literal["keep", "reset"] = "keep"
    """Keep finished results, or only effects (changed requirement)."""
    reason: str = ""
    """Why there must be another plan."""
    reflection: Reflection | None = None
    context_tokens: int = CONTEXT_TOKENS


@dataclass(frozen=True, slots=True)
class MendBrief:
    """Everything a local replan is made from."""

    task: str
    plan: Plan
    failed: frozenset[str]
    cone: frozenset[str]
    tools: tuple[Entry, ...] = ()
    constraints: tuple[str, ...] = ()
    records: Mapping[str, StepRecord] = field(default_factory=dict)
    done: frozenset[str] = frozenset()
    effects: frozenset[str] = frozenset()
    reflection: Reflection | None = None
    reason: str = ""
    context_tokens: int = CONTEXT_TOKENS
