"""Merging a proposal changes only what may change, and refuses the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.nodes.plan_shape import rename_expression, rename_value, shape
from mendgraph.nodes.replanning import (
    ReplanRefused,
    global_merge,
    merge_patch,
    reset_merge,
)
from mendgraph.nodes.schemas import ReplanDraft
from mendgraph.state.algebra import cone, find_cycle
from mendgraph.state.plan import Plan, Step


def step(step_id: str, *needs: str, tool: str = "query", **fields: object) -> dict:
    inputs = fields.pop("inputs", {"from": [f"{{{{ {n}.rows }}}}" for n in needs]})
    return {
        "id": step_id,
        "tool": tool,
        "dependencies": list(needs),
        "inputs": inputs,
        **fields,
    }


PLAN = Plan.model_validate(
    {
        "goal": "report",
        "version": 3,
        "retired": ["s0"],
        "steps": [
            step("s1"),
            step("s2"),
            step("s3", "s1"),
            step("s4", "s3", validation_rule="size(output.rows) <= size(s3.rows)"),
            step("s5", "s4", "s2"),
        ],
    }
)
FAILED = {"failed": {"s3"}, "done": {"s1", "s2"}, "cone": cone(PLAN, "s3")}


def merged(draft: dict, **changes: object) -> Plan:
    given_ = {**FAILED, **changes}
    return merge_patch(PLAN, ReplanDraft.model_validate(draft), **given_)


def test_a_replacement_takes_the_place_and_dependents_follow():
    """Version goes up, the old id retires, bindings and rules lead to the new step."""
    plan = merged({"replace": [step("s6", "s1", tool="other", replaces="s3")]})
    assert plan.version == 4
    assert plan.retired == ("s0", "s3")
    assert plan.ids == ("s1", "s2", "s6", "s4", "s5")
    assert plan.step("s4").dependencies == ("s6",)
    assert plan.step("s4").inputs == {"from": ["{{ s6.rows }}"]}
    assert plan.step("s4").validation_rule == "size(output.rows) <= size(s6.rows)"
    assert plan.step("s1") == PLAN.step("s1")
    assert plan.step("s5") == PLAN.step("s5")


def test_a_step_may_be_split_in_two():
    """Dependents of a split step wait for both parts and read the last one."""
    first = step("s6", "s1", tool="a", replaces="s3")
    second = step("s7", "s6", tool="b", replaces="s3")
    plan = merged({"replace": [first, second]})
    assert plan.step("s4").dependencies == ("s6", "s7")
    assert plan.step("s4").inputs == {"from": ["{{ s7.rows }}"]}
    assert plan.step("s7").dependencies == ("s6",)


def test_a_replacement_without_dependencies_keeps_those_of_the_old_step():
    """Left-out dependencies are inherited; an empty list is meant as it is."""
    bare = {"id": "s6", "tool": "other", "replaces": "s3"}
    assert merged({"replace": [bare]}).step("s6").dependencies == ("s1",)
    told = {**bare, "dependencies": []}
    assert merged({"replace": [told]}).step("s6").dependencies == ()


def test_missing_steps_may_be_added():
    """A patch adds a step before the replacement."""
    new = step("s6", "s7", "s1", tool="query", replaces="s3", inputs={})
    plan = merged({"replace": [new], "add": [step("s7", tool="prepare")]})
    assert plan.step("s6").dependencies == ("s7", "s1")
    assert "s7" in plan.ids


NEW = step("s6", "s1", tool="other", replaces="s3")


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        ({"replace": [{**NEW, "id": "s2"}]}, "'s2' was used before"),
        ({"replace": [{**NEW, "id": "s0"}]}, "'s0' was used before"),
        ({"replace": [NEW], "drop": ["s2"]}, "'s2' is not affected"),
        ({"replace": [NEW], "drop": ["s9"]}, "no step 's9'"),
        ({"replace": [{**NEW, "replaces": None}]}, "which step it replaces"),
        ({"drop": ["s3"]}, "depends on 's3', which is no step"),
        ({"keep": ["s3"]}, "'s3' failed; replace it"),
        ({"replace": [{**NEW, "tool": "query"}]}, "the plan that failed"),
        ({"replace": [NEW, NEW]}, "there twice"),
        ({"replace": [NEW, {"description": "no id"}]}, "step 2, field id"),
        ({"replace": [{**NEW, "dependencies": ["s4"]}]}, "cycle"),
    ],
)
def test_a_patch_that_must_not_be_is_refused(draft, words):
    """Every refusal says what is wrong with which step."""
    with pytest.raises(ReplanRefused, match=words):
        merged(draft)


def test_a_step_with_an_effect_is_never_planned_away():
    """What stands in the ledger can be neither dropped nor replaced."""
    with pytest.raises(ReplanRefused, match="'s4' has had an effect"):
        merged({"replace": [NEW], "drop": ["s4", "s5"]}, effects={"s4"})


def test_a_finished_step_in_the_cone_keeps_its_result():
    """A finished step may be replaced only when its own output is to blame."""
    with pytest.raises(ReplanRefused, match="'s4' is finished"):
        merged({"replace": [NEW], "drop": ["s4", "s5"]}, done={"s1", "s2", "s4"})
    blamed = step("s6", tool="other", replaces="s1")
    around = {"failed": {"s1", "s3"}, "cone": cone(PLAN, "s1")}
    again = step("s7", "s6", replaces="s3", tool="other")
    plan = merged({"replace": [blamed, again]}, **around)
    assert plan.ids == ("s6", "s2", "s7", "s4", "s5")


def test_a_blamed_step_that_finished_may_stay():
    """A hypothesis about an earlier output does not force its replacement."""
    around = {"failed": {"s1", "s3"}, "cone": cone(PLAN, "s1")}
    plan = merged({"replace": [NEW]}, **around)
    assert plan.step("s1") == PLAN.step("s1")
    assert "s3" not in plan.ids


def test_a_global_replan_keeps_effects_and_what_is_used():
    """Finished steps stay if they had an effect, are named or are depended on."""
    plan = global_merge(
        PLAN,
        [Step.model_validate(step("n1", "s2"))],
        keep=["s4"],
        done={"s1", "s2", "s3"},
        effects={"s3"},
    )
    assert plan.ids == ("s1", "s2", "s3", "n1")
    assert plan.retired == ("s0", "s4", "s5")


def test_a_repeated_finished_step_counts_as_kept():
    """A planner that writes a finished step again does not run it again."""
    new = [Step.model_validate(each) for each in (step("s1"), step("n1", "s1"))]
    plan = global_merge(PLAN, new, done={"s1", "s2"})
    assert plan.ids == ("s1", "n1")


def test_a_global_replan_may_not_give_an_old_id_another_meaning():
    """The id of another step, finished or not, is refused."""
    for reused in (step("s1", tool="other"), step("s5"), step("s0")):
        with pytest.raises(ReplanRefused, match="was used before"):
            global_merge(PLAN, [Step.model_validate(reused)], done={"s1"})


def test_a_reset_keeps_only_effects():
    """After a changed requirement only effects and what they rest on stay."""
    new = [Step.model_validate(step("n1"))]
    plan = reset_merge(PLAN, new, effects={"s3"}, goal="another report")
    assert plan.ids == ("s1", "s3", "n1")
    assert plan.goal == "another report"
    with pytest.raises(ReplanRefused, match="depends on 's2', which is no step"):
        reset_merge(PLAN, [Step.model_validate(step("n1", "s2"))], effects={"s3"})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("s3.rows", "n1.rows"),
        ("size(s3.rows) + s31.rows + a.s3", "size(n1.rows) + s31.rows + a.s3"),
        ("'s3' + s3.text", "'s3' + n1.text"),
        ('steps["s3"].rows', "n1.rows"),
        ("s4.rows", "steps['n-2'].rows"),
    ],
)
def test_expressions_are_led_to_other_steps(source, expected):
    """Names and indexed ids are renamed; fields, texts and longer names are not."""
    names = {"s3": "n1", "s4": "n-2"}
    assert rename_expression(source, names) == expected


def test_text_outside_templates_is_never_renamed():
    """Only what stands between the braces refers to a step."""
    value = {"text": "s3 says {{ s3.text }} and s3", "list": ["{{ s3 }}", 3]}
    expected = {"text": "s3 says {{ n1.text }} and s3", "list": ["{{ n1 }}", 3]}
    assert rename_value(value, {"s3": "n1"}) == expected


def test_plans_are_compared_by_what_they_do():
    """Names, order and words do not matter; inputs and dependencies do."""
    first = Plan.model_validate({"steps": [step("a"), step("b", "a")]})
    named = [step("y", "x", description="words"), step("x")]
    assert shape(first) == shape(Plan.model_validate({"steps": named}))
    apart = [step("a"), step("b", inputs={"from": ["{{ a.rows }}"]})]
    assert shape(first) != shape(Plan.model_validate({"steps": apart}))


@st.composite
def failures(draw: st.DrawFn) -> tuple[Plan, set[str], set[str], dict]:
    """Draw a plan, what failed and finished in it, and any patch of its cone."""
    count = draw(st.integers(2, 12))
    steps = [
        step(f"s{i}", *(f"s{d}" for d in sorted(draw(st.sets(st.integers(0, i - 1))))))
        if i
        else step("s0")
        for i in range(count)
    ]
    plan = Plan.model_validate({"steps": steps})
    failed = f"s{draw(st.integers(0, count - 1))}"
    affected = cone(plan, failed)
    done = {i for i in plan.ids if i not in affected and draw(st.booleans())}
    ids = st.sampled_from([*plan.ids, "n1", "n2", "zz"])
    some = st.lists(ids, max_size=3, unique=True)
    new = st.builds(
        lambda i, needs, old: {"id": i, "tool": "t", "dependencies": needs, **old},
        st.sampled_from(["n1", "n2", "n3", "s0"]),
        some,
        st.sampled_from([{"replaces": failed}, {"replaces": max(affected)}]),
    )
    draft = draw(
        st.fixed_dictionaries(
            {
                "keep": some,
                "drop": some,
                "replace": st.lists(new, max_size=3),
                "add": st.lists(new, max_size=2),
            }
        )
    )
    return plan, {failed}, done, draft


@given(failures())
def test_whatever_is_proposed_the_merged_plan_is_sound(case):
    """A merged plan is acyclic, its ids unique, all outside the cone as it was."""
    plan, failed, done, draft = case
    affected = cone(plan, *failed)
    try:
        after = merge_patch(
            plan,
            ReplanDraft.model_validate(draft),
            failed=failed,
            done=done,
            cone=affected,
        )
    except ReplanRefused:
        return
    assert find_cycle(after) is None
    assert len(set(after.ids)) == len(after.ids)
    assert after.version == plan.version + 1
    assert not failed & set(after.ids)
    assert not set(after.ids) & set(after.retired)
    for each in plan.steps:
        if each.id not in affected:
            assert after.step(each.id) == each
