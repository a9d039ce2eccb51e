"""Replanning through the public API: only the cone changes, nothing comes back."""

import runpy
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from mendgraph import create_mend_agent

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


@HOWS
def test_a_failure_at_step_twelve_of_twenty_changes_its_cone_only(how):
    """Eleven results stay, the failed step is replaced, the eight after it follow."""
    world = World("s12")
    script = {
        "reflect": [reflection()],
        "replan": [{"replace": [instead("s12", "n12", depends_on=["s11"])]}],
    }
    desk = Desk(world, script)
    result = desk.run(given(*line_of(20)), how)
    assert result["status"] == "done"
    assert result["report"]["plan_version"] == 2
    before = {f"s{n}": 1 for n in range(1, 12)}
    after = {f"s{n}": 1 for n in range(13, 21)}
    calls = dict(world.calls)
    failed = calls.pop("s12")
    assert failed >= 1
    assert calls == {**before, **after, "n12": 1}
    plan = desk.values["plan"]
    assert plan["retired"] == ["s12"]
    ids = [s["id"] for s in plan["steps"]]
    assert ids == [f"s{n}" if n != 12 else "n12" for n in range(1, 21)]
    assert result["answer"].endswith('s20: {"number":9}')
    assert desk.values["steps"]["s12"]["status"] == "void"


@HOWS
def test_pending_steps_of_a_replaced_plan_are_never_scheduled_again(how):
    """What the patch dropped is not called, whatever was pending before (F41)."""
    world = World("s2")
    patch = {
        "replace": [instead("s2", "n2", depends_on=["s1"])],
        "drop": ["s3", "s4", "s5"],
    }
    desk = Desk(world, {"reflect": [reflection()], "replan": [patch]})
    result = desk.run(given(*line_of(5)), how)
    assert result["status"] == "done"
    assert {name: world.calls[name] for name in ("s3", "s4", "s5")} == {
        "s3": 0,
        "s4": 0,
        "s5": 0,
    }
    statuses = {i: desk.values["steps"][i]["status"] for i in ("s3", "s4", "s5")}
    assert set(statuses.values()) == {"void"}
    assert result["report"]["done"] == ["s1", "n2"]


@HOWS
def test_a_patch_refused_again_and_again_leads_to_a_global_replan(how):
    """Finished results are kept by the new plan (F44)."""
    world = World("s2")
    wrong = {"replace": [instead("s2", "n2", tool="rm_rf")]}
    whole = {
        "goal": "g",
        "steps": [step("g2", "s1", tool="other")],
        "keep": ["s1"],
    }
    script = {"reflect": [reflection()], "replan": [wrong] * 3, "plan": [whole]}
    desk = Desk(world, script)
    result = desk.run(given(*line_of(3)), how)
    assert result["status"] == "done"
    assert world.calls["s1"] == 1
    assert result["report"]["done"] == ["s1", "g2"]
    assert desk.values["plan"]["retired"] == ["s2", "s3"]
    assert [c["action"] for c in desk.values["corrections"]][-1] == "global_replan"


def test_impossible_is_asked_about():
    """The mender's word that it cannot be done goes to a person, who may decide."""
    world = World("s2")
    script = {
        "reflect": [reflection()],
        "replan": [{"impossible": "no tool can do it"}],
        "plan": [{"steps": [step("g2", "s1", tool="other")], "keep": ["s1"]}],
    }
    desk = Desk(world, script)
    result = desk.run(given(*line_of(2)))
    value = result["__interrupt__"][0].value
    assert value["metadata"]["kind"] == "clarification"
    assert "no tool can do it" in value["action_requests"][0]["description"]
    result = desk.answer(result, "respond", "use the other tool")
    assert result["status"] == "done"
    assert "use the other tool" in desk.prompts("plan")[0]
    assert result["report"]["replans"] == 1


def test_retry_and_stop_are_understood_with_a_model_too():
    """Retry runs the failed step again, stop cancels; the model is not asked."""
    for said, status in (("retry", "done"), ("stop", "cancelled")):
        world = World("s2")
        script = {"reflect": [reflection("clarify")]}
        desk = Desk(world, script)
        result = desk.run(given(*line_of(3)))
        world.broken.clear()
        result = desk.answer(result, "respond", said)
        assert result["status"] == status
        assert world.calls["s1"] == 1


def test_an_answer_nobody_can_use_is_asked_about_again():
    """Without a model free text changes nothing; the question says what does."""
    world = World()

    def closed(name: str) -> dict:
        """Need a person."""
        world.calls[name] += 1
        raise PermissionError(13, "Permission denied")

    agent = create_mend_agent(
        None, tools=[closed], assume="read", checkpointer=InMemorySaver()
    )
    plan = {"steps": [{"id": "a", "tool": "closed", "inputs": {"name": "a"}}]}
    result = agent.invoke({"task": "t", "plan": plan}, CONFIG)
    for said, kept in (("do it differently", True), ("stop", False)):
        asked = result["__interrupt__"][0]
        answer = {"decisions": [{"type": "respond", "message": said}]}
        result = agent.invoke(Command(resume={asked.id: answer}), CONFIG)
        assert ("__interrupt__" in result) is kept
        if kept:
            again = result["__interrupt__"][0].value["action_requests"][0]
            assert "Answer 'retry' or 'stop'" in again["description"]
    assert result["status"] == "cancelled"


def test_the_correction_amplification_factor_is_reported():
    """Model calls made to mend by corrections made (F46)."""
    world = World("s2")
    script = {
        "reflect": [reflection()],
        "replan": [{"replace": [instead("s2", "n2", depends_on=["s1"])]}],
    }
    desk = Desk(world, script)
    result = desk.run(given(*line_of(3)))
    report = result["report"]
    mending = [role for role in desk.said.asked if role != "plan"]
    assert report["caf"] == len(mending) / report["corrections"]


def test_a_model_that_is_down_for_a_replan_pauses_and_goes_on():
    """The local replan itself is done after the pause, not a global one (F68)."""
    from mendgraph.tools.models.errors import ModelOutOfMoney

    world, mended = World("s2"), []
    good = {"replace": [instead("s2", "n2", depends_on=["s1"])]}

    def replan(_messages):
        return good if mended else ModelOutOfMoney("Insufficient Balance")

    desk = Desk(world, {"reflect": [reflection()], "replan": replan})
    result = desk.run(given(*line_of(3)))
    value = result["__interrupt__"][0].value
    assert value["metadata"]["kind"] == "model_unavailable"
    mended.append(True)
    result = desk.answer(result, "approve")
    assert result["status"] == "done"
    assert "plan" not in desk.said.asked
    assert world.calls["s1"] == 1
