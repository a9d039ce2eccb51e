"""The model's part of a reflection: evidence in, hypotheses and one decision out."""

from mendgraph.nodes.work import Work
from mendgraph.state.lesson import Reflection
from mendgraph.tools.run import Run

Question = tuple[str, tuple[str, ...]]


async def deep_reflection(
    work: Work, run: Run, baseline: Reflection
) -> tuple[Reflection, Question | None]:
    """Return the reflection to act on, and a question where a person is needed."""
    return baseline, None
