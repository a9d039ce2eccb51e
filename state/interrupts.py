"""The shape of questions to people, and of their answers (F61, F62).

The grammar is that of LangChain's HumanInTheLoopMiddleware: one action request with
its allowed decisions, answered by `{"decisions": [{"type": ...}]}`.
"""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, ValidationError

from mendgraph.state.record import Record


class Kind(StrEnum):
    """Why a person is asked."""

    APPROVAL = "approval"
    CLARIFICATION = "clarification"
    WAITING = "waiting"
    MODEL_UNAVAILABLE = "model_unavailable"


DecisionType = Literal["approve", "edit", "reject", "respond"]

ALLOWED: dict[Kind, tuple[DecisionType, ...]] = {
    Kind.APPROVAL: ("approve", "edit", "reject", "respond"),
    Kind.CLARIFICATION: ("respond", "reject"),
    Kind.WAITING: ("approve", "reject"),
    Kind.MODEL_UNAVAILABLE: ("approve", "reject"),
}
"""What may be answered to each kind; approve means go on."""


class Question(Record):
    """One question, ready to be asked."""

    kind: Kind
    name: str
    """The tool or the matter."""
    args: dict[str, Any] = Field(default_factory=dict)
    """Masked."""
    description: str
    step_id: str | None = None
    plan_version: int | None = None
    args_digest: str | None = None
    expires_at: float | None = None
    term_s: float | None = None
    """Seconds an answer is waited for; after that it is asked anew."""
    options: tuple[str, ...] = ()
    allowed: tuple[DecisionType, ...] = ()
    problem: str | None = None
    """Why the last answer was not taken."""

    def payload(self) -> dict[str, Any]:
        """Return the interrupt value in the middleware's shape."""
        allowed = list(self.allowed or ALLOWED[self.kind])
        text = (
            f"{self.description}\n\n{self.problem}"
            if self.problem
            else self.description
        )
        return {
            "action_requests": [
                {"name": self.name, "args": self.args, "description": text}
            ],
            "review_configs": [
                {"action_name": self.name, "allowed_decisions": allowed}
            ],
            "metadata": {
                "kind": self.kind.value,
                "step_id": self.step_id,
                "plan_version": self.plan_version,
                "args_digest": self.args_digest,
                "expires_at": self.expires_at,
                "options": list(self.options),
            },
        }


class EditedAction(Record):
    """The arguments a person wants instead."""

    name: str | None = None
    args: dict[str, Any]


class Decision(Record):
    """One answer."""

    type: DecisionType
    message: str | None = None
    edited_action: EditedAction | None = None


class AnswerError(ValueError):
    """A resume value of the wrong shape; the question stays open."""


def read_answer(value: Any, question: Question) -> Decision:
    """Read a resume value.

    Raises:
        AnswerError: The value is not one allowed decision; the text says what is.
    """
    allowed = question.allowed or ALLOWED[question.kind]
    shape = (
        '{"decisions": [{"type": ' + " | ".join(f'"{a}"' for a in allowed) + ", ...}]}"
    )
    decisions = value.get("decisions") if isinstance(value, dict) else None
    if not isinstance(decisions, list) or len(decisions) != 1:
        raise AnswerError(f"Answer with exactly one decision: {shape}")
    try:
        decision = Decision.model_validate(_known(decisions[0]))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise AnswerError(f"{where}: {fault['msg']}. Answer with {shape}") from error
    if decision.type not in allowed:
        raise AnswerError(f"{decision.type!r} is not allowed here. Answer with {shape}")
    return _complete(decision)


def _complete(decision: Decision) -> Decision:
    """Return the decision if it says all it needs to; blank words say nothing."""
    if decision.type == "edit" and decision.edited_action is None:
        raise AnswerError('An edit needs "edited_action": {"name": ..., "args": {...}}')
    if decision.type == "respond" and not (decision.message or "").strip():
        raise AnswerError(
            "A respond decision needs a message: "
            '{"decisions": [{"type": "respond", "message": "your answer"}]}'
        )
    return decision


def _known(decision: Any) -> Any:
    """Take the older spelling of an edit and leave out what we do not use."""
    if not isinstance(decision, dict):
        return decision
    edited = decision.get("edited_action") or decision.get("action")
    taken = {key: decision[key] for key in ("type", "message") if key in decision}
    return {**taken, "edited_action": edited} if edited else taken
