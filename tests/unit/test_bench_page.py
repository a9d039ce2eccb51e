"""Guards that can fail, targets computed from figures, and the page made of both."""

import copy
import importlib
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from guards import broken
from measure import Cost, interleaved, percentile, ratio_of
from page import write_page
from targets import all_targets

GOOD = {
    "success": 1.0,
    "false_success": 0,
    "wasted_per_success": 0.0,
    "duplicates": 0,
    "most_at_hopeless": 3,
    "model_calls": 1.0,
    "runs": 4,
}
GROUPS = (
    "explicit transient",
    "explicit argument",
    "explicit permanent",
    "implicit transient",
    "implicit permanent",
)
RECOVERY = {
    "controls": {"mendgraph": {"perfect": 1.0, "hopeless": 0.0}},
    "grid": {"0.0": {group: {"mendgraph": dict(GOOD)} for group in GROUPS}},
}
STATE = {"sizes": {"10": {"a": 1}}, "slope": 1.0, "from": 10}


def worse(**changes):
    figures = copy.deepcopy(RECOVERY)
    figures["grid"]["0.0"]["explicit transient"]["mendgraph"] |= changes
    return figures


def test_good_figures_break_no_guard():
    """What is as it should be passes."""
    assert broken("recovery", RECOVERY) == []
    assert broken("state_size", STATE) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"success": 0.5}, "success 50%"),
        ({"false_success": 1}, "1 false successes"),
        ({"duplicates": 2}, "2 effects happened twice"),
        ({"wasted_per_success": 0.5}, "0.5 wasted calls"),
        ({"most_at_hopeless": 90}, "more than 12 calls"),
    ],
)
def test_each_regression_breaks_its_guard(changes, told):
    """Less success, a lie, a repeated effect, waste and runaway calls are all seen."""
    found = broken("recovery", worse(**changes))
    assert any(told in each for each in found)


def test_a_missed_target_is_called_missed():
    """The summary is computed: worse figures turn the line around."""
    lines = {t.what: t.met for t in all_targets({"state_size": STATE})}
    assert lines == {"checkpoint bytes a step, slope": True}
    grown = {t.met for t in all_targets({"state_size": {**STATE, "slope": 1.3}})}
    assert grown == {False}


def test_the_page_names_misses_and_losses():
    """Targets missed and peers that are better stand on the page."""
    figures = worse(success=0.5)
    other = {**GOOD, "model_calls": 0.5}
    figures["grid"]["0.0"]["explicit transient"]["peer"] = other
    kept = {
        "machine": {
            "date": "2026-01-01",
            "cores": 2,
            "cpu": "some cpu",
            "system": "Linux",
            "load": [0.1],
            "versions": {"python": "3.11"},
        },
        "measures": {
            "recovery": {"figures": figures, "command": "python x.py", "seconds": 1.0}
        },
    }
    for row in figures["grid"]["0.0"].values():
        row.setdefault("peer", dict(GOOD))
    page = write_page(kept, {}, {})
    assert "**missed**" in page
    assert "peer succeeds in 100% of the runs, mendgraph in 50%" in page
    assert "`python x.py`" in page


def test_the_last_line_must_be_json():
    """A measure that ends without its figures has failed."""
    runner = importlib.import_module("all")
    assert runner.last_json('table\n{"a": 1}\n') == {"a": 1}
    with pytest.raises(TypeError, match="no JSON object"):
        runner.last_json("[1]")


def test_turns_are_interleaved_and_compared_turn_by_turn():
    """Every turn runs all jobs, in changing order; ratios are of the same turn."""
    order = []

    def job(name, cost):
        async def run():
            order.append(name)
            return Cost(cost, cost, {})

        return run

    found = interleaved({"a": job("a", 2.0), "b": job("b", 1.0)}, 2)
    assert order == ["a", "b", "b", "a"]
    assert ratio_of(found["a"], found["b"], "wall_ms") == {
        "median": 2.0,
        "low": 2.0,
        "high": 2.0,
    }
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_what_an_older_commit_did_stands_beside():
    """Both come from figures; nothing is shown where one side is missing."""
    runner = importlib.import_module("changes")
    old = {
        "commit": "abc1234",
        "measures": {"recovery": {"figures": worse(success=0.5)}},
    }
    told = runner.changes({"recovery": RECOVERY}, old)
    assert "`abc1234`" in told
    assert "| success under faults, q = 0.0 | 0.9 | 1 |" in told
    assert runner.changes({}, old) == ""
    assert runner.changes({"recovery": RECOVERY}, {}) == ""


def test_the_makespan_guard_sees_a_barrier():
    """Where a branch waits for a slow sibling, the guard says in which graph."""
    row = {"median": 1.6, "low": 1.5, "high": 1.7}
    figures = {"cases": {"layered": {"mendgraph": row}}}
    assert broken("makespan", figures) == ["makespan: layered: 1.50 x the bound"]


def test_every_measure_has_a_section_and_every_figure_is_there():
    """The figures that were kept fill the whole page; none is left out unseen."""
    runner = importlib.import_module("all")
    page, briefs = importlib.import_module("page"), importlib.import_module("briefs")
    names = {measure.name for measure in runner.MEASURES}
    assert names == page.SECTIONS.keys() | briefs.BRIEFS.keys()
    kept = json.loads(runner.KEPT.read_text(encoding="utf-8"))["measures"]
    for name in briefs.BRIEFS.keys() & kept.keys():
        told = briefs.brief(name, kept[name]["figures"])
        assert told.startswith(f"## {briefs.BRIEFS[name].title}")
