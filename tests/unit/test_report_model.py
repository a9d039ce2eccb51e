"""The view of a run: nodes, bars, figures and the first words a reader sees."""

import runpy
from pathlib import Path

import pytest

from mendgraph.report import RunView, view

STATES = runpy.run_path(
    str(Path(__file__).parents[1] / "services" / "report_states.py")
)


def seen(name: str, **changes) -> RunView:
    given = STATES[name]()
    return view({**given.pop("state"), **changes}, **given)


def node(run: RunView, step_id: str):
    return next(each for each in run.nodes if each.id == step_id)


def figure(run: RunView, label: str):
    return next(each for each in run.figures if each.label == label)


def test_healed_run_counts_as_the_document_counts() -> None:
    """The figures of section 10.6 come out of the records of that run."""
    run = seen("healed")
    expected = {
        "Steps in the plan": "5",
        "Executions": "7",
        "Corrections": "2",
        "Tier 1 retries": "0",
        "Tier 2 retries": "2",
        "Tier 3 fallbacks": "0",
        "Model calls": "6",
        "Tokens": "12,000",
        "Correction amplification": "2.00",
        "Reflections": "2",
    }
    found = {f.label: f.value for f in run.figures if f.label in expected}
    assert expected == found
    assert figure(run, "Executions").note == "5 succeeded, 2 failed"


def test_a_mended_step_says_what_mended_it() -> None:
    """A step that worked at the second try names the tier and the change."""
    mended = node(seen("healed"), "s4")
    assert mended.mended
    assert mended.why == 'mended by tier2: quoted the reserved word "timestamp"'
    assert mended.failures == 1


def test_a_replaced_step_stays_visible_with_its_heir() -> None:
    """Steps of earlier versions are kept, with their last version and their heirs."""
    run = seen("wide")
    old, new = node(run, "check-lakes"), node(run, "check-lakes-2")
    assert old.until == 1
    assert old.replaced_by == ("check-lakes-2",)
    assert old.why == "replaced by check-lakes-2; totals differ by 14"
    assert (new.since, new.until, new.replaces) == (2, None, "check-lakes")
    assert figure(run, "Steps in the plan").value == "50"


def test_first_versions_are_unknown_without_the_history() -> None:
    """With only version 2 known, nobody claims to know when a step was planned."""
    assert node(seen("failed"), "find").since is None


def test_an_unfinished_run_says_what_is_missing_and_why() -> None:
    """Every step that is not done is listed with its reason, before anything else."""
    verdict = seen("failed").verdict
    assert verdict.headline == "Partly done: 3 of 8 steps"
    reasons = {item.step_id: item.why for item in verdict.unfinished}
    assert set(reasons) == {"refund", "ledger", "mail", "stock", "close"}
    assert "did not answer in 30 s" in reasons["refund"]
    assert "the retries are used up" in reasons["refund"]
    assert reasons["ledger"] == "waits for refund"
    assert reasons["close"] == "never started"


def test_an_effect_nobody_knows_the_end_of_is_a_warning() -> None:
    """An in-doubt ledger entry is told at the top, whatever the status."""
    warnings = seen("failed").verdict.warnings
    assert any("Nobody knows whether the effect of refund" in w for w in warnings)
    assert any(w.startswith("Retries used up: 2 of 2") for w in warnings)


def test_a_false_done_is_contradicted() -> None:
    """A thread that says done while steps are open is not believed."""
    verdict = seen("failed", status="done").verdict
    assert any("says done, yet 5 steps" in warning for warning in verdict.warnings)


def test_a_paused_run_tells_who_is_waited_for() -> None:
    """An open question is told at the top and at its step; nothing is called dead."""
    given = STATES["failed"]()
    state = {**given["state"], "status": "running"}
    question = {
        "action_requests": [{"name": "close_case", "description": "Close case 7?"}],
        "metadata": {"step_id": "close"},
    }
    run = view(state, questions=[question])
    assert "A person is asked (close): Close case 7?" in run.verdict.warnings
    assert node(run, "close").why == "waits for an answer: Close case 7?"
    assert run.verdict.headline == "Not finished yet: 3 of 8 steps done"
    assert node(view(state), "close").why == "no result yet"


