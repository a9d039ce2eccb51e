"""What each role of the model must answer: lenient in form, closed in meaning.

Shapes (fences, wrong scalars, null lists) are the parser's business. Here a field is
only made to mean one thing; what the model says stays a proposal.
"""

from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from mendgraph.nodes.schema_examples import EXAMPLES
from mendgraph.state.failure import Category, Subclass
from mendgraph.state.lesson import NextAction


def _closed(kind: Any) -> Any:
    """Make a validator: the member a word means, or None where it means none."""
    members = {str(member): member for member in kind}

    def validate(value: Any) -> Any:
        word = str(value or "").strip().lower().replace(" ", "_").replace("-", "_")
        return members.get(word) or members.get(f"{word}_error")

    return BeforeValidator(validate)


def _action(value: Any) -> Any:
    return value.strip().lower().replace(" ", "_") if isinstance(value, str) else value


def _probability(value: Any) -> Any:
    """Keep a probability; anything else is an unknown confidence, never a guess."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number <= 1 else None


def _answers(value: Any) -> Any:
    """Bring answers to a mapping: lists of {constraint, answer} and plain lists too."""
    if isinstance(value, dict):
        return {str(key): _words(answer) for key, answer in value.items()}
    if not isinstance(value, list):
        return {} if value is None else value
    pairs: dict[str, str] = {}
    for number, item in enumerate(value, start=1):
        fields = item if isinstance(item, dict) else {"answer": item}
        key = fields.get("constraint") or fields.get("id") or f"c{number}"
        pairs[str(key)] = _words(fields.get("answer"))
    return pairs


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {item}" for key, item in value.items())
    return "" if value is None else str(value).strip()


def _question(value: Any) -> Any:
    if isinstance(value, str):
        return {"question": value} if value.strip() else None
    asked = isinstance(value, dict) and str(value.get("question") or "").strip()
    return value if asked else None


def _texts(value: Any) -> Any:
    if value is None:
        return []
    if isinstance(value, str | int):
        return [str(value)] if str(value).strip() else []
    if not isinstance(value, list):
        return value
    return [_words(item) for item in value if item is not None]


def _listing(value: Any) -> Any:
    if isinstance(value, dict):
        return [value]
    return [] if value is None else value


def _mapping(value: Any) -> Any:
    return {} if value is None else value


def _text(value: Any) -> Any:
    return "" if value is None else _words(value)


Texts = Annotated[list[str], BeforeValidator(_texts)]
Steps = Annotated[list[dict[str, Any]], BeforeValidator(_listing)]
Arguments = Annotated[dict[str, Any], BeforeValidator(_mapping)]
Text = Annotated[str, BeforeValidator(_text)]
Confidence = Annotated[float | None, BeforeValidator(_probability)]
Share = Annotated[float, Field(ge=0, le=1)]


class Answer(BaseModel):
    """The base of every answer: unknown fields are ignored, an example is at hand."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra=lambda schema: schema.update(
            {"example": EXAMPLES[schema["title"]]}
            if schema["title"] in EXAMPLES
            else {}
        ),
    )

    @classmethod
    def example(cls) -> Self:
        """Return the instance that prompts show."""
        return cls.model_validate(EXAMPLES[cls.__name__])


class Clarification(Answer):
    """What only a person can know."""

    question: Text = ""
    options: Texts = Field(default_factory=list)


class PlanDraft(Answer):
    """A whole plan, or the question that must be answered first."""

    goal: Text = ""
    rationale: Text = ""
    steps: Steps = Field(default_factory=list)
    constraint_answers: Annotated[dict[str, str], BeforeValidator(_answers)] = Field(
        default_factory=dict
    )
    needs_clarification: Annotated[Clarification | None, BeforeValidator(_question)] = (
        None
    )
    keep: Texts = Field(default_factory=list)
    """Finished steps of the old plan whose results the new one uses."""


class Patch(Answer):
    """Other arguments for the same step."""

    arguments: Arguments = Field(default_factory=dict)
    tool: str | None = None
    why: Text = ""
    lesson: Text = ""
    """What a planner should know, so that this does not happen again."""
    confidence: Confidence = None


class Probe(Answer):
    """The cheapest look that would confirm a hypothesis."""

    expression: str | None = None
    """CEL over the outputs of the step and its upstream."""
    tool: str | None = None
    """A read-only tool."""
    arguments: Arguments = Field(default_factory=dict)
    confirms: int = 0
    """Index of the hypothesis it confirms."""


class Counterfactual(Answer):
    """Had this argument of that step been so, the failure would not have come."""

    step: Text = ""
    argument: Text = ""
    value: Any = None


class ReflectionDraft(Answer):
    """A look at a failure: hypotheses stay apart from evidence."""

    category: Annotated[Category | None, _closed(Category)] = None
    subclass: Annotated[Subclass | None, _closed(Subclass)] = None
    observed_issue: Text = ""
    hypotheses: Texts = Field(default_factory=list)
    cause_step: str | None = None
    decision: Annotated[NextAction, BeforeValidator(_action)]
    patch: dict[str, Any] | None = None
    probes: Annotated[list[Probe], BeforeValidator(_listing)] = Field(
        default_factory=list
    )
    lesson: Text = ""
    suggested_strategy: Text = ""
    counterfactual: Counterfactual | None = None
    confidence: Confidence = None


class ReplanDraft(Answer):
    """A patch of a plan, on stable ids."""

    keep: Texts = Field(default_factory=list)
    drop: Texts = Field(default_factory=list)
    replace: Steps = Field(default_factory=list)
    """New steps, each with its own new `id` and the id it `replaces`."""
    add: Steps = Field(default_factory=list)
    impossible: str | None = None
    why: Text = ""
    constraint_answers: Annotated[dict[str, str], BeforeValidator(_answers)] = Field(
        default_factory=dict
    )


class Critique(Answer):
    """A score and what keeps it from being higher."""

    score: Share
    issues: Texts = Field(default_factory=list)


class Score(Answer):
    """One candidate on four dimensions, 0..1 each."""

    index: int
    feasibility: Share
    robustness: Share
    efficiency: Share = 0.5
    fit: Share


class Scores(Answer):
    """All candidates, scored side by side."""

    candidates: list[Score]


class SignalVerdict(Answer):
    """What a message that came in during the run means for the task."""

    kind: Annotated[str, Field(pattern="^(addition|changed_goal|unclear)$")]
    constraint: Text = ""
    question: Text = ""
