"""Several looks at one failure where nothing was confirmed: a strict majority, or none.

A majority is an opinion of samples that share one model and one context (F30). It is
noted beside the evidence and confirms nothing.
"""

from collections.abc import Awaitable, Callable

from mendgraph.nodes.schemas import ReflectionDraft
from mendgraph.state.vote import Verdict, Vote, strict_majority

SAMPLES = 3
"""Looks in all, the first among them."""

Ask = Callable[[int], Awaitable[ReflectionDraft | None]]


async def sampled(first: ReflectionDraft, ask: Ask) -> Vote[str]:
    """Return what most of the samples call the cause.

    Args:
        first: The look that is there.
        ask: Makes the look of a number; None where the model gave none.
    """
    drafts = [first, *[await ask(number) for number in range(2, SAMPLES + 1)]]
    return strict_majority([_cause(draft) for draft in drafts], needed=2)


def _cause(draft: ReflectionDraft | None) -> str | None:
    if draft is None or draft.category is None:
        return None
    return f"{draft.category}:{draft.subclass or '-'}@{draft.cause_step or '-'}"


def opinion(vote: Vote[str]) -> str:
    """Return what the samples say together, in words for the record."""
    if vote.status is not Verdict.MAJORITY:
        return f"opinion of {vote.samples} samples: {vote.status}"
    share = f"{vote.votes} of {vote.samples}"
    return f"opinion of {share} samples, not a confirmation: {vote.answer}"


def agrees(vote: Vote[str], draft: ReflectionDraft) -> bool:
    """Tell whether most samples see what this one sees."""
    return vote.status is Verdict.MAJORITY and vote.answer == _cause(draft)
