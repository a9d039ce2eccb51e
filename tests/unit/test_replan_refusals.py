"""What a replan may not do, and where it ends (F41, F42, F45)."""

import runpy
from pathlib import Path

import pytest

from mendgraph import Limits

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "replan_desk.py"))
CONFIG = KIT["CONFIG"]
HOWS = KIT["HOWS"]
World = KIT["World"]
step = KIT["step"]
line_of = KIT["line_of"]
reflection = KIT["reflection"]
instead = KIT["instead"]
Desk = KIT["Desk"]
given = KIT["given"]

REFUSED = {
    "an unknown tool": (
        {"replace": [instead("s2", "n2", tool="rm_rf")]},
        "rm_rf",
    ),
    "an id used before": ({"replace": [instead("s2", "s1")]}, "was used before"),
    "a step outside the cone": (
        {"replace": [instead("s2", "n2")], "drop": ["s1"]},
        "'s1' is not affected",
    ),
    "the plan that failed": (
        {
            "replace": [
                {
                    **step("n2", "s1"),
                    "inputs": {"name": "s2", "number": "{{ s1.number }}"},
                    "replaces": "s2",
                }
            ]
        },
        "the plan that failed",
    ),
    "the failed step": ({"drop": ["s3"]}, "'s2' failed; replace it"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_an_unsound_patch_is_refused_and_asked_for_again(fault):
    """Rights never widen, ids never come back, the same plan is never tried again."""
    world = World("s2")
    wrong, told = REFUSED[fault]
    good = {"replace": [instead("s2", "n2", depends_on=["s1"])]}
    desk = Desk(world, {"reflect": [reflection()], "replan": [wrong, good]})
    result = desk.run(given(*line_of(3)))
    assert result["status"] == "done"
    assert told in desk.prompts("replan")[1]
    assert world.calls["n2"] == 1


def test_a_replan_cannot_drop_an_effect():
    """A step whose effect happened stays, whatever the model wants (F17)."""
    world = World("s2")
    steps = [step("pay", tool="send"), step("s2"), step("s3", "s2")]
    steps[1]["depends_on"] = ["pay"]
    blamed = reflection(cause_step="pay")
    drops = {"replace": [instead("s2", "n2", depends_on=[])], "drop": ["pay"]}
    good = {"replace": [instead("s2", "n2")]}
    desk = Desk(world, {"reflect": [blamed], "replan": [drops, good]})
    result = desk.run(given(*steps))
    assert result["status"] == "done"
    assert world.calls["pay"] == 1
    assert "'pay'" in desk.prompts("replan")[1]
    assert "pay" in [s["id"] for s in desk.values["plan"]["steps"]]


def test_a_tool_the_rules_deny_stays_denied_in_a_new_plan():
    """A replan may name it; the call is refused all the same."""
    world = World("s1")
    patch = {"replace": [instead("s1", "n1", tool="danger")]}
    script = {
        "reflect": [reflection(), reflection("give_up")],
        "replan": [patch],
    }
    desk = Desk(world, script)
    result = desk.run(given(step("s1")))
    assert result["status"] == "failed"
    assert world.calls["n1"] == 0
    assert "not authorised" in result["answer"]


def test_a_cause_upstream_is_replaced_with_what_came_of_it():
    """The step that gave the bad output is made anew, and all that read it (F26)."""
    world = World("s3")
    patch = {
        "replace": [
            instead("s2", "n2", depends_on=["s1"]),
            instead("s3", "n3", depends_on=["n2"]),
        ]
    }
    script = {"reflect": [reflection(cause_step="s2")], "replan": [patch]}
    desk = Desk(world, script)
    result = desk.run(given(*line_of(3)))
    assert result["status"] == "done"
    assert world.calls["s1"] == 1
    assert world.calls["n2"] == 1
    assert desk.values["steps"]["s2"]["status"] == "void"


@HOWS
def test_replans_are_bounded_and_the_reason_is_said(how):
    """A plan that never works ends with what is done, within the caps (F45, F47)."""
    world = World()
    world.broken = {f"n{n}" for n in range(100)} | {"s2"}
    numbers = iter(range(100))

    def patch(_messages):
        state = next(numbers)
        old = "s2" if state == 0 else f"n{state - 1}"
        new = step(f"n{state}", "s1")
        return {"replace": [{**new, "replaces": old}]}

    script = {"reflect": lambda _: reflection(), "replan": patch}
    desk = Desk(
        world,
        script,
        saver=False,
        limits=Limits(replans=2, reasoning_tokens=10**6, corrections_per_step=9),
    )
    result = desk.run(given(*line_of(2)), how)
    assert result["status"] == "partial"
    assert result["report"]["replans"] == 2
    assert "replans exhausted (2 of 2)" in result["answer"]
    assert result["report"]["stopped_by"] == "replans exhausted (2 of 2)"
    assert world.calls["s1"] == 1


def test_a_lineage_that_never_works_is_given_up():
    """Three corrections of one lineage, then it is unrecoverable (F45)."""
    world = World()
    world.broken = {f"n{n}" for n in range(100)} | {"s2"}
    numbers = iter(range(100))

    def patch(_messages):
        state = next(numbers)
        old = "s2" if state == 0 else f"n{state - 1}"
        return {"replace": [{**step(f"n{state}", "s1"), "replaces": old}]}

    script = {"reflect": lambda _: reflection(), "replan": patch}
    limits = Limits(replans=50, reasoning_tokens=10**6, model_calls=10**4)
    desk = Desk(world, script, saver=False, limits=limits)
    result = desk.run(given(*line_of(2)))
    assert result["status"] == "partial"
    assert result["report"]["replans"] <= 3


@HOWS
def test_a_proposal_against_an_old_version_is_kept_as_a_conflict(how):
    """Whoever read version 1 cannot overwrite version 2; the report says so (F42)."""
    world = World("s2")
    script = {
        "reflect": [reflection()],
        "replan": [{"replace": [instead("s2", "n2", depends_on=["s1"])]}],
    }
    desk = Desk(world, script, interrupt_on={"other": True})
    desk.run(given(*line_of(3)), how)
    plan = desk.values["plan"]
    assert plan["version"] == 2
    stale = {**plan, "version": 2, "steps": [step("mine")]}
    proposal = {"base_version": 1, "author": "another process", "plan": stale}
    desk.agent.update_state(CONFIG, {"plan": proposal}, as_node="replan")
    assert [s["id"] for s in desk.values["plan"]["steps"]] == ["s1", "n2", "s3"]
    result = desk.answer(desk.run(None, how), "approve")
    assert result["status"] == "done"
    assert world.calls["mine"] == 0
    assert result["report"]["conflicts"] == [
        {
            "base_version": 1,
            "current_version": 2,
            "proposed_version": 2,
            "author": "another process",
            "steps": ["mine"],
        }
    ]


def called_as(step_id, name, *needs, **fields):
    """Return a step that makes the call of another one."""
    made = step(step_id, *needs, **fields)
    return {**made, "inputs": {**made["inputs"], "name": name}}


def test_a_call_known_to_fail_does_not_come_back_under_another_id():
    """Two versions later, too, and although the model says it replaces nothing."""
    world = World("s2", "n2")
    back = {"replace": [{**called_as("n3", "s2", "s1"), "replaces": "n2"}]}
    other = {"replace": [{**called_as("n2", "n2", "s1"), "replaces": "s2"}]}
    good = {"replace": [instead("n2", "n4", depends_on=["s1"])]}
    script = {"reflect": lambda _: reflection(), "replan": [other, back, good]}
    desk = Desk(world, script)
    result = desk.run(given(*line_of(3)))
    assert result["status"] == "done"
    assert world.calls["s2"] == 1
    assert "makes the call of 's2' again" in desk.prompts("replan")[2]


def test_it_may_come_back_behind_a_step_that_mends_what_was_missing():
    """The new step comes first, so this time the call may succeed."""
    world = World("s2")
    again = called_as("n2", "s2", "s1")
    again["depends_on"] = ["s1", "fix"]
    patch = {"replace": [{**again, "replaces": "s2"}], "add": [step("fix", "s1")]}

    def mended(_messages):
        world.broken.discard("s2")
        return patch

    desk = Desk(world, {"reflect": [reflection()], "replan": mended})
    result = desk.run(given(*line_of(2)))
    assert result["status"] == "done"
    assert world.calls["s2"] == 2


@pytest.mark.parametrize(
    "fix", [reflection("retry"), reflection("patch", patch={"name": "s2"})]
)
def test_a_fix_that_makes_the_failed_call_again_is_widened(fix):
    """It is not tried: the plan is mended instead, and the reason is said."""
    world = World("s2")
    patch = {"replace": [instead("s2", "n2", depends_on=["s1"])]}
    desk = Desk(world, {"reflect": [fix], "replan": [patch]})
    result = desk.run(given(*line_of(3)))
    assert result["status"] == "done"
    assert world.calls["s2"] == 1
    (looked,) = [r for r in desk.values["reflections"] if not r.get("light")]
    assert looked["decision"] == "local_replan"
    assert "the same call is known to fail" in looked["next_action"]


def test_what_a_person_has_put_right_may_be_tried_again():
    """After an answer the same call is no repetition: something has changed."""
    world = World("s2")
    again = {**called_as("n2", "s2", "s1"), "risk": "low"}
    whole = {"goal": "g", "steps": [again], "keep": ["s1"]}
    desk = Desk(world, {"reflect": [reflection("clarify")], "plan": [whole]})
    asked = desk.run(given(*line_of(2)))
    world.broken.discard("s2")
    result = desk.answer(asked, "respond", "s2 exists now; try it again")
    assert result["status"] == "done"
    assert world.calls["s2"] == 2
