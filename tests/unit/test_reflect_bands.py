"""What a confidence allows, and what a doubtful cause may still direct (F29, F30)."""

import itertools

import pytest

from mendgraph.nodes.bands import PROBES, SMALLEST_FIRST, Band, band_of, safest
from mendgraph.nodes.opinions import agrees, opinion, sampled
from mendgraph.nodes.schemas import ReflectionDraft
from mendgraph.state.lesson import NextAction


@pytest.mark.parametrize(
    ("confidence", "band"),
    [
        (None, Band.UNKNOWN),
        (0.0, Band.EXPLORE),
        (0.59, Band.EXPLORE),
        (0.6, Band.VERIFY),
        (0.79, Band.VERIFY),
        (0.8, Band.ACT),
        (1.0, Band.ACT),
    ],
)
def test_a_calibrated_confidence_falls_into_one_band(confidence, band):
    """Under 0.6 explore, from 0.6 verify, from 0.8 act, and None is unknown."""
    assert band_of(confidence) is band


def test_the_surer_a_cause_the_fewer_probes():
    """Acting needs none, verifying the cheapest one, exploring several."""
    assert PROBES[Band.ACT] == 0
    assert PROBES[Band.VERIFY] == 1
    assert PROBES[Band.EXPLORE] > 1


def decided(wanted, band, **facts):
    flags = {"confirmed": False, "refuted": False, "patch": False, "fallback": False}
    return safest(wanted, band, **{**flags, **facts})


def test_a_confirmed_cause_is_acted_on_as_proposed():
    """Confirmation lifts every restriction."""
    for wanted, band in itertools.product(NextAction, Band):
        assert decided(wanted, band, confirmed=True, refuted=True) is wanted


def test_a_doubtful_cause_directs_the_smallest_correction():
    """Low confidence turns a global replan into a patch, or a local one without one."""
    wanted = NextAction.GLOBAL_REPLAN
    assert decided(wanted, Band.EXPLORE, patch=True) is NextAction.PATCH
    assert decided(wanted, Band.EXPLORE) is NextAction.LOCAL_REPLAN
    assert decided(wanted, Band.UNKNOWN) is wanted


def test_a_change_built_on_a_refuted_cause_is_not_made():
    """The fallback comes instead of the patch, and without one a local replan."""
    for band in Band:
        with_spare = decided(
            NextAction.PATCH, band, refuted=True, patch=True, fallback=True
        )
        assert with_spare is NextAction.FALLBACK
        alone = decided(NextAction.PATCH, band, refuted=True, patch=True)
        assert alone is NextAction.LOCAL_REPLAN


def test_no_doubt_ever_makes_a_correction_larger():
    """Over all inputs the decision touches no more than a local replan or the wish."""
    ranks = {action: n for n, action in enumerate(SMALLEST_FIRST)}
    flags = itertools.product([True, False], repeat=4)
    for wanted, band, (confirmed, refuted, patch, fallback) in itertools.product(
        NextAction, Band, list(flags)
    ):
        got = safest(
            wanted,
            band,
            confirmed=confirmed,
            refuted=refuted,
            patch=patch,
            fallback=fallback,
        )
        largest = max(ranks.get(wanted, 0), ranks[NextAction.LOCAL_REPLAN])
        assert got is wanted or ranks[got] <= largest


def draft(cause):
    return ReflectionDraft.model_validate({"category": cause, "decision": "patch"})


async def _vote(first, others):
    given = iter(others)

    async def ask(_number):
        return next(given)

    return await sampled(first, ask)


def test_a_majority_is_noted_as_an_opinion_and_a_tie_is_none():
    """Two of three agree; a broken sample votes for nobody and still counts."""
    import asyncio

    plan, execution = draft("plan_error"), draft("execution_error")
    vote = asyncio.run(_vote(plan, [plan, execution]))
    assert agrees(vote, plan)
    assert not agrees(vote, execution)
    assert "not a confirmation: plan_error" in opinion(vote)
    split = asyncio.run(_vote(plan, [execution, None]))
    assert not agrees(split, plan)
    assert opinion(split) == "opinion of 3 samples: inconclusive"
