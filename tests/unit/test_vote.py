from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.state.vote import Verdict, strict_majority

SAMPLES = st.lists(st.one_of(st.none(), st.sampled_from("abcd")), max_size=12)


@pytest.mark.parametrize(
    ("answers", "status", "answer"),
    [
        ([], Verdict.INSUFFICIENT, None),
        ([None, None], Verdict.INSUFFICIENT, None),
        (["a"], Verdict.MAJORITY, "a"),
        (["a", "b"], Verdict.INCONCLUSIVE, None),
        (["a", "a", "b", "b"], Verdict.INCONCLUSIVE, None),
        (["a", "a", "b", "c"], Verdict.INCONCLUSIVE, None),
        (["a", "a", "b"], Verdict.MAJORITY, "a"),
        (["a", "a", None, None], Verdict.INCONCLUSIVE, None),
    ],
)
def test_verdict(answers, status, answer):
    """Half of the samples is no majority, and failed samples still count."""
    vote = strict_majority(answers)
    assert (status, answer) == (vote.status, vote.answer)


def test_needed():
    """Fewer usable answers than needed conclude nothing, whatever they say."""
    assert strict_majority(["a", "a"], needed=3).status is Verdict.INSUFFICIENT
    assert strict_majority(["a", "a", "a"], needed=3).status is Verdict.MAJORITY


@given(SAMPLES, st.randoms())
def test_order_never_decides(answers, random):
    """Shuffling the samples changes neither the verdict nor the answer."""
    shuffled = list(answers)
    random.shuffle(shuffled)
    one, other = strict_majority(answers), strict_majority(shuffled)
    assert (one.status, one.answer) == (other.status, other.answer)


@given(SAMPLES)
def test_a_winner_has_more_than_half(answers):
    """There is an answer exactly when one has more than half of all samples."""
    counts = Counter(answer for answer in answers if answer is not None)
    winners = [key for key, count in counts.items() if 2 * count > len(answers)]
    vote = strict_majority(answers)
    assert (winners[0] if winners else None) == vote.answer
    assert bool(winners) == (vote.status is Verdict.MAJORITY)


def test_share():
    """The share says how strong the opinion is."""
    assert strict_majority(["a", "a", "a", "b"]).share == 0.75
    assert strict_majority([]).share == 0.0
