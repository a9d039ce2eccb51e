"""Undoing: the newest first, each once, authorised and on record (F17)."""

import asyncio
import runpy
from pathlib import Path

import pytest

from mendgraph.graph.compensation import acompensate, compensate
from mendgraph.state.policy import Compensation, Effect, ToolPolicy
from mendgraph.tools.doubles.faulty import FaultyTool, http_status, raising
from mendgraph.tools.errors import ThreadError

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "effect_world.py"))
World, step, WAYS = (KIT[name] for name in ("World", "step", "WAYS"))

UNDO = Compensation(
    tool="refund", arguments={"order": "{{ args.order }}", "payment": "{{ output.id }}"}
)
PAY = ToolPolicy(
    effect=Effect.IRREVERSIBLE, idempotency_arg="key", compensate_with=UNDO
)
REFUND = ToolPolicy(effect=Effect.IRREVERSIBLE, idempotency_arg="key")


class Bank:
    """Money out, money back."""

    def __init__(self):
        self.paid, self.back = [], []

    def pay(self, order: str, key: str = "") -> dict:
        """Pay."""
        self.paid.append(order)
        return {"id": len(self.paid), "order": order}

    def refund(self, order: str, payment: int, key: str = "") -> dict:
        """Give back; a known key is answered from memory."""
        if (order, payment, key) not in self.back:
            self.back.append((order, payment, key))
        return {"refunded": order}


def paid(way=("sync", "memory"), folder=None, faults=None, refund=REFUND, **options):
    """A world that has paid A, then B, and mailed nobody."""
    bank = Bank()
    tool = FaultyTool(bank.refund, faults or {})
    policies = {"pay": options.pop("pay", PAY), "refund": refund}
    here = World([bank.pay, tool], way, folder, policies=policies, **options)
    here.bank, here.tool = bank, tool
    here.run(step("a", order="A"), step("b", needs=["a"], order="B"))
    assert here.result["status"] == "done"
    return here


def undo(here, **options):
    """Compensate the way the world runs."""
    if here.mode == "async":
        return asyncio.run(acompensate(here.agent, here.config, **options))
    return compensate(here.agent, here.config, **options)


@pytest.mark.parametrize("way", WAYS)
def test_the_newest_is_undone_first_and_each_once(way, tmp_path):
    """B, then A; a second call finds nothing left to undo."""
    here = paid(way, tmp_path)
    told = undo(here)
    assert [line["step_id"] for line in told] == ["b", "a"]
    assert {line["status"] for line in told} == {"compensated"}
    assert [order for order, _, _ in here.bank.back] == ["B", "A"]
    assert undo(here) == []
    assert len(here.tool.calls) == 2


def test_an_undoing_is_an_effect_on_record():
    """Its entry names what it undoes and has a key of its own."""
    here = paid()
    undo(here)
    entries = {entry.key: entry for entry in here.ledger()}
    undoings = [entry for entry in entries.values() if entry.compensates]
    assert [entry.status.value for entry in undoings] == ["done", "done"]
    assert {entries[each.compensates].step_id for each in undoings} == {"a", "b"}
    assert len({entry.idempotency_key for entry in entries.values()}) == 4


def test_only_what_is_named_is_undone():
    """By the keys of the ledger."""
    here = paid()
    first = next(entry for entry in here.ledger() if entry.step_id == "a")
    told = undo(here, effects=[first.key])
    assert [line["step_id"] for line in told] == ["a"]
    assert [order for order, _, _ in here.bank.back] == ["A"]


def test_an_undoing_that_was_lost_is_repeated_under_its_key():
    """500 after the commit: the same key again, one refund."""
    here = paid(faults={1: http_status(500, after=True)})
    told = undo(here)
    assert {line["status"] for line in told} == {"compensated"}
    assert len(here.bank.back) == 2
    assert here.tool.calls[0]["key"] == here.tool.calls[1]["key"]


def test_an_undoing_nobody_may_repeat_is_left_in_doubt():
    """No key, not idempotent, answer lost: half undone, and said so; no second call."""
    refund = REFUND.but(idempotency_arg=None)
    reset = raising(ConnectionResetError(104, "reset"), after=True)
    here = paid(faults={1: reset}, refund=refund)
    (told,) = undo(here)
    assert (told["step_id"], told["status"]) == ("b", "compensating")
    (again,) = undo(here)
    assert "may not be repeated blindly" in again["why"]
    assert len(here.tool.calls) == 1


def test_it_ends_with_the_first_that_cannot_be_undone():
    """B is refused, so A stays: what comes before may be needed."""
    here = paid(faults=dict.fromkeys(range(1, 9), http_status(400)))
    told = undo(here)
    assert [(line["step_id"], line["status"]) for line in told] == [("b", "done")]
    assert "could not be undone" in told[0]["why"]
    assert here.bank.back == []


@pytest.mark.parametrize(("says", "back"), [(True, 2), (False, 0), (None, 0)])
def test_undoing_is_authorised_like_any_call(says, back):
    """An `ask` goes to whoever calls; without anybody it is a no."""
    here = paid(authorise=[{"tool": "refund", "decision": "ask"}])
    seen = []

    def approve(question):
        seen.append(question["action_requests"][0]["args"])
        return says

    undo(here, approve=None if says is None else approve)
    assert len(here.bank.back) == back
    if says:
        assert seen[0] == {"order": "B", "payment": 2}


def test_a_deny_cannot_be_approved_away():
    """The rules stand above the caller's yes."""
    here = paid(authorise=[{"tool": "refund", "decision": "deny", "reason": "audit"}])
    (told,) = undo(here, approve=lambda _question: True)
    assert (here.bank.back, told["status"]) == ([], "done")
    assert "audit" in told["why"]


def test_effects_without_a_compensation_are_left_alone():
    """Nothing is undone that nobody said how to undo."""
    here = paid(pay=PAY.but(compensate_with=None))
    assert undo(here) == []


def test_masked_arguments_are_not_used_to_undo():
    """The ledger knows only `***`, and that is no order."""
    here = paid(pay=PAY.but(secret_args=("order",)))
    (told,) = undo(here)
    assert "masked" in told["why"]
    assert here.tool.calls == []


def test_a_thread_nobody_ran_has_nothing_to_undo():
    """The error names the thread."""
    here = World([Bank().pay])
    with pytest.raises(ThreadError, match="'t'"):
        undo(here)
