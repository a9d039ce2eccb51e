"""What is known of a failure, and what class it belongs to.

The taxonomy is the four-by-four of the adaptive planning document (section 6.1) and
what practice needs beside it. `FailureFacts` holds what was observed, never a guess;
`Classification` holds what the rules concluded from it, with the reason.
"""

from enum import StrEnum
from typing import Any

from pydantic import Field

from mendgraph.state.record import Record


class Category(StrEnum):
    """Where the blame lies."""

    PLAN = "plan_error"
    EXECUTION = "execution_error"
    ENVIRONMENT = "env_error"
    REQUIREMENT = "requirement_error"
    INTERNAL = "internal_error"
    NONE = "none"


class Subclass(StrEnum):
    """What kind of fault it is."""

    MISSING_STEP = "missing_step"
    ORDER_ERROR = "order_error"
    PRECONDITION_ERROR = "precondition_error"
    TOO_COARSE = "too_coarse"
    PARAM_ERROR = "param_error"
    PARSE_ERROR = "parse_error"
    TOOL_EXCEPTION = "tool_exception"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    NETWORK_ERROR = "network_error"
    SERVICE_UNAVAILABLE = "service_unavailable"
    PERMISSION_DENIED = "permission_denied"
    DATA_CHANGED = "data_changed"
    AMBIGUOUS = "ambiguous"
    MISSING_CONSTRAINT = "missing_constraint"
    DRIFT = "drift"
    CONFLICTING = "conflicting"
    RATE_LIMITED = "rate_limited"
    QUOTA_EXHAUSTED = "quota_exhausted"
    CAPABILITY_MISSING = "capability_missing"
    CANCELLED = "cancelled"
    NOT_AN_ERROR = "not_an_error"
    INTERNAL_ERROR = "internal_error"


DOCUMENT_SUBCLASS: dict[Subclass, Subclass] = {
    Subclass.RATE_LIMITED: Subclass.SERVICE_UNAVAILABLE,
    Subclass.QUOTA_EXHAUSTED: Subclass.PERMISSION_DENIED,
    Subclass.CAPABILITY_MISSING: Subclass.PARAM_ERROR,
}
"""The nearest of the document's sixteen subclasses for those practice added."""


class Reaction(StrEnum):
    """The first thing to do about it."""

    RETRY_AFTER = "retry_after"
    BACKOFF = "backoff"
    RECONNECT_RETRY = "reconnect_retry"
    ADJUST_PARAMS = "adjust_params"
    PROBE_FIRST = "probe_first"
    FALLBACK = "fallback"
    REPLAN = "replan"
    ASK_USER = "ask_user"
    NO_RETRY = "no_retry"
    TREAT_AS_SUCCESS = "treat_as_success"


class Layer(StrEnum):
    """Who raised it."""

    TOOL = "tool"
    TRANSPORT = "transport"
    MODEL = "model"
    PARSER = "parser"
    MONITOR = "monitor"
    PLAN = "plan"
    FRAMEWORK = "framework"
    OWN = "own"


class FailureFacts(Record):
    """What was observed when something failed; every field is optional but the text."""

    message: str = ""
    layer: Layer = Layer.TOOL
    exceptions: tuple[str, ...] = ()
    """Dotted type names, outermost first, each followed by its causes."""
    bases: tuple[str, ...] = ()
    """Bare names of the base classes of the outermost exception."""
    http_status: int | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    """Response headers, names in lower case."""
    content_type: str | None = None
    body_head: str | None = None
    """The first 500 characters of the response body."""
    error_type: str | None = None
    """`error.type` of a JSON error body."""
    error_code: str | None = None
    """`error.code` of a JSON error body, or a vendor's code (boto3, gRPC, MCP)."""
    family: str | None = None
    """Protocol that `error_code` belongs to: grpc, boto3, mcp, mysql, redis, …"""
    finish_reason: str | None = None
    """Why a model stopped: stop, length, content_filter, …"""
    sqlstate: str | None = None
    errno: int | None = None
    exit_code: int | None = None
    command: str | None = None
    tool: str | None = None
    tool_class: str | None = None
    service: str | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Masked arguments of the call."""
    arguments_digest: str | None = None
    attempts: int = 0
    """Calls of this step made before this one."""
    same_before: int = 0
    """How often this step failed before with the same signature."""
    others_healthy: bool | None = None
    """True when other calls to the same service succeeded meanwhile."""
    timeout_s: float | None = None
    elapsed_ms: float | None = None
    cancelled_by_us: bool = False
    idempotency_key: str | None = None
    earlier_message: str | None = None
    """The first error of the same session or transaction, when there was one."""
    problems: tuple[str, ...] = ()
    """What our own checks found (schema paths, empty fields), in words."""


class Classification(Record):
    """What the rules make of the facts."""

    category: Category
    subclass: Subclass
    transient: bool
    reaction: Reaction
    wait_s: float | None = None
    """How long to wait before the next try in seconds, when the facts say so."""
    confidence: float = Field(ge=0, le=1)
    """0..1; below 0.6 the model may be asked."""
    reason: str
    rule: str
    """Name of the rule that decided, for the report."""
    secondary: bool = False
    """True when this is a follow-up of `earlier_message`."""

    @property
    def document_subclass(self) -> Subclass:
        """The subclass in the document's own sixteen words."""
        return DOCUMENT_SUBCLASS.get(self.subclass, self.subclass)


class Failure(Record):
    """One failed attempt: facts and their class."""

    facts: FailureFacts
    classification: Classification

    @property
    def signature(self) -> str:
        """`category:subclass:tool`, the key of lessons, strategies and rules."""
        return signature(self.classification, self.facts.tool)


def signature(classification: Classification, tool: str | None) -> str:
    """Return `category:subclass:tool` (F27)."""
    parts = (classification.category, classification.subclass, tool or "-")
    return ":".join(parts)
