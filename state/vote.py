"""Strict majority over repeated samples: a tie is never a winner (F30).

A majority is an opinion of samples that share one model and one context. It verifies
nothing and grants nothing.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

Value = TypeVar("Value", bound=Hashable)


class Verdict(StrEnum):
    """What repeated samples say together."""

    INSUFFICIENT = "insufficient"
    INCONCLUSIVE = "inconclusive"
    MAJORITY = "majority"


@dataclass(frozen=True, slots=True)
class Vote(Generic[Value]):
    """The verdict, the answer when there is a majority, and the counts behind it."""

    status: Verdict
    answer: Value | None
    votes: int
    """Votes for the most frequent answer."""
    samples: int
    """Samples asked for, the unusable ones included."""

    @property
    def share(self) -> float:
        """0..1, votes of the most frequent answer by samples."""
        return self.votes / self.samples if self.samples else 0.0


def strict_majority(answers: Iterable[Value | None], *, needed: int = 1) -> Vote[Value]:
    """Return the answer that more than half of all samples gave, if there is one.

    Args:
        answers: Discrete answers brought to one form, so that equal means the same.
            None is a sample that failed: it votes for nobody and still counts, for
            an answer must not win because the others broke.
        needed: Usable answers below which nothing is concluded.
    """
    samples = list(answers)
    usable = [answer for answer in samples if answer is not None]
    if len(usable) < max(1, needed):
        return Vote(Verdict.INSUFFICIENT, None, 0, len(samples))
    winner, votes = Counter(usable).most_common(1)[0]
    if votes * 2 <= len(samples):
        return Vote(Verdict.INCONCLUSIVE, None, votes, len(samples))
    return Vote(Verdict.MAJORITY, winner, votes, len(samples))
