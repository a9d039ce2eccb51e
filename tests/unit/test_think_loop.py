"""Planning by a model through the public API: asked, checked, mended."""

import asyncio
import runpy
from pathlib import Path

from mendgraph import Limits, ToolPolicy
from mendgraph.state.lesson import Found, Lesson
from mendgraph.tools.vault import Vault

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "planning_desk.py"))
CONFIG = KIT["CONFIG"]
HOWS = KIT["HOWS"]
look_up = KIT["look_up"]
pay = KIT["pay"]
LOOK = KIT["LOOK"]
PAY = KIT["PAY"]
planned = KIT["planned"]
Desk = KIT["Desk"]
question = KIT["question"]


@HOWS
def test_the_model_plans_and_code_runs_the_plan(how):
    """One call gives a plan, which runs as any given plan does."""
    desk = Desk({"plan": [planned(LOOK, PAY)]})
    result = desk.run({"task": "pay order 7 back"}, how)
    assert result["status"] == "done"
    assert '{"paid":40}' in result["answer"]
    assert desk.said.asked == ["plan"]
    assert result["report"]["model_calls"] == 1


@HOWS
def test_a_refused_plan_is_asked_for_again_with_its_problems_only(how):
    """The second prompt names the unknown tool; the first draft is data in it."""
    wrong = planned({**LOOK, "tool": "rm_rf"})
    desk = Desk({"plan": [wrong, planned(LOOK)]})
    result = desk.run({"task": "look order 7 up"}, how)
    assert result["status"] == "done"
    assert desk.said.asked == ["plan", "plan"]
    assert "rm_rf" not in desk.told(0)
    again = desk.told(1)
    assert "no tool" in again
    assert "rm_rf" in again


def test_a_plan_refused_three_times_ends_with_the_reasons():
    """Nothing runs, and the answer names what was wrong."""
    wrong = planned({**LOOK, "tool": "rm_rf"})
    desk = Desk({"plan": [wrong] * 3})
    result = desk.run({"task": "look order 7 up"})
    assert result["status"] == "failed"
    assert "refused 3 times" in result["answer"]
    assert "rm_rf" in result["answer"]
    assert result["report"]["executions"] == 0


@HOWS
def test_a_question_of_the_planner_is_asked_and_the_answer_planned_with(how):
    """needs_clarification interrupts; the answer re-enters think (F61)."""
    asks = planned(
        needs_clarification={"question": "Which order?", "options": ["7", "8"]}
    )
    desk = Desk({"plan": [asks, planned(LOOK)]})
    result = desk.run({"task": "look an order up"}, how)
    assert question(result) == ("clarification", "Which order?")
    meta = result["__interrupt__"][0].value["metadata"]
    assert meta["options"] == ["7", "8"]
    result = desk.answer(result, "respond", "number 7", how)
    assert result["status"] == "done"
    assert "Which order? => number 7" in desk.told(1)
    assert result["report"]["clarifications"] == 1


def test_a_planner_that_only_asks_is_stopped_by_the_cap():
    """The questions of one task are bounded, and the end says so."""
    asks = planned(needs_clarification={"question": "Which order?"})
    desk = Desk({"plan": lambda _: asks}, limits=Limits(clarifications=2))
    result = desk.run({"task": "look an order up"})
    for _ in range(2):
        result = desk.answer(result, "respond", "any")
    assert result["status"] == "failed"
    assert "clarifications exhausted (2 of 2)" in result["answer"]


def test_a_rejected_question_cancels_the_task():
    """A person who does not want to answer ends the task."""
    asks = planned(needs_clarification={"question": "Which order?"})
    desk = Desk({"plan": [asks]})
    result = desk.answer(desk.run({"task": "t"}), "reject", "leave it")
    assert result["status"] == "cancelled"
    assert "leave it" in result["answer"]


def test_a_planners_question_without_a_checkpointer_is_told():
    """Nobody can be asked: the task ends and the question is in the answer."""
    asks = planned(needs_clarification={"question": "Which order?"})
    result = Desk({"plan": [asks]}, saver=False).run({"task": "t"})
    assert result["status"] == "failed"
    assert "Which order?" in result["answer"]


