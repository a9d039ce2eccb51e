"""Which correction follows which failure: the table of the documents, read off."""

import pytest

from mendgraph.nodes.corrections import Situation, decide
from mendgraph.state.correction import (
    MATRIX,
    Action,
    Row,
    Scope,
    Trigger,
    override,
)
from mendgraph.state.failure import (
    Category,
    Classification,
    Failure,
    FailureFacts,
    Reaction,
    Subclass,
)
from mendgraph.state.outcome import Attempt, Tier

NETWORK = (Category.ENVIRONMENT, Subclass.NETWORK_ERROR, Reaction.BACKOFF)
LIMITED = (Category.ENVIRONMENT, Subclass.RATE_LIMITED, Reaction.RETRY_AFTER)
OUTAGE = (Category.ENVIRONMENT, Subclass.SERVICE_UNAVAILABLE, Reaction.BACKOFF)
PARAM = (Category.EXECUTION, Subclass.PARAM_ERROR, Reaction.ADJUST_PARAMS)
PARSE = (Category.EXECUTION, Subclass.PARSE_ERROR, Reaction.ADJUST_PARAMS)
ORDER = (Category.PLAN, Subclass.ORDER_ERROR, Reaction.REPLAN)
VAGUE = (Category.REQUIREMENT, Subclass.AMBIGUOUS, Reaction.ASK_USER)
OURS = (Category.INTERNAL, Subclass.INTERNAL_ERROR, Reaction.NO_RETRY)


def situation(
    kind, tiers=(), *, transient=True, status=None, wait=None, rule="r", **facts
):
    """What is known when this failure follows attempts of these tiers."""
    category, subclass, reaction = kind
    verdict = Classification(
        category=category,
        subclass=subclass,
        transient=transient,
        reaction=reaction,
        wait_s=wait,
        confidence=0.9,
        reason="because",
        rule=rule,
    )
    failure = Failure(
        facts=FailureFacts(message="no", http_status=status), classification=verdict
    )
    attempts = [
        Attempt(
            number=number,
            tier=tier,
            tool="x",
            started_at=1,
            ended_at=2,
            status="failed",
        )
        for number, tier in enumerate((Tier.FIRST, *tiers), start=1)
    ]
    known = {
        "trigger": Trigger.HARD,
        "matrix": MATRIX,
        "has_model": True,
        "has_fallback": True,
        "has_ready_patch": False,
        "healthy": True,
        "retries_left": True,
        "corrections_left": True,
    }
    return Situation(failures=(failure,), attempts=attempts, **{**known, **facts})


T1, T2, T3 = Tier.TIER1, Tier.TIER2, Tier.TIER3


@pytest.mark.parametrize(
    ("tiers", "tier", "wait"),
    [
        ((), "tier1", 1.0),
        ((T1,), "tier1", 1.0),
        ((T1, T1), "tier3", 0.0),
        ((T1, T1, T3), "none", 0.0),
    ],
)
def test_a_passing_fault_is_retried_twice_a_second_apart(tiers, tier, wait):
    """Network trouble: the same call twice, then the fallback, then reflection."""
    found = decide(situation(NETWORK, tiers))
    assert (tier, wait) == (found.tier, found.wait_s)


@pytest.mark.parametrize(("used", "wait"), [((), 5.0), ((T1,), 10.0), ((T1, T1), 15.0)])
def test_a_rate_limit_waits_five_ten_fifteen(used, wait):
    """Without a stated wait, 429 backs off linearly and has three tries."""
    found = decide(situation(LIMITED, used, status=429))
    assert ("tier1", wait) == (found.tier, found.wait_s)
    assert decide(situation(LIMITED, (T1, T1, T1), status=429)).tier == "tier3"


def test_what_the_service_says_is_waited():
    """Retry-After is kept to, whatever the class would wait."""
    assert decide(situation(LIMITED, status=429, wait=7.5)).wait_s == 7.5


def test_an_outage_backs_off_and_then_switches():
    """503: 1 s, 2 s, and after three in a row the alternate service."""
    waits = [decide(situation(OUTAGE, (T1,) * n, status=503)).wait_s for n in (0, 1)]
    assert waits == [1.0, 2.0]
    third = decide(situation(OUTAGE, (T1, T1), status=503))
    assert (third.action, third.tier) == (Action.FALLBACK, "tier3")


