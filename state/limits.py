"""What a task may spend, what it has spent, and one pure check between them (F47)."""

from typing import Any

from pydantic import Field

from mendgraph.state.record import Record


class Limits(Record):
    """Allowances of one task. Every cap ends the task gracefully, with its reason."""

    steps: int = Field(default=200, ge=1)
    """Steps one plan may have."""
    executions: int = Field(default=1_000, ge=0)
    """Tool calls of all steps, retries included."""
    retries: int = Field(default=10, ge=0)
    """Retries of all steps together (F37)."""
    corrections_per_step: int = Field(default=3, ge=0)
    """Reflection-directed fixes of one step lineage (F45)."""
    corrections: int = Field(default=30, ge=0)
    """Reflection-directed fixes of the whole task."""
    replans: int = Field(default=8, ge=0)
    clarifications: int = Field(default=5, ge=0)
    rounds: int = Field(default=200, ge=1)
    """Supersteps in which steps are sent; no loop can run for ever."""
    model_calls: int = Field(default=60, ge=0)
    reasoning_tokens: int = Field(default=15_000, ge=0)
    """Tokens the model may produce for planning, patching and reflecting (F59)."""
    total_tokens: int = Field(default=500_000, ge=0)
    context_tokens: int = Field(default=8_000, ge=1_000)
    """Tokens of one planner prompt (F58)."""
    seconds: float = Field(default=3_600.0, gt=0)
    """Working time of the task, waits for people not counted."""
    inline_wait_s: float = Field(default=30.0, ge=0)
    """A longer wait pauses the run resumably."""
    concurrency: int = Field(default=64, ge=1)
    """Tool calls at once."""
    depth: int = Field(default=3, ge=0)
    """Nesting of sub-tasks (F09)."""


class Spent(Record):
    """What has been spent, as a sum of deltas; addition is associative."""

    executions: int = 0
    retries: int = 0
    tier1: int = 0
    tier2: int = 0
    tier3: int = 0
    corrections: int = 0
    replans: int = 0
    clarifications: int = 0
    rounds: int = 0
    model_calls: int = 0
    correction_model_calls: int = 0
    """Model calls made to mend something; their share is the CAF (F46)."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    """Of the completion tokens, those spent on reasoning content."""
    budgeted_tokens: int = 0
    """Completion tokens that count against `Limits.reasoning_tokens`."""
    seconds: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        """Return the field-wise sum."""
        return self._with(other, 1)

    def minus(self, other: "Spent") -> "Spent":
        """Return the field-wise difference."""
        return self._with(other, -1)

    def _with(self, other: "Spent", sign: int) -> "Spent":
        mine, theirs = self.__dict__, other.__dict__
        return Spent(**{name: mine[name] + sign * theirs[name] for name in mine})

    @property
    def total_tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


class Exhausted(Record):
    """A cap that has been reached: which, how much, of how much."""

    limit: str
    spent: float
    allowed: float

    def __str__(self) -> str:
        """Say it in one clause."""
        return f"{self.limit} exhausted ({self.spent:g} of {self.allowed:g})"


METERS: tuple[tuple[str, str], ...] = (
    ("executions", "executions"),
    ("retries", "retries"),
    ("corrections", "corrections"),
    ("replans", "replans"),
    ("clarifications", "clarifications"),
    ("rounds", "rounds"),
    ("model_calls", "model_calls"),
    ("budgeted_tokens", "reasoning_tokens"),
    ("total_tokens", "total_tokens"),
    ("seconds", "seconds"),
)
"""(attribute of `Spent`, attribute of `Limits`)."""


def check(
    limits: Limits, spent: Spent, *meters: str, elapsed: float = 0.0
) -> Exhausted | None:
    """Return the first cap that leaves no room for one unit more, or None.

    Args:
        limits: The allowances.
        spent: What has been spent so far.
        meters: Names of limits to look at; all of them when none is given.
        elapsed: Seconds of work that are not yet in `spent`.
    """
    for source, name in METERS:
        if meters and name not in meters:
            continue
        more = elapsed if name == "seconds" else 0
        used, allowed = getattr(spent, source) + more, getattr(limits, name)
        if used >= allowed:
            return Exhausted(limit=name, spent=used, allowed=allowed)
    return None


SLICED = (
    "executions",
    "retries",
    "corrections",
    "replans",
    "clarifications",
    "model_calls",
)
"""Meters with the same name in `Limits` and `Spent` that a sub-task gets a slice of."""


def slice_of(limits: Limits, spent: Spent, share: float) -> Spent:
    """Return what a sub-task may spend, to be set aside for it.

    Args:
        limits: The parent's allowances.
        spent: What it has spent, other sub-tasks' slices among it.
        share: 0..1 of what is left of every meter.
    """
    parts = {
        name: max(0, int((getattr(limits, name) - getattr(spent, name)) * share))
        for name in SLICED
    }
    reasoning = max(0, limits.reasoning_tokens - spent.budgeted_tokens)
    tokens = max(0, limits.total_tokens - spent.total_tokens)
    return Spent(
        **parts,
        budgeted_tokens=int(reasoning * share),
        prompt_tokens=int(tokens * share),
    )


def narrowed(limits: Limits, spent: Spent, slice_: Spent, share: float) -> Limits:
    """Return the limits of a sub-task that may spend a slice.

    Rounds and seconds are not sliced: its rounds are bounded by a share, and time
    passes for all alike.
    """
    return limits.but(
        **{name: getattr(slice_, name) for name in SLICED},
        reasoning_tokens=slice_.budgeted_tokens,
        total_tokens=slice_.prompt_tokens,
        rounds=max(1, int((limits.rounds - spent.rounds) * share)),
        seconds=max(0.001, limits.seconds - spent.seconds),
        steps=max(1, int(limits.steps * share)),
        depth=max(0, limits.depth - 1),
    )


def add_spent(
    left: dict[str, Any] | None, right: dict[str, Any] | None
) -> dict[str, Any]:
    """Reduce two plain `Spent` deltas to their sum; `{"fresh": delta}` begins anew."""
    if right and "fresh" in right:
        return Spent.model_validate(right["fresh"]).plain()
    first = Spent.model_validate(left or {})
    return first.plus(Spent.model_validate(right or {})).plain()
