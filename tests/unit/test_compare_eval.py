"""The comparison itself: exact arithmetic on answers with known error rates (F60)."""

import asyncio
import json

import pytest

from mendgraph.evals.compare import Trial, _worth, evaluate, main, quantile, read_tasks
from mendgraph.evals.ways import WAYS, Said, Tally, Task

TASK = Task(
    id="t",
    question="What is 2 + 3?",
    answer="5",
    wrong=("6", "4"),
    rules=("number + 0 == 5",),
)


class Answers:
    """Says what it is told to, and remembers what it was asked."""

    def __init__(self, *answers):
        self.answers = iter(answers)
        self.asked = []

    async def ask(self, task, *, effort="low", refused=""):
        self.asked.append((effort, refused))
        return Said(next(self.answers), 2.0, prompt_tokens=1, completion_tokens=1)


def go(way, *answers):
    asker, tally = Answers(*answers), Tally()
    answer = asyncio.run(WAYS[way](TASK, asker, tally))
    return answer, asker.asked, tally.seconds


def test_a_single_call_takes_the_first_answer():
    """One call, whatever it says."""
    assert go("single call", "6") == ("6", [("low", "")], 2.0)


def test_higher_effort_is_asked_for():
    """One call that thinks longer."""
    assert go("higher effort", "5") == ("5", [("high", "")], 2.0)


def test_a_tie_is_no_answer():
    """Five samples need three votes; they are waited for once."""
    assert go("majority of 5", "5", "5", "5", "6", "6")[0] == "5"
    answer, asked, seconds = go("majority of 5", "5", "5", "6", "6", "4")
    assert (answer, len(asked), seconds) == (None, 5, 2.0)


def test_verification_asks_again_with_what_was_refused():
    """A refused answer is shown; after three there is none."""
    assert go("verified by code", "6", "5")[:2] == ("5", [("low", ""), ("low", "6")])
    answer, asked, seconds = go("verified by code", "6", "4", "6")
    assert (answer, len(asked), seconds) == (None, 3, 6.0)


def test_beam_search_expands_the_best_and_counts_every_call():
    """Two levels of three answers; the best of all is taken if it keeps every rule."""
    answer, asked, seconds = go("beam search", "6", "4", "6", "4", "5", "6")
    assert (answer, len(asked), seconds) == ("5", 6, 4.0)
    assert [refused for _, refused in asked] == ["", "", "", "6", "6", "6"]
    assert go("beam search", *["6"] * 6)[0] is None


def test_worth_is_errors_avoided_times_loss_minus_the_extra_cost():
    """Per 100 tasks, and from which loss on it pays."""
    single = [Trial(n < 5, n < 0, 1.0, 1, 0.1) for n in range(10)]
    better = [Trial(n < 7, n < 0, 1.0, 3, 0.3) for n in range(10)]
    worth = _worth(better, single, loss=0.5)
    assert worth == {
        "errors_avoided": 20.0,
        "extra_cost": 20.0,
        "gain": -10.0,
        "pays": False,
        "pays_from_loss": 1.0,
    }
    assert _worth(better, single, loss=1.5)["pays"] is True


def test_quantiles_are_nearest_rank():
    """The half of four is the second."""
    assert quantile([4, 1, 3, 2], 0.5) == 2
    assert quantile([4, 1, 3, 2], 0.95) == 4


def test_the_shipped_set_compares_both_doubles_in_five_ways():
    """Checking by code beats one call, and the report says whose answers they are."""
    report = evaluate(repeats=1)
    assert "not models" in report["note"]
    ways = [row["way"] for row in report["rows"]]
    assert ways == [*WAYS, *WAYS]
    by_name = {(row["model"], row["way"]): row for row in report["rows"]}
    for name in ("careful double", "hasty double"):
        one = by_name[name, "single call"]
        checked = by_name[name, "verified by code"]
        assert checked["success"] > one["success"]
        assert checked["calls"] < by_name[name, "majority of 5"]["calls"]
    careful = by_name["careful double", "single call"]["success"]
    assert careful > by_name["hasty double", "single call"]["success"]


def test_every_right_answer_keeps_its_own_rules_and_wrong_ones_differ():
    """The shipped set is sound."""
    found = read_tasks()
    assert len(found.tasks) == 24
    for task in found.tasks:
        assert task.share_kept(task.answer) == 1.0
        assert task.answer not in task.wrong


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"answer": "6"}, "breaks its own rules"),
        ({"rules": ["number +"]}, "task t"),
        ({"question": None}, "tasks.0.question"),
    ],
)
def test_a_bad_set_is_told_where_it_is_wrong(tmp_path, change, told):
    """One clear message names the task."""
    fields = {"prices": {}, "loss_per_error": 1, "tasks": [{**TASK.plain(), **change}]}
    path = tmp_path / "set.json"
    path.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=told):
        evaluate(path)


def small(tmp_path):
    fields = {
        "prices": {"prompt_per_million": 1, "completion_per_million": 1},
        "loss_per_error": 1,
        "tasks": [TASK.plain()],
    }
    path = tmp_path / "set.json"
    path.write_text(json.dumps(fields))
    return path


def test_the_figures_are_the_same_every_time(tmp_path):
    """The dice are seeded by double and way."""
    path = small(tmp_path)
    assert evaluate(path, repeats=4) == evaluate(path, repeats=4)


def test_json_is_one_line(capsys, tmp_path):
    """`--json` prints the report alone."""
    path = small(tmp_path)
    main(path, as_json=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert json.loads(lines[0])["tasks"] == 1
    main(path, as_json=False)
    assert "beam search" in capsys.readouterr().out
