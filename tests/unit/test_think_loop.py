"""Planning by a model through the public API: asked, checked, mended, paused, resumed."""

import asyncio

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from mendgraph import Limits, ToolPolicy, create_mend_agent
from mendgraph.state.lesson import Found, Lesson
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.scripted import Line, ScriptedModel
from mendgraph.tools.models.errors import ModelOutOfMoney, ModelUnavailable
from mendgraph.tools.vault import Vault

CONFIG = {"configurable": {"thread_id": "t"}}
HOWS = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


def look_up(order: int) -> dict:
    """Look an order up."""
    return {"order": order, "total": 40}


def pay(order: int, amount: int) -> dict:
    """Pay an order back."""
    return {"paid": amount}


LOOK = {"id": "look", "tool": "look_up", "inputs": {"order": 7}, "risk": "low"}
PAY = {
    "id": "pay",
    "tool": "pay",
    "inputs": {"order": 7, "amount": "{{ look.total }}"},
    "depends_on": ["look"],
    "risk": "low",
}


def planned(*steps, **fields):
    return {"goal": "g", "rationale": "r", "steps": list(steps), **fields}


async def no_sleep(_seconds):
    return None


class Desk:
    """An agent whose model answers by role."""

    def __init__(self, script, *, saver=True, fallback_models=(), **options):
        self.said = ByRole(script)
        self.model = ScriptedModel(script=self.said)
        self.store = InMemoryStore()
        self.agent = create_mend_agent(
            self.model,
            fallback_models=fallback_models,
            tools=[look_up, pay],
            assume="read",
            checkpointer=InMemorySaver() if saver else None,
            store=self.store,
            sleep=no_sleep,
            seeded=False,
            **options,
        )

    def run(self, given, how="invoke"):
        if how == "invoke":
            return self.agent.invoke(given, CONFIG)
        return asyncio.run(self.agent.ainvoke(given, CONFIG))

    def answer(self, result, kind, message=None, how="invoke"):
        asked = result["__interrupt__"][0]
        decision = {"type": kind, **({"message": message} if message else {})}
        resume = {asked.id: {"decisions": [decision]}}
        return self.run(Command(resume=resume), how)

    def told(self, number):
        return "\n".join(str(m.text) for m in self.model.prompts[number])


def question(result):
    value = result["__interrupt__"][0].value
    return value["metadata"]["kind"], value["action_requests"][0]["description"]


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
    other = planned({**LOOK, "id": "l2"}, {**HIGH, "id": "p2", "depends_on": ["l2"],
                    "inputs": {"order": 7, "amount": "{{ l2.total + 0 }}"}})
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


OUT_OF_MONEY = ModelOutOfMoney("Insufficient Balance")
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