def test_the_reason_of_the_stop_is_a_warning() -> None:
    """What ended the run early is said, from the run's own report."""
    run = seen("failed", report={"stopped_by": "retries exhausted (2 of 2)"})
    assert "Stopped: retries exhausted (2 of 2)" in run.verdict.warnings


def test_limits_come_from_the_runs_own_report() -> None:
    """The allowances shown are those the run had, not the defaults."""
    run = seen("failed", report={"limits": {"model_calls": 5}})
    meter = next(each for each in run.meters if each.label == "Model calls")
    assert (meter.spent, meter.allowed, meter.share) == (4, 5, 0.8)


def test_dropped_luxuries_are_apart_from_notes() -> None:
    """What the budget ladder left out has a list of its own."""
    run = seen("failed")
    assert [each.text for each in run.dropped] == [
        "Candidate plans: one path instead of three.",
        "The plan was not criticised by the model.",
    ]
    assert [each.kind for each in run.notes] == ["signal"]


def test_corrections_carry_the_reflection_behind_them() -> None:
    """A correction finds the reflection on the same step with the same signature."""
    first, second = seen("healed").corrections
    assert first.reflection is not None
    assert first.reflection.confirmed_cause == "s3 left the reserved word unquoted"
    assert second.reflection is not None
    assert second.reflection.confirmed_cause is None


def test_bars_count_from_the_runs_beginning() -> None:
    """Times are seconds since the first thing known; the mending bar is marked."""
    bars = [bar for bar in seen("healed").bars if bar.step_id == "s4"]
    assert [round(bar.start, 1) for bar in bars] == [7.4, 12.6]
    assert [bar.mends for bar in bars] == [False, True]
    assert bars[1].asked_for == pytest.approx(10.6)


def test_most_calls_at_once_is_measured() -> None:
    """Twelve branches that really overlapped are twelve calls at once."""
    assert figure(seen("wide"), "Most calls at once").value == "12"
    assert figure(seen("healed"), "Most calls at once").value == "1"


def test_secrets_are_masked_wherever_they_came_in() -> None:
    """A key in an error text does not reach the view."""
    run = seen("healed", answer="use sk-abcdefghijklmnopqrstuvwx")
    assert run.answer == "use ***"


@pytest.mark.parametrize(
    "plan", [None, {"given": {"steps": "nonsense"}}, {"given": {"steps": []}}]
)
def test_a_run_without_a_readable_plan_still_has_a_view(plan) -> None:
    """Before planning, and after a plan that could not be read, nothing is invented."""
    run = view({"task": "t", "status": "failed", "plan": plan})
    assert run.verdict.headline == "Failed: there is no plan with steps"
    assert run.nodes == ()


def test_an_empty_state_is_a_run_that_has_not_begun() -> None:
    """No channel at all reads as running, with nothing spent."""
    run = view({})
    assert (run.status.value, run.started_at, run.span_s) == ("running", None, 0.0)
    assert run.caf is None


def test_records_of_unplanned_steps_are_shown_as_past() -> None:
    """A record whose step no known plan has is kept, marked as no longer planned."""
    run = seen("healed", plan={**STATES["healed"]()["state"]["plan"], "steps": []})
    assert {each.id for each in run.nodes} == {"s1", "s2", "s3", "s4", "s5"}
    assert all(each.retired for each in run.nodes)


def test_strategy_board_puts_active_strategies_first() -> None:
    """The board is ordered by state, then by use, with measured rates."""
    make = STATES["strategy"]
    rows = view(
        {}, strategies=[make("a", "x:y:z", 0, 0), make("b", "x:y:w", 8, 6)]
    ).strategies
    assert [(row.id, row.success_rate) for row in rows] == [("b", 0.75), ("a", None)]
    assert rows[0].resolve_s == 3.4
