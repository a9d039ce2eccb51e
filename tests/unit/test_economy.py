"""The budget ladder drops luxuries in the document's order; the CAF warns over 2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.nodes.economy import (
    Level,
    Luxury,
    allows,
    caf,
    caf_over,
    caf_warning,
    drop_note,
    ladder,
    share_used,
)
from mendgraph.state.limits import Limits, Spent

LIMITS = Limits()


@pytest.mark.parametrize(
    ("tokens", "level", "gone"),
    [
        (0, Level.FULL, set()),
        (7_499, Level.FULL, set()),
        (7_500, Level.NO_PATHS, {Luxury.PATHS}),
        (10_500, Level.NO_CRITIQUE, {Luxury.PATHS, Luxury.CRITIQUE}),
        (12_750, Level.LIGHT, set(Luxury)),
        (99_999, Level.LIGHT, set(Luxury)),
    ],
)
def test_luxuries_go_in_order(tokens, level, gone):
    """First candidate plans, then self-evaluation, then the full reflection."""
    spent = Spent(budgeted_tokens=tokens)
    assert ladder(spent, LIMITS) == level
    assert {each for each in Luxury if not allows(level, each)} == gone


@given(st.integers(0, 20_000), st.integers(0, 70))
def test_the_fullest_budget_decides(tokens, calls):
    """The ladder looks at tokens and calls, whichever is closer to its end."""
    both = Spent(budgeted_tokens=tokens, model_calls=calls)
    parts = (Spent(budgeted_tokens=tokens), Spent(model_calls=calls))
    assert share_used(both, LIMITS) == max(share_used(p, LIMITS) for p in parts)


def test_without_a_budget_everything_is_light():
    """A budget of zero is used up from the start."""
    assert ladder(Spent(), LIMITS.but(reasoning_tokens=0)) == Level.LIGHT


def test_a_drop_says_what_when_and_at_what_cost():
    """The report's line has the luxury, the time and the tokens."""
    note = drop_note(Luxury.PATHS, Spent(budgeted_tokens=9_000), LIMITS, at=12.5)
    assert (note["what"], note["when"]) == ("multi-path planning", 12.5)
    assert (note["spent"], note["allowed"]) == (9_000, 15_000)
    assert "60%" in note["text"]


def test_the_factor_is_calls_by_corrections():
    """Two corrections with three calls have a factor of 1.5; none have 0."""
    assert caf(Spent(correction_model_calls=3), 2) == 1.5
    assert caf(Spent(correction_model_calls=3), 0) == 0.0


def test_the_factor_over_a_window_weighs_by_corrections():
    """A window sums calls and corrections; an empty one has 0."""
    assert caf_over([(2, 1), (2, 3), (0, 0)]) == 1.0
    assert caf_over([]) == 0.0


def test_a_factor_over_two_warns():
    """Exactly 2.0 is still quiet."""
    assert caf_warning(2.0) is None
    assert "cost 2.5 model calls" in str(caf_warning(2.5))
