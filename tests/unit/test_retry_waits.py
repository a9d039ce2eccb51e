"""The tiers as a run shows them: what is called, after which wait, and when it ends."""

import runpy
from pathlib import Path

import pytest

from mendgraph.state.limits import Limits
from mendgraph.state.policy import Effect, ToolPolicy
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.faulty import (
    FaultyTool,
    delayed,
    http_status,
    raising,
    saying,
)
from mendgraph.tools.doubles.scripted import ScriptedModel

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "effect_world.py"))
World, step, WAYS, ALL_WAYS = (KIT[n] for n in ("World", "step", "WAYS", "ALL_WAYS"))

READ = ToolPolicy(effect=Effect.READ, idempotent=True)
SERVED = READ.but(service="shop")


def fetch(order: str = "A", page: int = 1) -> dict:
    """Fetch an order."""
    return {"order": order, "page": page}


def spare(order: str = "A", page: int = 1) -> dict:
    """Fetch an order elsewhere."""
    return {"order": order, "from": "spare"}


def world(faults, policy=READ, more=(), way=("sync", "memory"), folder=None, **options):
    """A world whose `fetch` fails as told."""
    tool = FaultyTool(fetch, faults)
    policies = {"fetch": policy, **{each.__name__: READ for each in more}}
    made = World([tool, *more], way, folder, policies=policies, **options)
    made.tool = tool
    return made


def always(fault, times=30):
    return dict.fromkeys(range(1, times + 1), fault)


@pytest.mark.parametrize("way", ALL_WAYS)
def test_tier_one_repeats_the_same_call_a_second_apart(way, tmp_path):
    """Two resets pass; three calls with equal arguments, two waits of 1 s."""
    reset = raising(ConnectionResetError(104, "reset"))
    here = world({1: reset, 2: reset}, way=way, folder=tmp_path)
    here.run(step("a", "fetch", order="A"))
    assert (here.result["status"], here.clock.slept) == ("done", [1.0, 1.0])
    assert here.tool.calls == [{"order": "A", "page": 1}] * 3
    assert here.result["report"]["retries"] == {"tier1": 2, "tier2": 0, "tier3": 0}


@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ({"Retry-After": "7"}, [7.0]),
        ({"retry-after-ms": "250"}, [0.25]),
        ({"Retry-After": "Tue, 14 Nov 2023 22:13:32 GMT"}, [12.0]),
        ({}, [5.0]),
    ],
)
@pytest.mark.parametrize("policy", [READ, SERVED])
def test_a_rate_limit_waits_as_long_as_it_says(headers, waits, policy):
    """Seconds, milliseconds, a date; else 5 s; with and without a service."""
    here = world({1: http_status(429, headers)}, policy)
    here.run(step("a", "fetch"))
    assert ("done", waits) == (here.result["status"], here.clock.slept)


def test_three_rate_limits_wait_five_ten_fifteen():
    """Each further one waits longer."""
    here = world(always(http_status(429), 3))
    here.run(step("a", "fetch"))
    assert (here.result["status"], here.clock.slept) == ("done", [5.0, 10.0, 15.0])


@pytest.mark.parametrize("planned", [True, False])
def test_three_outages_switch_to_the_other_service(planned):
    """1 s, 2 s, then the plan's fallback or the policy's; the sick one has peace."""
    policy = SERVED if planned else SERVED.but(fallback="spare")
    here = world(always(http_status(503)), policy, more=(spare,))
    first = step("a", "fetch", order="B")
    if planned:
        first["fallback"] = {"tool": "spare"}
    here.run(first)
    assert (here.result["status"], here.clock.slept) == ("done", [1.0, 2.0])
    assert len(here.tool.calls) == 3
    assert here.records["a"]["tool"] == "spare"


def test_a_sick_service_goes_straight_to_the_fallback():
    """Once over half of its calls fail, another step's failure waits for nothing."""
    here = world(always(http_status(500)), SERVED.but(fallback="spare"), more=(spare,))
    here.run(step("a", "fetch"), step("b", "fetch", needs=["a"], page=2))
    tiers = {
        name: [attempt["tier"] for attempt in record["attempts"]]
        for name, record in here.records.items()
    }
    assert tiers["a"] == ["first", "tier1", "tier1", "tier3"]
    assert tiers["b"] == ["first", "tier3"]


def test_a_timeout_raises_the_limit_by_half():
    """1.5, then 2.25 times the limit; real time, because the limit is real."""
    slow = delayed(0.2)
    here = world({1: slow, 2: slow}, READ.but(timeout_s=0.1))
    here.run(step("a", "fetch"))
    limits = [f["facts"]["timeout_s"] for f in _failures(here)]
    assert (here.result["status"], len(here.tool.calls)) == ("done", 3)
    assert pytest.approx([0.1, 0.15]) == limits


def _failures(here):
    """The failures of the only step, from the longest trail its checkpoints hold."""
    saver = here.agent.checkpointer
    found = [
        each.checkpoint["channel_values"].get("failures") for each in saver.list(None)
    ]
    return max((each for each in found if each), key=len)


def test_a_bad_request_is_never_repeated_as_it_was():
    """Without a model to change it, one call is all there is."""
    here = world(always(http_status(400)))
    here.run(step("a", "fetch"))
    assert (
        here.result["status"],
        len(here.tool.calls),
        here.clock.slept,
    ) == ("failed", 1, [])


