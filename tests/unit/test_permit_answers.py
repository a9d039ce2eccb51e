"""Answers of people: several at once, wrong ones, the middleware's grammar (F62)."""

import runpy
from pathlib import Path

import pytest

from mendgraph.state.interrupts import AnswerError
from mendgraph.state.policy import AuthRule, Effect, ToolPolicy
from mendgraph.tools.doubles.faulty import FaultyTool

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "effect_world.py"))
World, step, answer, WAYS, ALL_WAYS = (
    KIT[name] for name in ("World", "step", "answer", "WAYS", "ALL_WAYS")
)

KEYED = ToolPolicy(effect=Effect.IRREVERSIBLE, idempotency_arg="key")
READ = ToolPolicy(effect=Effect.READ, idempotent=True)
BIG = AuthRule(tool="pay", when="args.amount > 100", decision="ask", reason="Much.")
NEVER = AuthRule(tool="pay", when="args.amount > 1000", decision="deny", reason="Cap.")
RULES = (NEVER, BIG)


def pay(order: str, amount: float, key: str = "", card: str = "") -> dict:
    """Pay for an order."""
    return {"order": order, "amount": amount, "key": key, "card": card}


def other_pay(order: str, amount: float, key: str = "", card: str = "") -> dict:
    """Pay elsewhere."""
    return {"order": order, "amount": amount, "elsewhere": True}


def world(faults=None, way=("sync", "memory"), folder=None, policy=KEYED, **options):
    """A world whose `pay` is kept to the rules."""
    tool = FaultyTool(pay, faults or {})
    policies = {"pay": policy, "other_pay": KEYED, **options.pop("policies", {})}
    tools = [tool, other_pay, *options.pop("more", ())]
    made = World(
        tools, way, folder, policies=policies, **{"authorise": RULES, **options}
    )
    made.tool = tool
    return made


@pytest.mark.parametrize("way", WAYS)
def test_parallel_approvals_are_answered_one_by_one(way, tmp_path):
    """Each by its id; an answer runs its own step and nothing else again."""
    seen = []

    def look(order: str) -> dict:
        """Look at an order."""
        seen.append(order)
        return {"amount": 500}

    here = world(way=way, folder=tmp_path, more=(look,), policies={"look": READ})
    plan = []
    for name in ("a", "b", "c"):
        plan.append(step(f"look-{name}", "look", order=name))
        amount = f'{{{{ steps["look-{name}"].amount }}}}'
        plan.append(step(name, needs=[f"look-{name}"], order=name, amount=amount))
    result = here.run(*plan)
    ids = {
        each.value["action_requests"][0]["args"]["order"]: each.id
        for each in result["__interrupt__"]
    }
    assert sorted(ids) == ["a", "b", "c"]
    with pytest.raises(AnswerError, match="3 questions are open"):
        here.say("approve")
    result = here.say_to({ids["b"]: answer("approve")})
    assert [call["order"] for call in here.tool.calls] == ["b"]
    left = {each.id for each in result["__interrupt__"]}
    assert left == {ids["a"], ids["c"]}
    here.say_to({ids["a"]: answer("approve"), ids["c"]: answer("approve")})
    assert sorted(call["order"] for call in here.tool.calls) == ["a", "b", "c"]
    assert (here.result["status"], sorted(seen)) == ("done", ["a", "b", "c"])


@pytest.mark.parametrize(
    "value",
    [
        {"decisions": []},
        {"decisions": [{"type": "maybe"}]},
        "yes",
        {"decisions": [{"type": "edit"}]},
        True,
    ],
)
def test_a_wrong_answer_leaves_the_question_open(value):
    """The error says what is expected; the right answer still works."""
    here = world()
    here.run(step(order="A", amount=500))
    with pytest.raises(AnswerError, match=r"decision|edit"):
        here.say_to(value)
    here.say("approve")
    assert (here.result["status"], here.tool.done) == ("done", 1)


def test_interrupt_on_takes_the_middlewares_grammar():
    """`True`, or a mapping with the allowed decisions."""
    spec = {"allowed_decisions": ["approve", "reject"], "description": "Sure?"}
    here = world(authorise=(), interrupt_on={"pay": spec})
    here.run(step(order="A", amount=1))
    review = here.question["review_configs"][0]
    assert review == {"action_name": "pay", "allowed_decisions": ["approve", "reject"]}
    assert "Sure?" in here.request["description"]
    with pytest.raises(AnswerError, match="not allowed here"):
        here.say("edit", amount=2)
