"""What may run next follows from the plan and the records, and from nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from mendgraph.state.algebra import ancestors, topological
from mendgraph.state.outcome import StepStatus
from mendgraph.state.plan import Plan
from mendgraph.state.schedule import SETTLED, all_done, runnable, status_of

STATUSES = list(StepStatus)


@st.composite
def cases(draw):
    """A plan of up to seven steps, and records of some of them."""
    count = draw(st.integers(1, 7))
    steps = [
        {
            "id": f"s{index}",
            "dependencies": [
                f"s{other}" for other in range(index) if draw(st.booleans())
            ],
        }
        for index in range(count)
    ]
    plan = Plan.model_validate({"steps": steps})
    some = draw(st.dictionaries(st.sampled_from(plan.ids), st.sampled_from(STATUSES)))
    return plan, {i: {"status": status.value} for i, status in some.items()}


@given(cases())
def test_nothing_runs_whose_needs_can_not_be_met(case):
    """Every ancestor of a sent step is done or sent with it, never failed."""
    plan, records = case
    sent = {step.id for step in runnable(plan, records)}
    for step_id in sent:
        for needed in plan.step(step_id).dependencies:
            assert needed in sent or status_of(records, needed) is StepStatus.DONE


@given(cases())
def test_everything_that_can_run_is_sent(case):
    """An unsettled step stays behind only when something above it is in the way."""
    plan, records = case
    sent = {step.id for step in runnable(plan, records)}
    stuck = SETTLED - {StepStatus.DONE}
    for step_id in plan.ids:
        if status_of(records, step_id) in SETTLED:
            assert step_id not in sent
        elif step_id not in sent:
            above = {status_of(records, i) for i in ancestors(plan, step_id)}
            assert above & stuck


@given(cases())
def test_steps_are_sent_in_topological_order(case):
    """The order is that of the plan's arithmetic: no branch waits for a later one."""
    plan, records = case
    sent = runnable(plan, records)
    assert list(sent) == [step for step in topological(plan) if step in sent]


@given(cases())
def test_records_of_other_plans_change_nothing(case):
    """Steps that were planned away cannot be scheduled and block nobody."""
    plan, records = case
    gone = {"old": {"status": "failed"}, "older": {"status": "pending"}}
    assert runnable(plan, {**records, **gone}) == runnable(plan, records)


@given(cases())
def test_a_plan_is_done_when_each_of_its_steps_is(case):
    """One step that is not done is enough."""
    plan, records = case
    done = {i: {"status": "done"} for i in plan.ids}
    assert all_done(plan, done)
    assert runnable(plan, done) == ()
    some = {**done, plan.ids[0]: {"status": "blocked"}}
    assert not all_done(plan, some)
    assert all_done(plan, records) == all(
        status_of(records, i) is StepStatus.DONE for i in plan.ids
    )


def test_a_failed_dependency_never_counts_as_satisfied():
    """Downstream of a failure nothing runs; beside it everything does."""
    plan = Plan.model_validate(
        {
            "steps": [
                {"id": "a"},
                {"id": "b", "dependencies": ["a"]},
                {"id": "c", "dependencies": ["b"]},
                {"id": "d"},
            ]
        }
    )
    sent = runnable(plan, {"a": {"status": "failed"}})
    assert [step.id for step in sent] == ["d"]


def test_a_blocked_step_is_sent_again():
    """Blocked is no end: the next round tries it once more."""
    plan = Plan.model_validate({"steps": [{"id": "a"}, {"id": "b"}]})
    sent = runnable(plan, {"a": {"status": "done"}, "b": {"status": "blocked"}})
    assert [step.id for step in sent] == ["b"]
