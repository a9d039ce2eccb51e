"""Accepted is not done: polls, deadlines, and the pause that can be resumed (F18)."""

import runpy
from pathlib import Path

import pytest

from mendgraph.state.policy import ConfirmCall, Effect, ToolPolicy
from mendgraph.tools.doubles.faulty import FaultyTool, http_status

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "effect_world.py"))
World, step, WAYS = (KIT[name] for name in ("World", "step", "WAYS"))

LOOK = ConfirmCall(tool="status", arguments={"order": "{{ args.order }}"})
POLICY = ToolPolicy(
    effect=Effect.IRREVERSIBLE,
    idempotency_arg="key",
    confirm_with=LOOK,
    pending_when="output.status == 'processing'",
    final_when="output.status == 'succeeded'",
    failed_when="output.status == 'declined'",
    poll_every_s=2,
    poll_deadline_s=10,
)
READ = ToolPolicy(effect=Effect.READ, idempotent=True)


class Bank:
    """Accepts at once and is done after some looks."""

    def __init__(self, looks, end="succeeded"):
        self.left, self.end, self.paid, self.looked = looks, end, 0, 0

    def pay(self, order: str, key: str = "") -> dict:
        """Pay."""
        self.paid += 1
        return {"id": 7, "order": order, "status": "processing"}

    def status(self, order: str) -> dict:
        """Look at a payment."""
        self.looked += 1
        return {"status": "processing" if self.looked <= self.left else self.end}


def world(bank, policy=POLICY, way=("sync", "memory"), folder=None, **options):
    """A world with this bank."""
    status = FaultyTool(bank.status, options.pop("faults", {}))
    policies = {"pay": policy, "status": options.pop("status_policy", READ)}
    return World([bank.pay, status], way, folder, policies=policies, **options)


@pytest.mark.parametrize("way", [*WAYS, ("sync", "none"), ("async", "none")])
def test_it_is_polled_until_it_is_final(way, tmp_path):
    """Two looks say processing, the third succeeded; 2 s apart; one payment."""
    bank = Bank(2)
    here = world(bank, way=way, folder=tmp_path)
    here.run(step(order="A"))
    assert (here.result["status"], bank.paid, bank.looked) == ("done", 1, 3)
    assert here.clock.slept == [2.0, 2.0, 2.0]


def test_what_only_the_first_answer_said_is_kept():
    """The id of the acceptance and the status of the end are one result."""
    here = world(Bank(1))
    here.run(step(order="A"))
    digest = here.records["pay"]["summary"]["output_digest"]
    assert '"id":7' in digest
    assert '"status":"succeeded"' in digest


@pytest.mark.parametrize("way", WAYS)
def test_after_the_deadline_the_run_waits_for_a_person(way, tmp_path):
    """Never done: a question of kind `waiting`; approve looks again."""
    bank = Bank(6)
    here = world(bank, way=way, folder=tmp_path)
    here.run(step(order="A"))
    assert (here.kind, bank.paid) == ("waiting", 1)
    assert "status" not in here.result or here.result["status"] != "done"
    looked = bank.looked
    here.clock.advance(3600)
    here.say("approve")
    assert bank.looked > looked
    assert (here.result["status"], bank.paid) == ("done", 1)


def test_a_person_may_stop_waiting():
    """The step ends as waiting, the task is not done, the ledger says pending."""
    bank = Bank(99)
    here = world(bank)
    here.run(step(order="A"), step("next", "status", needs=["pay"], order="A"))
    here.say("reject")
    assert here.result["status"] != "done"
    assert here.records["pay"]["status"] == "waiting"
    assert "next" in {item["step_id"] for item in here.result["report"]["not_done"]}
    assert [entry.status.value for entry in here.ledger()] == ["pending"]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_without_anybody_to_ask_it_ends_as_waiting_after_the_deadline(mode):
    """The polls end, too."""
    bank = Bank(10_000)
    here = world(bank, way=(mode, "none"))
    here.run(step(order="A"))
    assert here.result["status"] != "done"
    assert "still processing" in here.result["answer"]
    assert bank.looked <= 7


def test_a_final_refusal_is_a_failure():
    """`declined` after `processing` is no success, and nothing is paid again."""
    bank = Bank(1, "declined")
    here = world(bank)
    here.run(step(order="A"))
    assert (here.result["status"], bank.paid) == ("failed", 1)
    assert [entry.status.value for entry in here.ledger()] == ["failed"]


def test_a_refusal_only_the_confirm_call_knows_is_a_failure():
    """`failed_when` of the confirm call counts where the tool itself has none."""
    look = LOOK.but(failed_when="output.status == 'declined'")
    bank = Bank(0, "declined")
    here = world(bank, POLICY.but(failed_when=None, confirm_with=look))
    here.run(step(order="A"))
    assert (here.result["status"], bank.paid) == ("failed", 1)


@pytest.mark.parametrize("fault", [http_status(503), http_status(404)])
def test_a_look_that_fails_or_finds_nothing_denies_nothing(fault):
    """What was accepted is not believed to be absent; it is looked at again."""
    bank = Bank(0)
    here = world(bank, faults={1: fault, 2: fault})
    here.run(step(order="A"))
    assert (here.result["status"], bank.paid) == ("done", 1)


def test_without_a_confirm_call_a_person_says_how_it_ended():
    """There is no way to look; `it happened` makes it done."""
    bank = Bank(0)
    here = world(bank, POLICY.but(confirm_with=None))
    here.run(step(order="A"))
    assert (here.kind, bank.paid) == ("clarification", 1)
    here.say("respond", "it happened")
    assert (here.result["status"], bank.paid) == ("done", 1)


def test_a_read_that_is_not_final_is_read_again():
    """A report in the making is polled by reading it."""
    bank = Bank(3)
    policy = READ.but(
        pending_when="output.status == 'processing'", poll_every_s=1, poll_deadline_s=9
    )
    here = world(bank, status_policy=policy)
    here.run(step("s", "status", order="A"))
    assert (here.result["status"], here.clock.slept) == ("done", [1.0, 1.0, 1.0])
