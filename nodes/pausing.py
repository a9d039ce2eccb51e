"""Asking the model, and pausing the run resumably while no model answers (F68)."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from mendgraph.nodes.asking import ask
from mendgraph.state.interrupts import Kind, Question
from mendgraph.tools.run import Run
from mendgraph.tools.thinker import Thought, think_about

Value = TypeVar("Value", bound=BaseModel)
PAUSES = 5
"""Pauses one question may cause."""
WITHOUT = "without a model"
"""Among what the board was told: a person said to go on without it."""


async def ask_model(
    run: Run,
    role: str,
    prompt: Mapping[str, str],
    schema: type[Value],
    *,
    label: str,
    step_id: str | None = None,
    **options: Any,
) -> Thought[Value]:
    """Ask; where no model answers at all, let a person say when to go on.

    Once a person said to go on without it, the round does, and nobody is asked again.

    Args:
        run: The node's view of the world.
        role: As for `think_about`.
        prompt: As for `think_about`.
        schema: As for `think_about`.
        label: As for `think_about`.
        step_id: The step it is for, shown with the question.
        options: `max_tokens` and `thinking`.
    """
    thought = await think_about(run, role, prompt, schema, label=label, **options)
    for turn in range(PAUSES):
        if not thought.unavailable or WITHOUT in run.board.said:
            return thought
        question = _question(role, thought.problem or "", step_id)
        decision = await ask(run, f"model:{run.task_id}:{label}:{turn}", question)
        if decision is None:
            return thought
        if decision.type == "reject":
            run.board.said.add(WITHOUT)
            return thought
        thought = await think_about(run, role, prompt, schema, label=label, **options)
    return thought


def _question(role: str, problem: str, step_id: str | None) -> Question:
    return Question(
        kind=Kind.MODEL_UNAVAILABLE,
        name=role,
        description=(
            f"No model answers: {problem}. Nothing done so far is lost. "
            "Resume with approve to try again, or reject to go on without it."
        ),
        step_id=step_id,
    )
