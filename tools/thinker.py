"""Asking the model: the budget before, the bill after, the reasoning kept apart.

A model's faults are data: a `Thought` has a value or the reason why there is none.
"""

from collections.abc import Mapping
from typing import Any, Generic, Self, TypeVar

from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel

from mendgraph.state.events import EventKind
from mendgraph.state.limits import Spent
from mendgraph.state.masking import mask
from mendgraph.tools.models.errors import ModelError
from mendgraph.tools.models.usage import Usage
from mendgraph.tools.run import Run

Value = TypeVar("Value", bound=BaseModel)

CALLS_A_QUESTION = 8
"""Requests one question may cost, re-asks and fallback models included."""
CORRECTING = frozenset({"patch", "reflect", "replan"})
"""Roles whose calls count towards the correction amplification factor (F46)."""


class Thought(Generic[Value]):
    """What the model gave for one role."""

    def __init__(
        self,
        value: Value | None = None,
        problem: str | None = None,
        *,
        unavailable: bool = False,
        in_vain: bool = False,
        reasoning_ref: str | None = None,
        spent: Spent | None = None,
    ) -> None:
        self.value = value
        self.problem = problem
        self.unavailable = unavailable
        """No model answers at the moment; the run may pause and go on later."""
        self.in_vain = in_vain
        """The model was asked and gave nothing of use, whatever the reason."""
        self.reasoning_ref = reasoning_ref
        self.spent = spent or Spent()


async def think_about(
    run: Run,
    role: str,
    prompt: Mapping[str, str],
    schema: type[Value],
    *,
    label: str,
    max_tokens: int | None = None,
    thinking: bool | None = None,
) -> Thought[Value]:
    """Ask the model once, within the budgets, and count what it cost.

    Args:
        run: The node's view of the world.
        role: `plan`, `patch`, `reflect`, `replan`, `critique`, …
        prompt: `system` and `user` text.
        schema: What the answer must be.
        label: Names the reasoning chain, such as `v2:reflect:s4`.
        max_tokens: Cap of the answer, reasoning included.
        thinking: Whether the model should reason; None leaves it to the adapter.
    """
    if run.deps.reasoner is None:
        return Thought(problem="no model was given")
    exhausted = run.reserve(
        "model_calls", "reasoning_tokens", "total_tokens", "seconds"
    )
    if exhausted:
        return Thought(problem=str(exhausted))
    started = run.now()
    messages = [("system", prompt["system"]), ("user", prompt["user"])]
    try:
        with Held(run) as held:
            answer = await run.deps.reasoner.ask(
                role,
                messages,
                schema,
                max_tokens=max_tokens,
                thinking=thinking,
                max_calls=CALLS_A_QUESTION,
                more=held.one_more,
            )
    except GraphBubbleUp:
        raise
    except ModelError as error:
        spent = _bill(run, role, error.usage)
        return Thought(
            problem=mask(_told(error)),
            unavailable=error.models_side,
            in_vain=True,
            spent=spent,
        )
    spent = _bill(run, role, answer.usage)
    reference = await _keep(run, label, role, answer, started)
    run.emit(
        EventKind.MODEL_CALLED,
        f"{role}: {answer.usage.completion_tokens} tokens",
        role=role,
        model=answer.model,
        seconds=round(run.now() - started, 3),
    )
    return Thought(answer.value, reasoning_ref=reference, spent=spent)


def _told(error: ModelError) -> str:
    """Return the error and what each model said, where it does not tell itself."""
    said = "; ".join(each for each in error.reasons if error.message not in each)
    return f"{error} ({said[:400]})" if said else str(error)


class Held:
    """Calls of one question taken from the board before they are made.

    Questions asked at once cannot pass the cap together that way.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._calls = 0

    def __enter__(self) -> Self:
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        """End holding; what was used is billed apart."""
        self._run.board.charge(Spent(model_calls=-self._calls))

    def one_more(self) -> bool:
        """Take one call more; False when none is left."""
        if self._run.reserve("model_calls"):
            return False
        self._take()
        return True

    def _take(self) -> None:
        self._calls += 1
        self._run.board.charge(Spent(model_calls=1))


def _bill(run: Run, role: str, usage: Usage) -> Spent:
    correcting = usage.model_calls if role in CORRECTING else 0
    spent = usage.spent().plus(Spent(correction_model_calls=correcting))
    run.charge(spent)
    return spent


async def _keep(
    run: Run, label: str, role: str, answer: Any, started: float
) -> str | None:
    key = f"{label}:{run.deps.new_id()}"
    kept = {
        "role": role,
        "label": label,
        "model": answer.model,
        "reasoning": mask(answer.reasoning) if answer.reasoning else None,
        "started_at": started,
        "ended_at": run.now(),
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
    }
    await run.vault.put_reasoning(key, kept)
    return key
