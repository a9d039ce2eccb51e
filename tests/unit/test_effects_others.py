"""A step that wants other arguments than those it has had an effect with (F15, F16)."""

import runpy
from pathlib import Path

import pytest

from mendgraph.state.policy import ConfirmCall, Effect, ToolPolicy
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.faulty import FaultyTool, http_status
from mendgraph.tools.doubles.scripted import ScriptedModel

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "effect_world.py"))
World, step, answer, WAYS, ALL_WAYS = (
    KIT[name] for name in ("World", "step", "answer", "WAYS", "ALL_WAYS")
)
BLIND = ToolPolicy(effect=Effect.IRREVERSIBLE, timeout_s=20)
KEYED = BLIND.but(idempotency_arg="key")
LOOK = ConfirmCall(
    tool="find",
    arguments={"order": "{{ args.order }}"},
    done_when="output.found",
    absent_when="!output.found",
)
ASKABLE = BLIND.but(confirm_with=LOOK)
READ = ToolPolicy(effect=Effect.READ, idempotent=True)
RESET = ConnectionResetError(104, "reset")


class Bank:
    """Counts the money."""

    def __init__(self):
        self.paid = []
        self.looks = 0

    def pay(self, order: str, amount: float = 5, key: str = "") -> dict:
        """Pay; a known key is answered from memory."""
        if not key or key not in {known for _, _, known in self.paid}:
            self.paid.append((order, amount, key))
        return {"order": order, "amount": amount, "ok": True}

    def find(self, order: str) -> dict:
        """Find a payment."""
        self.looks += 1
        return {"found": any(known == order for known, _, _ in self.paid)}


def world(faults, policy, way=("sync", "memory"), folder=None, **options):
    """A world with one bank."""
    bank = Bank()
    tool = FaultyTool(bank.pay, faults)
    find = FaultyTool(bank.find, options.pop("find_faults", {}))
    policies = {"pay": policy, "find": READ}
    made = World([tool, find], way, folder, policies=policies, **options)
    made.bank, made.tool = bank, tool
    return made


def test_a_default_written_out_is_the_same_call():
    """`amount` left out and `amount: 5` are one effect."""
    fix = {"decision": "patch", "observed_issue": "?", "patch": {"amount": 5}}
    script = ByRole({"patch": [{"arguments": {"amount": 5}}], "reflect": [fix] * 9})
    here = world({1: http_status(400)}, BLIND, model=ScriptedModel(script=script))
    here.run(step(order="A"))
    assert len(here.tool.calls) == 1


@pytest.mark.parametrize(
    ("said", "paid"),
    [("keep the earlier one", 1), ("do it as well", 2), ("stop", 1)],
)
def test_other_arguments_after_a_done_effect_are_a_persons_decision(said, paid):
    """The payment is made, its result is refused, the model wants another amount."""
    script = ByRole({"patch": [{"arguments": {"amount": 7}}], "reflect": []})
    here = world({}, KEYED, model=ScriptedModel(script=script))
    here.run({**step(order="A"), "validation_rule": "args.amount == 7"})
    assert here.question["metadata"]["options"] == [
        "keep the earlier one",
        "do it as well",
        "stop",
    ]
    assert len(here.bank.paid) == 1
    here.say("respond", said)
    assert len(here.bank.paid) == paid


@pytest.mark.parametrize("policy", [ASKABLE, BLIND])
def test_other_arguments_after_a_doubt_resolve_the_doubt_first(policy):
    """A 409 leaves it open; a fallback does not pay beside it unasked."""
    here = world(
        dict.fromkeys(range(1, 9), http_status(409, after=True)),
        policy,
        model=ScriptedModel(
            script=ByRole(
                {
                    "patch": [{"arguments": {"amount": 7}}] * 3,
                    "reflect": [
                        {
                            "decision": "patch",
                            "observed_issue": "?",
                            "patch": {"amount": 7},
                        }
                    ],
                }
            )
        ),
    )
    here.run(step(order="A"))
    assert len(here.tool.calls) == 1
    if policy is BLIND:
        assert "it happened" in here.question["metadata"]["options"]
        here.say("respond", "it happened")
    assert "keep the earlier one" in here.question["metadata"]["options"]
    here.say("respond", "keep the earlier one")
    assert (here.result["status"], len(here.bank.paid)) == ("done", 1)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_two_steps_with_equal_arguments_are_two_effects(mode):
    """The plan says twice, so it is done twice, at once."""
    here = world({}, KEYED, (mode, "memory"))
    here.run(step("a", order="A"), step("b", order="A"))
    assert (here.result["status"], len(here.bank.paid)) == ("done", 2)
