"""The benchmarks' tasks under a cap that code counts, with a model that is no model."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from simulated.mind import Luck
from simulated.model import SimulatedModel

from mendgraph.bench.cases import CLEAN
from mendgraph.bench.live import LEAST, Cap, NoAnswer, grid, run_all, summary
from mendgraph.bench.world import Clock
from mendgraph.tools.doubles.scripted import ScriptedModel


def model(q=0.0):
    return SimulatedModel(luck=Luck(3, q), clock=Clock())


def few(count, group=None):
    return [case for case in grid(1) if group in {None, case.group}][:count]


def test_every_shape_and_every_fault_is_in_the_grid():
    groups = {case.group for case in grid(1)}
    assert {CLEAN, "explicit transient", "implicit permanent", "two faults"} <= groups
    assert len(grid(2)) > len(grid(1))


def test_tasks_are_run_and_judged_against_the_world():
    done = list(run_all(model(), few(5, CLEAN), Cap(10**6)))
    assert [ran.success for ran in done] == [True] * 5
    told = summary(done, 5, Cap(10**6, money=9.0, prices=(1.0, 2.0)))
    whole = told["all"]
    assert not told["stopped_at_the_cap"]
    used = whole["prompt_tokens"] + 2 * whole["completion_tokens"]
    assert whole["cost"] == pytest.approx(used / 10**6, abs=1e-6)


def test_a_model_that_is_always_wrong_succeeds_nowhere_and_is_not_believed():
    done = list(run_all(model(q=1.0), few(4, CLEAN), Cap(10**6)))
    assert not any(ran.success for ran in done)


@pytest.mark.parametrize(
    "cap", [Cap(9_000), Cap(10**6, money=0.018, prices=(1.0, 2.0))]
)
def test_the_cap_holds_over_all_tasks(cap):
    """No task is begun with too little left; what is left is the next one's budget."""
    wanted = grid(1)
    done = list(run_all(model(), wanted, cap))
    prompt, completion = sum(r.prompt for r in done), sum(r.completion for r in done)
    assert 0 < len(done) < len(wanted)
    assert prompt + completion <= cap.tokens
    assert cap.money is None or cap.cost(prompt, completion) <= cap.money
    assert cap.left(prompt, completion) < LEAST
    assert summary(done, len(wanted), cap)["stopped_at_the_cap"]


def test_a_model_that_says_nothing_ends_it_at_once():
    def silent(_messages):
        return ConnectionError("no route")

    with pytest.raises(NoAnswer, match="gave no answer"):
        list(run_all(ScriptedModel(script=silent), few(3, CLEAN), Cap(10**6)))
