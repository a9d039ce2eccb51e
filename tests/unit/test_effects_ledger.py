"""What happened is not done again, and what may have happened is found out (F16)."""

import runpy
from pathlib import Path

import pytest

from mendgraph.state.limits import Limits
from mendgraph.state.policy import ConfirmCall, Effect, ToolPolicy
from mendgraph.tools.doubles.faulty import FaultyTool, http_status, raising

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


@pytest.mark.parametrize("way", ALL_WAYS)
def test_a_lost_answer_is_repeated_under_the_same_key(way, tmp_path):
    """500 after the commit: the second call has the same key and pays nothing."""
    here = world({1: http_status(500, after=True)}, KEYED, way, tmp_path)
    here.run(step(order="A"))
    assert (here.result["status"], len(here.tool.calls)) == ("done", 2)
    assert len(here.bank.paid) == 1
    task = here.result["report"]["task_id"]
    assert [entry.status.value for entry in here.ledger(task)] == ["done"]


@pytest.mark.parametrize("way", WAYS)
def test_without_a_key_the_service_is_asked(way, tmp_path):
    """It says that it happened: no second call, the step is done."""
    here = world({1: raising(RESET, after=True)}, ASKABLE, way, tmp_path)
    here.run(step(order="A"))
    assert (here.result["status"], len(here.bank.paid)) == ("done", 1)
    assert (len(here.tool.calls), here.bank.looks) == (1, 1)


def test_absence_is_believed_only_after_the_calls_time_is_over():
    """A lost request may still be on its way: two looks, 20 s apart, then a call."""
    here = world({1: raising(RESET)}, ASKABLE)
    here.run(step(order="A"))
    assert (here.result["status"], len(here.bank.paid)) == ("done", 1)
    assert (len(here.tool.calls), here.bank.looks) == (2, 2)
    assert sum(here.clock.slept) == pytest.approx(20, abs=0.1)


def test_waiting_for_a_lost_call_beyond_the_cap_pauses():
    """A minute is not slept through; approve looks again."""
    here = world({1: raising(RESET)}, ASKABLE.but(timeout_s=60))
    here.run(step(order="A"))
    assert (here.kind, len(here.tool.calls)) == ("waiting", 1)
    here.clock.advance(60)
    here.say("approve")
    assert (here.result["status"], len(here.bank.paid)) == ("done", 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("happened", "said", "calls", "status"),
    [
        (True, "it happened", 1, "done"),
        (False, "it did not happen", 2, "done"),
        (True, "stop", 1, "failed"),
        (False, None, 1, "failed"),
    ],
)
def test_else_a_person_is_asked_and_never_is_it_repeated_blindly(
    way, happened, said, calls, status, tmp_path
):
    """No key and nobody at the service to ask: only a person's word goes on."""
    here = world({1: raising(RESET, after=happened)}, BLIND, way, tmp_path)
    here.run(step(order="A"))
    assert (here.kind, len(here.tool.calls)) == ("clarification", 1)
    assert here.question["metadata"]["options"] == [
        "it happened",
        "it did not happen",
        "stop",
    ]
    here.say("respond", said) if said else here.say("reject")
    assert (here.result["status"], len(here.tool.calls)) == (status, calls)
    assert len(here.bank.paid) == (1 if status == "done" or happened else 0)


def test_a_word_that_is_no_option_is_asked_for_again():
    """`perhaps` settles nothing."""
    here = world({1: raising(RESET)}, BLIND)
    here.run(step(order="A"))
    here.say("respond", "perhaps")
    assert (here.kind, len(here.tool.calls)) == ("clarification", 1)
    assert "Say one of" in here.request["description"]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_nobody_to_ask_leaves_it_in_doubt(mode):
    """No checkpointer: one call, a failed step that says what is not known."""
    here = world({1: raising(RESET, after=True)}, BLIND, (mode, "none"))
    here.run(step(order="A"))
    assert (here.result["status"], len(here.tool.calls)) == ("failed", 1)
    assert "not known whether" in here.result["answer"]
    task = here.result["report"]["task_id"]
    assert [entry.in_doubt for entry in here.ledger(task)] == [True]


