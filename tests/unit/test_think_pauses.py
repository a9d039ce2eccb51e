"""A model that does not answer, answers nonsense or thinks aloud (F68, F10)."""

import asyncio
import runpy
from pathlib import Path

import pytest

from mendgraph import Limits
from mendgraph.tools.doubles.scripted import Line, ScriptedModel
from mendgraph.tools.models.errors import ModelUnavailable
from mendgraph.tools.vault import Vault

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "planning_desk.py"))
CONFIG = KIT["CONFIG"]
HOWS = KIT["HOWS"]
LOOK = KIT["LOOK"]
planned = KIT["planned"]
Desk = KIT["Desk"]
question = KIT["question"]
OUT_OF_MONEY = KIT["OUT_OF_MONEY"]

DOWN = ModelUnavailable("503 everywhere")

CUT = Line(text='{"goal": "g", "steps": [', finish_reason="length")

BROKEN = {
    "out of money": lambda: OUT_OF_MONEY,
    "unavailable": lambda: DOWN,
    "truncated": lambda: CUT,
    "invalid for ever": lambda: "this is no JSON",
}


@HOWS
@pytest.mark.parametrize("fault", BROKEN)
def test_a_model_that_does_not_answer_pauses_the_run(how, fault):
    """The pause says why; approve asks the model again and the run goes on (F68)."""
    mended = []

    def plan(_messages):
        return planned(LOOK) if mended else BROKEN[fault]()

    desk = Desk({"plan": plan})
    result = desk.run({"task": "look order 7 up"}, how)
    kind, text = question(result)
    assert kind == "model_unavailable"
    assert "try again" in text
    mended.append(True)
    result = desk.answer(result, "approve", how=how)
    assert result["status"] == "done"
    assert result["report"]["clarifications"] == 0
    assert "No model answers" not in desk.told(-1)


@pytest.mark.parametrize("fault", BROKEN)
def test_without_a_checkpointer_a_dead_model_ends_the_task_truthfully(fault):
    """Nobody can be asked, so the task fails and says why."""
    result = Desk({"plan": lambda _: BROKEN[fault]()}, saver=False).run({"task": "t"})
    assert result["status"] == "failed"
    assert "model" in result["answer"]
    assert result["report"]["executions"] == 0


def test_a_pause_that_is_rejected_ends_the_task():
    """Reject stops; nothing ran and it is said."""
    desk = Desk({"plan": lambda _: OUT_OF_MONEY})
    result = desk.answer(desk.run({"task": "t"}), "reject")
    assert result["status"] == "cancelled"
    assert "Insufficient Balance" in result["answer"]


def test_the_same_task_given_again_after_a_pause_is_planned():
    """A thread that waits for its model begins again when it gets its task again."""
    mended = []
    desk = Desk({"plan": lambda _: planned(LOOK) if mended else OUT_OF_MONEY})
    desk.run({"task": "look order 7 up"})
    mended.append(True)
    assert desk.run({"task": "look order 7 up"})["status"] == "done"


def test_a_pause_may_come_again():
    """Approve while the model is still down asks once more."""
    desk = Desk({"plan": lambda _: OUT_OF_MONEY})
    result = desk.answer(desk.run({"task": "t"}), "approve")
    assert question(result)[0] == "model_unavailable"


@HOWS
def test_the_next_model_answers_when_the_first_does_not(how):
    """Fallback models are asked in order, and the reasons are counted as calls."""
    second = ScriptedModel(script=[planned(LOOK)], model_name="second-double")
    desk = Desk({"plan": lambda _: OUT_OF_MONEY}, fallback_models=[second])
    result = desk.run({"task": "t"}, how)
    assert result["status"] == "done"
    assert len(second.prompts) == 1
    assert result["report"]["model_calls"] == 2


def test_reasoning_is_kept_apart_and_never_shown_again():
    """The vault finds it by plan version and role; no later prompt holds it (F10)."""
    secret = "I wonder about the kettle"
    wrong = planned({**LOOK, "tool": "rm_rf"})
    import json

    lines = [
        Line(text=json.dumps(wrong), reasoning=secret),
        Line(text=json.dumps(planned(LOOK)), reasoning=f"{secret} again"),
    ]
    desk = Desk({"plan": lines})
    result = desk.run({"task": "t"})
    assert result["status"] == "done"
    assert all(secret not in desk.told(number) for number in range(2))
    kept = asyncio.run(Vault(desk.store, "t").reasoning())
    found = {key: value for key, value in kept.items() if value["role"] == "plan"}
    assert {value["label"] for value in found.values()} == {"v1:plan"}
    plan = desk.agent.get_state(CONFIG).values["plan"]
    assert found[plan["rationale_ref"]]["reasoning"] == f"{secret} again"
    assert secret not in str(desk.agent.get_state(CONFIG).values)


def test_a_spent_model_budget_ends_the_task_without_a_pause():
    """No room for a call is a cap, not an outage: no person can top it up here."""
    desk = Desk({"plan": [planned(LOOK)]}, limits=Limits(model_calls=0))
    result = desk.run({"task": "t"})
    assert "__interrupt__" not in result
    assert result["status"] == "failed"
    assert "model_calls exhausted (0 of 0)" in result["answer"]