def test_constraints_are_answered_one_by_one_and_checked():
    """An unanswered constraint is asked for again; a broken one is refused by code."""
    forbidden = "do not use the tool pay"
    given = {"task": "t", "constraints": [forbidden, "be quick"]}
    silent = planned(LOOK, constraint_answers={"c1": "pay is not used"})
    broken = planned(LOOK, PAY, constraint_answers={"c1": "met", "c2": "yes"})
    met = planned(LOOK, constraint_answers={"c1": "pay is not used", "c2": "one step"})
    desk = Desk({"plan": [silent, broken, met]})
    result = desk.run(given)
    assert result["status"] == "done"
    assert "be quick' has no answer" in desk.told(1)
    assert forbidden in desk.told(2)
    plan = desk.agent.get_state(CONFIG).values["plan"]
    assert plan["constraint_answers"] == {
        forbidden: "pay is not used; checked by code: forbidden_tools",
        "be quick": "one step",
    }


class Memory:
    """Knows one lesson about the tool `look_up`."""

    problems = ()

    def __init__(self):
        self.lesson = Lesson(
            id="l1",
            text="order numbers of 2020 begin with a zero",
            signature="execution_error:param_error:look_up",
            tool="look_up",
            category="execution_error",
            subclass="param_error",
            created_at=0.0,
        )

    async def recall(self, query, limit=5):
        return [Found(lesson=self.lesson, score=1.0)]

    async def remember(self, lesson):
        return lesson

    def __getattr__(self, name):
        async def nothing(*args, **kwargs):
            return None

        return nothing


def test_lessons_are_shown_as_data_and_named_in_the_report():
    """What memory knows of the tools stands fenced in the planner's prompt."""
    desk = Desk({"plan": [planned(LOOK)]}, memory=Memory())
    result = desk.run({"task": "look order 7 up"})
    assert "order numbers of 2020 begin with a zero" in desk.told(0)
    told = [n for n in result["report"]["notes"] if n["kind"] == "lessons"]
    assert "order numbers of 2020" in told[0]["text"]


HIGH = {**PAY, "risk": "high", "no_fallback_reason": "nothing else pays"}


@HOWS
def test_a_risky_task_gets_candidates_and_a_critique(how):
    """Three approaches are drafted and scored, the best is criticised (F05, F06)."""
    best = {**HIGH, "id": "pay_once"}
    scores = {
        "candidates": [
            {"index": 0, "feasibility": 0.5, "robustness": 0.5, "fit": 0.5},
            {"index": 1, "feasibility": 0.9, "robustness": 0.9, "fit": 0.9},
            {"index": 2, "feasibility": 0.4, "robustness": 0.4, "fit": 0.4},
        ]
    }
    other = planned(
        {**LOOK, "id": "l2"},
        {
            **HIGH,
            "id": "p2",
            "depends_on": ["l2"],
            "inputs": {"order": 7, "amount": "{{ l2.total + 0 }}"},
        },
    )
    script = {
        "plan": [
            planned(LOOK, HIGH),
            planned(LOOK, {**best, "validation_rule": "output.paid == 40"}),
            other,
        ],
        "score": [scores],
        "critique": [{"score": 0.9, "issues": []}],
    }
    desk = Desk(script, limits=Limits(reasoning_tokens=100_000))
    result = desk.run({"task": "pay order 7 back"}, how)
    assert result["status"] == "done"
    assert desk.said.asked == ["plan", "plan", "plan", "score", "critique"]
    assert "pay_once" in result["answer"]
    vault = Vault(desk.store, "t")
    kept = asyncio.run(vault.reasoning())
    candidates = [v for v in kept.values() if v["role"] == "candidates"]
    assert len(candidates[0]["candidates"]) == 3


def test_a_message_of_a_person_is_the_task():
    """The newest human message is planned for."""
    desk = Desk({"plan": [planned(LOOK)]})
    result = desk.run({"messages": [("user", "look order 7 up, please")]})
    assert result["status"] == "done"
    assert "look order 7 up, please" in desk.told(0)


def test_an_irreversible_tool_makes_a_task_risky():
    """Its policy, not the planner's word, brings candidates and a critique."""
    scores = {
        "candidates": [
            {"index": n, "feasibility": 1, "robustness": 1, "fit": 1} for n in range(3)
        ]
    }
    script = {
        "plan": lambda _: planned(LOOK, PAY),
        "score": [scores],
        "critique": [{"score": 0.9}],
    }
    policies = {"pay": ToolPolicy(effect="irreversible")}
    desk = Desk(script, policies=policies)
    desk.run({"task": "t"})
    assert "critique" in desk.said.asked
