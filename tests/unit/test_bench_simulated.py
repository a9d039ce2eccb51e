"""The simulated world of the benchmarks: same luck, same faults, honest judging."""

import asyncio
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from simulated.mind import Luck, Mind, Try, read, wanted_in

from mendgraph.bench.faults import kinds, schedule, seeds
from mendgraph.bench.tasks import SHAPES, Wanted, chain, make, publishing
from mendgraph.bench.world import World


@given(st.integers(0, 10**6), st.text(max_size=8), st.text(max_size=8))
def test_luck_is_fixed_and_grows_with_q(seed, task, decision):
    """The same decision errs or not for ever; a larger q never takes an error back."""
    errs = [Luck(seed, q).errs(task, decision) for q in (0.0, 0.1, 0.3, 1.0)]
    assert errs == sorted(errs)
    assert errs[0] is False
    assert errs[-1] is True


def test_about_q_of_the_decisions_err():
    """Over many decisions the share of wrong ones is q."""
    luck = Luck(3, 0.3)
    wrong = sum(luck.errs("task", str(number)) for number in range(4_000))
    assert wrong == pytest.approx(1_200, rel=0.1)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_task_is_read_back_from_its_text(shape):
    """What the model parses from a task's words is the task."""
    task = make(shape, 11)
    assert wanted_in(task.text) == (task.name, list(task.steps))


def test_the_schedule_depends_on_seed_and_kind_alone():
    """Two agents meet the same fault at the same step; a mirror is spared."""
    task, kind = chain(5, "c"), kinds()["http_404"]
    one, other = schedule(task, [kind], 12), schedule(task, [kind], 12)
    assert one == other
    (step_id,) = one.hits
    tool = next(step.tool for step in task.steps if step.id == step_id)
    assert one.at(step_id, tool, 5) == kind
    assert one.at(step_id, f"{tool}_mirror", 1) is None


def test_transient_faults_end():
    """A fault that hits twice is over at the third call."""
    task, kind = chain(1, "c"), kinds()["timeout"]
    plan = schedule(task, [kind], 1)
    assert [plan.at("s1", "fetch", n) is None for n in (1, 2, 3)] == [
        False,
        False,
        True,
    ]


def test_some_kinds_are_held_out():
    """Every group of faults has kinds that tuning did not see, and fixed seeds."""
    held = {kind.group for kind in kinds().values() if kind.held_out}
    assert held == {kind.group for kind in kinds().values()}
    assert seeds() == sorted(set(seeds()))


def test_publishing_twice_is_counted():
    """A lost answer hides an effect; a blind second call shows as a duplicate."""
    task = publishing("p")
    world = World(task, schedule(task, [kinds()["lost_answer"]], 1))
    sources = [task.values["s2"]]

    async def twice():
        with pytest.raises(Exception, match="timed out"):
            await world.publish("p.3", sources)
        await world.publish("p.3", sources)

    asyncio.run(twice())
    assert world.duplicates == 1


def test_an_unknown_key_and_wrong_values_are_refused():
    """The model's own mistakes are found by the world, with a text that helps."""
    task = chain(2, "c")
    world = World(task, schedule(task, [], 1))
    with pytest.raises(ValueError, match=r"unknown key 'c\.1x'; valid keys"):
        asyncio.run(world.fetch("c.1x"))
    with pytest.raises(ValueError, match="'sources' does not fit"):
        asyncio.run(world.derive("c.2", ["wrong"]))


STEP = Wanted("s1", "fetch", "c.1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPStatusError: 503: try again later", ("call", "fetch")),
        ("HTTPStatusError: 410: Gone", ("call", "fetch_mirror")),
        ("HTTPStatusError: 403: may not read this key", ("give_up", "")),
        ('{"rows": [], "row_count": 0, "value": null}', ("call", "fetch")),
    ],
)
def test_the_model_decides_by_the_text_it_sees(text, expected):
    """Transient is called again, gone goes to the mirror, forbidden is given up."""
    move = Mind(Luck(), "c").next(STEP, [], [Try("fetch", text, {"key": "c.1"})])
    assert (move.kind, move.tool) == expected


def test_an_argument_named_by_the_error_is_changed():
    """The text says which argument must be what, and that is what is sent."""
    text = "HTTPStatusError: 422: argument 'form' must be 'v2'"
    move = Mind(Luck(), "c").next(STEP, [], [Try("fetch", text, {"key": "c.1"})])
    assert move.args == {"key": "c.1", "form": "v2"}


def test_a_hidden_error_tells_the_model_nothing():
    """Where the text is hidden, what would mend the call is not found."""
    tries = [Try("fetch", "the tool failed", {"key": "c.1"})]
    move = Mind(Luck(), "c").next(STEP, [], tries)
    assert move.args == {"key": "c.1"}
    assert move.tool == "fetch_mirror"


def test_an_exception_is_no_answer_though_it_quotes_json():
    """Arguments quoted in an error are not taken for the tool's answer."""
    text = 'ERROR(Failed to call fetch with args {"key": "c.1"}. Error: ReadTimeout())'
    assert read(text) == text


def agents(*names):
    """Return agents by name, where the peers are installed."""
    pytest.importorskip("deepagents", reason="the peers are in the extra `bench`")
    from peers import PEERS

    return [PEERS[name] for name in names]


def outcome(agent, task, faults, luck):
    from peers.base import carry_out

    return asyncio.run(carry_out(agent, task, faults, luck))


@pytest.mark.parametrize(("q", "expected"), [(0.0, True), (1.0, False)])
def test_controls_hold(q, expected):
    """A perfect model succeeds without faults, one that always errs never does."""
    task = chain(2, "control")
    none = schedule(task, [], 1)
    for agent in agents("mendgraph", "create_agent best"):
        assert outcome(agent, task, none, Luck(1, q)).success is expected


def test_who_does_nothing_and_claims_it_is_a_false_success():
    """The null agent says DONE and is judged by the world."""
    task = chain(2, "control")
    (null,) = agents("null")
    result = outcome(null, task, schedule(task, [], 1), Luck())
    assert (result.success, result.false_success, result.truthful) == (
        False,
        True,
        False,
    )
