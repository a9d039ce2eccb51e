"""Plan algebra, reducers and compare-and-set hold for any plan."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.state.algebra import (
    PlanError,
    Proposal,
    accept,
    ancestors,
    cone,
    diff,
    downstream,
    find_cycle,
    lineage,
    reduce_plan,
    structural_problems,
    topological,
)
from mendgraph.state.limits import Spent, add_spent
from mendgraph.state.outcome import reduce_steps, reduce_trail
from mendgraph.state.plan import Plan, Step


@st.composite
def plans(draw, max_steps=8):
    """Any acyclic plan: a step may depend on those before it, listed in any order."""
    count = draw(st.integers(1, max_steps))
    steps = [
        {
            "id": f"s{index}",
            "tool": "x",
            "dependencies": draw(
                st.lists(st.integers(0, index - 1), unique=True).map(
                    lambda each: [f"s{i}" for i in each]
                )
            )
            if index
            else [],
        }
        for index in range(count)
    ]
    version = draw(st.integers(1, 50))
    return Plan.model_validate(
        {"version": version, "steps": draw(st.permutations(steps))}
    )


@given(plans())
def test_every_step_follows_what_it_depends_on(plan):
    """The order is a permutation of the plan in which dependencies come first."""
    order = [step.id for step in topological(plan)]
    assert sorted(order) == sorted(plan.ids)
    place = {step_id: index for index, step_id in enumerate(order)}
    assert all(
        place[needed] < place[step.id]
        for step in plan.steps
        for needed in step.dependencies
    )


@given(plans())
def test_independent_steps_keep_the_plans_order(plan):
    """A plan without dependencies runs as it is written."""
    loose = plan.model_copy(
        update={
            "steps": tuple(
                s.model_copy(update={"dependencies": ()}) for s in plan.steps
            )
        }
    )
    assert topological(loose) == loose.steps


@given(plans())
def test_above_and_below_are_each_others_mirror(plan):
    """A is above B exactly when B is below A, and nothing is above itself."""
    for one in plan.ids:
        assert one not in ancestors(plan, one)
        assert all(one in downstream(plan, two) for two in ancestors(plan, one))
        assert all(one in ancestors(plan, two) for two in downstream(plan, one))


@given(plans(), st.data())
def test_a_cone_is_closed_downwards(plan, data):
    """What depends on a step of the cone is in the cone; what is above it is not."""
    start = data.draw(st.sampled_from(plan.ids))
    inside = cone(plan, start)
    assert start in inside
    assert all(
        step.id in inside for step in plan.steps if inside & set(step.dependencies)
    )
    assert not inside & ancestors(plan, start)


@given(plans(), st.data())
def test_a_cone_of_several_is_the_union(plan, data):
    """The cone of two steps is what either of them reaches."""
    one, two = (data.draw(st.sampled_from(plan.ids)) for _ in range(2))
    assert cone(plan, one, two) == cone(plan, one) | cone(plan, two)


@given(plans(), st.data())
def test_a_cycle_is_found_and_named(plan, data):
    """Any back edge makes a cycle whose neighbours really depend on each other."""
    linked = [i for i in plan.ids if downstream(plan, i)]
    if not linked:
        return
    first = data.draw(st.sampled_from(linked))
    last = data.draw(st.sampled_from(sorted(downstream(plan, first))))
    steps = tuple(
        s.model_copy(update={"dependencies": (*s.dependencies, last)})
        if s.id == first
        else s
        for s in plan.steps
    )
    looped = plan.model_copy(update={"steps": steps})
    cycle = find_cycle(looped)
    assert cycle is not None
    assert cycle[0] == cycle[-1]
    assert all(a in looped.step(b).dependencies for a, b in pairwise(cycle))
    with pytest.raises(PlanError, match="cycle"):
        topological(looped)
    assert any("cycle" in each for each in structural_problems(looped, 100))


@given(plans())
def test_a_sound_plan_has_no_structural_problem(plan):
    """Acyclic, known ids, within the cap: nothing to say; one over the cap: one."""
    assert structural_problems(plan, len(plan.steps)) == []
    over = structural_problems(plan, len(plan.steps) - 1)
    assert over == [f"{len(plan.steps)} steps, but the limit is {len(plan.steps) - 1}"]


@given(plans(), plans())
def test_a_diff_accounts_for_every_step_once(before, after):
    """Kept, changed and added make the new plan; kept, changed and dropped the old."""
    found = diff(before, after)
    assert sorted(found.kept + found.changed + found.added) == sorted(after.ids)
    assert sorted(found.kept + found.changed + found.dropped) == sorted(before.ids)
    assert diff(before, before).changed == ()


@given(plans(), plans())
def test_only_a_proposal_against_the_current_version_is_taken(current, proposed):
    """Another base loses, the plan stays, and the conflict says whose and why."""
    base = current.version
    assert accept(current, Proposal(base_version=base, plan=proposed)) == proposed
    late = Proposal(base_version=base + 1, plan=proposed, author="replan")
    kept = accept(current, late)
    assert kept.steps == current.steps
    assert kept.version == current.version
    assert kept.conflicts[-1] == {
        "base_version": base + 1,
        "current_version": base,
        "proposed_version": proposed.version,
        "author": "replan",
        "steps": list(proposed.ids),
    }


@given(plans(), st.integers(2, 6))
def test_of_two_proposals_on_one_base_exactly_one_wins(plan, count):
    """However many come, the first moves the version on and the others are recorded."""
    state = plan.plain()
    for number in range(count):
        after = plan.model_copy(
            update={"version": plan.version + 1, "goal": str(number)}
        )
        proposal = Proposal(base_version=plan.version, plan=after, author=str(number))
        state = reduce_plan(state, proposal.plain())
    read = Plan.model_validate(state)
    assert read.goal == "0"
    assert [each["author"] for each in read.conflicts] == [
        str(n) for n in range(1, count)
    ]


@given(plans(), plans())
def test_a_plan_from_outside_is_held_until_it_is_judged(before, given_plan):
    """It displaces nothing: the plan there was comes back with `restore`."""
    held = reduce_plan(before.plain(), given_plan.plain() | {"steps": []})
    assert held["before"] == before.plain()
    again = reduce_plan(held, {"steps": [], "goal": "second"})
    assert again["given"] == {"steps": [], "goal": "second"}
    assert reduce_plan(again, {"restore": True}) == before.plain()
    assert reduce_plan(again, {"fresh": given_plan.plain()}) == given_plan.plain()
    assert reduce_plan(before.plain(), None) is None


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8, unique=True))
def test_a_lineage_is_the_first_of_a_chain_of_replacements(numbers):
    """However long the chain, every link leads to its first step."""
    names = [f"s{number}" for number in numbers]
    steps = tuple(
        Step(id=name, replaces=names[i - 1] if i else None)
        for i, name in enumerate(names)
    )
    plan = Plan(steps=steps)
    assert {lineage(plan, name) for name in names} == {names[0]}


def test_a_lineage_that_bites_its_tail_ends():
    """Two steps that claim to replace each other do not loop for ever."""
    plan = Plan(steps=(Step(id="a", replaces="b"), Step(id="b", replaces="a")))
    assert lineage(plan, "a") in {"a", "b"}


RECORDS = st.dictionaries(st.sampled_from("abcd"), st.integers(), max_size=4)


@given(RECORDS, RECORDS, RECORDS)
def test_step_records_merge_in_any_grouping(one, two, three):
    """The newest record wins, associatively; None empties the channel."""
    left = reduce_steps(reduce_steps(one, two), three)
    right = reduce_steps(one, reduce_steps(two, three))
    assert left == right == {**one, **two, **three}
    assert reduce_steps(one, None) == {}


@given(st.lists(st.integers()), st.lists(st.integers()))
def test_a_trail_only_grows_or_is_emptied(one, two):
    """Entries are appended in order; nothing is lost, None begins anew."""
    assert reduce_trail(one, two) == one + two
    assert reduce_trail(None, two) == two
    assert reduce_trail(one, None) == []


SPENT = st.builds(
    Spent,
    executions=st.integers(0, 99),
    tier1=st.integers(0, 9),
    replans=st.integers(0, 9),
)


@given(SPENT, SPENT, SPENT)
def test_deltas_add_up_in_any_order_and_grouping(one, two, three):
    """Branches may return in any order: the sum is the same."""
    plain = [each.plain() for each in (one, two, three)]
    forward = add_spent(add_spent(plain[0], plain[1]), plain[2])
    backward = add_spent(plain[2], add_spent(plain[1], plain[0]))
    assert forward == backward == one.plus(two).plus(three).plain()
    assert add_spent(None, plain[0]) == plain[0]
