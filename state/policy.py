"""What a tool may do, how it is called safely, and who must be asked (F14, F39, F70).

A policy is the user's word about a tool. The model can read it and never change it.
"""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from mendgraph.state.record import Record


class Effect(StrEnum):
    """What a call leaves behind."""

    READ = "read"
    WRITE = "write"
    IRREVERSIBLE = "irreversible"


class ToolKind(StrEnum):
    """How predictable the output is; sets the deviation threshold (F21)."""

    QUERY = "query"
    GENERATIVE = "generative"
    ACTION = "action"


class ConfirmCall(Record):
    """A read-only call that tells whether an effect happened, or how far it is.

    `arguments` may use `{{ args.name }}` and `{{ output.name }}` of the effect's call.
    `done_when`, `failed_when` and `absent_when` are CEL over `output` (the confirm
    call's output) and `args`.
    """

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    done_when: str | None = None
    failed_when: str | None = None
    absent_when: str | None = None


class Compensation(Record):
    """A call that undoes a done effect; it must itself be idempotent."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class AuthRule(Record):
    """Allow, ask or deny a call by tool name pattern and a CEL condition on `args`."""

    tool: str = "*"
    """A tool name or a shell-style pattern."""
    when: str | None = None
    """CEL over `args`, `tool` and `effect`; absent means always."""
    decision: Literal["allow", "ask", "deny"]
    reason: str = ""
    allowed: tuple[str, ...] = ()
    """Decisions a person may take when asked; all four when empty."""


class ToolPolicy(Record):
    """The safety facts of one tool. Unknown tools count as non-idempotent writes."""

    effect: Effect = Effect.WRITE
    idempotent: bool = False
    """Repeating the same call changes nothing more."""
    idempotency_arg: str | None = None
    """Argument that carries the idempotency key; filled by the executor."""
    confirm_with: ConfirmCall | None = None
    compensate_with: Compensation | None = None
    service: str | None = None
    """Calls with one service share a retry timer, a health record, a limit."""
    concurrency: int | None = Field(default=None, ge=1)
    """Calls to the service at once."""
    timeout_s: float = Field(default=60.0, gt=0)
    expected_ms: float | None = Field(default=None, gt=0)
    output_schema: dict[str, Any] | None = None
    """JSON Schema the output must satisfy."""
    required_fields: tuple[str, ...] = ()
    """Fields that must be there and, in rows, be non-null in 90 % of them."""
    may_be_empty: bool = False
    """An empty result is a legitimate answer."""
    final_when: str | None = None
    """CEL over `output`: the business status is final and good."""
    pending_when: str | None = None
    """CEL over `output`: accepted, still processing."""
    failed_when: str | None = None
    """CEL over `output`: the business status is final and bad."""
    poll_every_s: float = Field(default=2.0, gt=0)
    poll_deadline_s: float = Field(default=30.0, gt=0)
    approval_expires_s: float | None = Field(default=None, gt=0)
    kind: ToolKind = ToolKind.QUERY
    tool_class: str | None = None
    """The class lessons generalise to, such as `sql_query` for `postgres_query`."""
    fallback: str | None = None
    """Another tool that takes the same arguments."""
    secret_args: tuple[str, ...] = ()
    """Arguments masked in everything stored or shown."""
    simulatable: bool = False
    """Candidate search may call it."""
    annotated: bool = True
    """False when this is a default nobody confirmed (see `mendgraph doctor`)."""

    @property
    def safe_to_repeat(self) -> bool:
        """A blind second call cannot do harm."""
        return self.effect is Effect.READ or self.idempotent

    @property
    def has_effect(self) -> bool:
        """The call belongs in the ledger."""
        return self.effect is not Effect.READ


UNKNOWN_TOOL = ToolPolicy(annotated=False)
ASSUMED_READ = ToolPolicy(effect=Effect.READ, idempotent=True, annotated=False)