def test_a_look_that_fails_is_tried_again_before_a_person_is_asked():
    """The confirm call meets a 503, then tells."""
    here = world(
        {1: raising(RESET, after=True)},
        ASKABLE,
        find_faults={1: http_status(503), 2: http_status(503)},
    )
    here.run(step(order="A"))
    assert (here.result["status"], len(here.bank.paid)) == ("done", 1)
    assert here.bank.looks == 1


def test_a_look_that_may_not_be_made_leaves_it_to_a_person():
    """Authorisation holds for confirm calls too."""
    deny = {"tool": "find", "decision": "deny", "reason": "private"}
    here = world({1: raising(RESET, after=True)}, ASKABLE, authorise=[deny])
    here.run(step(order="A"))
    assert (here.kind, here.bank.looks) == ("clarification", 0)
    here.say("respond", "It Happened")
    assert (here.result["status"], len(here.bank.paid)) == ("done", 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429])
def test_a_refusal_is_known_to_have_done_nothing(status):
    """After a client error nothing is in doubt."""
    here = world(dict.fromkeys(range(1, 9), http_status(status)), BLIND)
    here.run(step(order="A"))
    (entry,) = here.ledger()
    assert entry.status.value == "failed"


def test_no_budget_leaves_no_doubt():
    """Where the call could not be afforded, nothing was begun."""
    here = world(
        dict.fromkeys(range(1, 9), http_status(429)), BLIND, limits=Limits(retries=1)
    )
    here.run(step(order="A"))
    (entry,) = here.ledger()
    assert (entry.status.value, len(here.tool.calls)) == ("failed", 2)


@pytest.mark.parametrize("way", WAYS)
def test_the_same_unfinished_task_given_again_does_not_repeat(way, tmp_path):
    """One payment is done, the other waits for a person; the input comes again."""
    asks = [{"tool": "pay", "when": "args.order == 'B'", "decision": "ask"}]
    here = world({}, KEYED, way, tmp_path, authorise=asks)
    plan = (step("a", order="A"), step("b", order="B"))
    here.run(*plan)
    here.run(*plan)
    here.say("approve")
    assert here.result["status"] == "done"
    assert sorted(order for order, _, _ in here.bank.paid) == ["A", "B"]


def test_a_new_task_on_the_thread_may_do_it_again():
    """Two tasks, two payments, two keys."""
    here = world({}, KEYED)
    here.run(step(order="A"))
    here.run(step(order="A"), task="and again")
    assert len({key for _, _, key in here.bank.paid}) == 2


def test_an_unannotated_tool_counts_as_a_write_nobody_may_repeat():
    """No policy, lost answer: a person is asked, not the tool."""
    bank = Bank()
    tool = FaultyTool(bank.pay, {1: raising(RESET, after=True)})
    here = World([tool])
    here.run(step(order="A"))
    assert (here.kind, len(tool.calls)) == ("clarification", 1)
    assert here.agent.held.deps.registry.unannotated() == ("pay",)


def test_assume_read_lets_unannotated_tools_be_repeated():
    """The caller's word for all of them."""
    bank = Bank()
    tool = FaultyTool(bank.find, {1: raising(RESET)})
    here = World([tool], assume="read")
    here.run(step("look", "find", order="A"))
    assert (here.result["status"], len(tool.calls)) == ("done", 2)


def test_a_look_may_use_the_key_of_the_call():
    """`{{ args.key }}` is the idempotency key, though no plan names it."""
    seen = []

    def find(key: str) -> dict:
        """Find a payment by its key."""
        seen.append(key)
        return {"status": "final"}

    def pay(order: str, key: str = "") -> dict:
        """Pay."""
        return {"status": "open", "key": key}

    look = ConfirmCall(tool="find", arguments={"key": "{{ args.key }}"})
    policy = KEYED.but(confirm_with=look, final_when="output.status == 'final'")
    here = World([pay, find], policies={"pay": policy, "find": READ})
    here.run(step(order="A"))
    (entry,) = here.ledger()
    assert (here.result["status"], seen) == ("done", [entry.idempotency_key])
