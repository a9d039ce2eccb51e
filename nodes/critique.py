"""Generate, critique, revise: at most three rounds, and never worse than before (F06).

After Self-Refine (Madaan et al. 2023). It stops at 0.85 or as soon as a revision does
not score higher; the best version wins, whatever came last.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from mendgraph.nodes.prompts import GOOD, critique_prompt
from mendgraph.nodes.schemas import Critique
from mendgraph.tools.run import Run
from mendgraph.tools.thinker import think_about

Content = TypeVar("Content")
Subject = Literal["plan", "result", "reflection"]
ROUNDS = 3

CRITERIA: dict[Subject, tuple[str, ...]] = {
    "plan": (
        "complete: when every step succeeds, the task is done",
        "reasonable: no needless step, true dependencies, right tools and inputs",
        "safe: risky steps are checked and have a fallback; no effect not asked for",
    ),
    "result": (
        "the output is what the step was expected to give",
        "it is complete and plausible, and nothing contradicts the task",
    ),
    "reflection": (
        "the hypotheses explain everything that was seen",
        "the blamed step is right, and evidence is kept apart from guesses",
        "the directed fix can work and has not been tried before",
    ),
}


@dataclass(frozen=True, slots=True)
class Refined(Generic[Content]):
    """The best version, its score and how it came about."""

    content: Content
    score: float | None
    """0..1; None when nobody judged it."""
    rounds: int
    """Critiques made."""
    scores: tuple[float, ...] = ()
    issues: tuple[str, ...] = ()
    """What the critique still finds in the best version."""


async def refine(
    content: Content,
    judge: Callable[[Content], Awaitable[Critique | None]],
    revise: Callable[[Content, Critique], Awaitable[Content | None]],
    *,
    rounds: int = ROUNDS,
    good: float = GOOD,
) -> Refined[Content]:
    """Judge and revise until it is good, stops improving or the rounds are over.

    Args:
        content: The first version.
        judge: Gives a critique, or None when none can be had.
        revise: Gives another version, or None when there is none.
        rounds: Critiques at most.
        good: Score at which it is good enough.
    """
    best = Refined(content, None, 0)
    candidate = content
    scores: list[float] = []
    for number in range(1, rounds + 1):
        verdict = await judge(candidate)
        if verdict is None:
            break
        scores.append(verdict.score)
        if best.score is not None and verdict.score <= best.score:
            break
        issues = tuple(verdict.issues)
        best = Refined(candidate, verdict.score, number, tuple(scores), issues)
        if verdict.score >= good or number == rounds:
            break
        revised = await revise(candidate, verdict)
        if revised is None or revised == candidate:
            break
        candidate = revised
    return Refined(best.content, best.score, len(scores), tuple(scores), best.issues)


async def critique(
    run: Run, subject: Subject, content: str, *, task: str, label: str
) -> Critique | None:
    """Ask the model for a score of its own plan, result or reflection.

    Args:
        run: The node's view of the world.
        subject: What is judged; sets the criteria.
        content: It, as text; for a result also what was expected.
        task: The task.
        label: Names the reasoning chain.

    Returns:
        None when no model answered; nothing may depend on a critique.
    """
    prompt = critique_prompt(subject, CRITERIA[subject], content, task=task)
    thought = await think_about(run, "critique", prompt, Critique, label=label)
    return thought.value