def test_a_bad_request_is_changed_at_once_and_never_repeated_as_it_was():
    """400: no identical retry, no wait, twice other arguments at most."""
    told = [
        decide(situation(PARAM, (T2,) * n, transient=False, status=400))
        for n in (0, 1, 2)
    ]
    assert [each.tier for each in told] == ["tier2", "tier2", "tier3"]
    assert [each.wait_s for each in told[:2]] == [0.0, 0.0]


def test_other_arguments_wait_two_then_four_seconds():
    """A result that could not be read is asked for otherwise after 2 s and 4 s."""
    waits = [
        decide(situation(PARSE, (T2,) * n, transient=False)).wait_s for n in (0, 1)
    ]
    assert waits == [2.0, 4.0]


def test_without_anybody_to_propose_arguments_tier_two_is_skipped():
    """No model and no rule: the fallback, else a look."""
    alone = {"has_model": False, "transient": False}
    assert decide(situation(PARAM, **alone)).tier == "tier3"
    assert decide(situation(PARAM, has_ready_patch=True, **alone)).tier == "tier2"
    bare = decide(situation(PARAM, has_fallback=False, **alone))
    assert bare.action is Action.REFLECT


@pytest.mark.parametrize("kind", [NETWORK, PARAM])
def test_a_sick_service_is_not_retried(kind):
    """Over half of its calls fail: tiers 1 and 2 are skipped."""
    transient = kind is NETWORK
    found = decide(situation(kind, healthy=False, transient=transient))
    assert found.tier == "tier3"


@pytest.mark.parametrize("kind", [NETWORK, PARAM])
def test_without_retries_left_it_is_reflected_on(kind):
    """The budget is shared; exhausted, a failure goes straight to reflection."""
    found = decide(situation(kind, retries_left=False))
    assert (found.action, found.tier) == (Action.REFLECT, "none")


def test_depth_three_ends_in_giving_up():
    """A lineage without corrections left is unrecoverable, and it is said why."""
    found = decide(
        situation(PARAM, (T2, T2, T3), transient=False, corrections_left=False)
    )
    assert found.action is Action.GIVE_UP
    assert "no corrections are left" in found.reason


def test_plan_errors_are_reflected_on_not_retried():
    """A wrong order is not mended by calling again."""
    found = decide(situation(ORDER, transient=False))
    assert found.action is Action.REFLECT


def test_requirement_errors_take_no_fallback():
    """Only a person can know; a simpler tool does not."""
    found = decide(situation(VAGUE, transient=False))
    assert found.action is Action.REFLECT


@pytest.mark.parametrize("rule", ["stopped", "r"])
def test_what_is_over_is_over(rule):
    """A fault of ours, or somebody's stop, is never retried."""
    kind = OURS if rule == "r" else NETWORK
    assert decide(situation(kind, rule=rule)).action is Action.GIVE_UP


@pytest.mark.parametrize("rule", ["authorisation", "person"])
def test_a_refusal_is_evidence_not_a_reason_to_retry(rule):
    """Who said no is not asked the same again by a tier."""
    found = decide(situation(NETWORK, rule=rule))
    assert found.action is Action.REFLECT
    ended = decide(situation(NETWORK, rule=rule, corrections_left=False))
    assert ended.action is Action.GIVE_UP


def test_a_call_that_may_still_arrive_is_looked_for():
    """The wait is what the look said, and no tier is used up."""
    found = decide(situation(OUTAGE, (T1, T1), rule="in_flight", wait=41.0))
    assert (found.tier, found.wait_s) == ("poll", 41.0)


def test_the_matrix_can_say_note_and_watch():
    """A user who only wants a note for soft deviations gets one."""
    row = Row(
        trigger=Trigger.SOFT,
        category=Category.EXECUTION,
        action=Action.NOTE,
        scope=Scope.UNCHANGED,
    )
    soft = situation(PARSE, trigger=Trigger.SOFT, transient=False, matrix=override(row))
    assert decide(soft).action is Action.NOTE


def test_the_matrix_can_say_give_up():
    """A row that gives up is taken before every tier."""
    row = Row(
        trigger=Trigger.HARD,
        category=Category.ENVIRONMENT,
        action=Action.GIVE_UP,
        scope=Scope.UNCHANGED,
    )
    assert decide(situation(NETWORK, matrix=override(row))).action is Action.GIVE_UP