@pytest.mark.parametrize("way", WAYS)
def test_a_model_changes_a_bad_request_at_once(way, tmp_path):
    """Tier 2: other arguments from a script, no wait, and it is recorded whose."""
    script = ByRole(
        {"patch": [{"arguments": {"page": 2}, "why": "first page is gone"}]}
    )
    here = world(
        {1: http_status(400)},
        way=way,
        folder=tmp_path,
        model=ScriptedModel(script=script),
    )
    here.run(step("a", "fetch"))
    assert ([c["page"] for c in here.tool.calls], here.clock.slept) == ([1, 2], [])
    last = here.records["a"]["attempts"][-1]
    assert (last["tier"], last["changed"]) == ("tier2", ["page"])
    assert here.state["reflections"][0]["resolved"] is True


def test_a_model_that_wants_the_same_call_again_is_refused():
    """An identical patch is not called; a reflection's blind retry is not either."""
    again = {"decision": "retry", "observed_issue": "?", "hypotheses": ["luck"]}
    script = ByRole(
        {
            "patch": [{"arguments": {"page": 1}, "why": "same"}],
            "reflect": [again] * 9,
            "replan": [{"impossible": "nothing else"}] * 3,
        }
    )
    here = world(always(http_status(400)), model=ScriptedModel(script=script))
    here.run(step("a", "fetch"))
    assert len(here.tool.calls) == 1
    assert here.kind == "clarification"


def test_two_corrections_in_vain_ask_a_person():
    """Two directed fixes without effect; the third would be the person's idea."""
    fixes = [
        {"decision": "patch", "observed_issue": "?", "patch": {"page": n}}
        for n in range(2, 9)
    ]
    script = ByRole({"reflect": fixes, "patch": [{"arguments": {}}] * 9})
    here = world(always(http_status(400)), model=ScriptedModel(script=script))
    here.run(step("a", "fetch"))
    assert [call["page"] for call in here.tool.calls] == [1, 2, 3]
    assert here.kind == "clarification"


def test_a_lineage_without_corrections_left_is_unrecoverable():
    """One fix is allowed here; the second failure ends the step."""
    fix = {"decision": "patch", "observed_issue": "?", "patch": {"page": 2}}
    script = ByRole({"reflect": [fix] * 5, "patch": [{"arguments": {}}] * 9})
    here = world(
        always(http_status(400)),
        limits=Limits(corrections_per_step=1),
        model=ScriptedModel(script=script),
    )
    here.run(step("a", "fetch"))
    assert [call["page"] for call in here.tool.calls] == [1, 2]
    assert here.result["status"] == "failed"


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_retry_budget_is_shared_by_all_steps(mode):
    """Eight steps want two retries each and have three together."""
    here = world(
        always(raising(ConnectionResetError(104, "reset")), 99),
        way=(mode, "memory"),
        limits=Limits(retries=3),
    )
    here.run(*(step(f"s{n}", "fetch", page=n) for n in range(8)))
    assert (len(here.tool.calls), here.result["status"]) == (8 + 3, "failed")
    assert here.result["report"]["spent"]["retries"] == 3


@pytest.mark.parametrize("way", WAYS)
def test_a_long_wait_pauses_the_run_and_goes_on(way, tmp_path):
    """An hour is not slept: a question of kind `waiting`, and approve goes on."""
    here = world(
        {1: http_status(429, {"Retry-After": "3600"})}, way=way, folder=tmp_path
    )
    here.run(step("a", "fetch"))
    assert (here.kind, len(here.tool.calls)) == ("waiting", 1)
    until = here.request["args"]["not_before"]
    assert until == pytest.approx(here.clock() + 3600, abs=1)
    here.clock.advance(3600)
    here.say("approve")
    assert (
        here.result["status"],
        len(here.tool.calls),
        here.clock.slept,
    ) == ("done", 2, [])


def test_a_long_wait_that_is_stopped_is_handed_on():
    """Reject means: do not wait; the fallback is taken."""
    fault = http_status(429, {"Retry-After": "3600"})
    here = world({1: fault}, READ.but(fallback="spare"), more=(spare,))
    here.run(step("a", "fetch"))
    here.say("reject", "too long")
    assert (here.result["status"], here.records["a"]["tool"]) == ("done", "spare")


def test_a_long_wait_without_anybody_to_ask_is_not_cut_short():
    """The service said an hour; it is not bothered after 30 s."""
    fault = http_status(429, {"Retry-After": "3600"})
    here = world(always(fault), way=("sync", "none"))
    here.run(step("a", "fetch"))
    assert (
        len(here.tool.calls),
        here.result["status"],
        here.clock.slept,
    ) == (1, "failed", [])


def test_a_proposal_is_not_asked_for_twice_by_a_pause():
    """The pause comes before the model, so a resume costs no second call."""
    script = ByRole({"patch": [{"arguments": {"page": 2}, "why": "try"}]})
    here = world(
        {1: saying(None)},
        limits=Limits(inline_wait_s=0.5),
        model=ScriptedModel(script=script),
    )
    here.run(step("a", "fetch"))
    assert (here.kind, script.asked) == ("waiting", [])
    here.say("approve")
    assert (here.result["status"], script.asked) == ("done", ["patch"])
