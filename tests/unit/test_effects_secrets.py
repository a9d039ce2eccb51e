"""Secrets reach the tool and nothing else: no ledger, record, event, question."""

import json
import runpy
from pathlib import Path

import pytest

from mendgraph.state.policy import ConfirmCall, Effect, ToolPolicy
from mendgraph.tools.doubles.faulty import FaultyTool, raising

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "effect_world.py"))
World, step, WAYS = (KIT[name] for name in ("World", "step", "WAYS"))

CARD = "4111-2222-3333"
TOKEN = "sk-abcdefghijklmnopqrstuvwx"
POLICY = ToolPolicy(effect=Effect.IRREVERSIBLE, secret_args=("card",), timeout_s=5)
READ = ToolPolicy(effect=Effect.READ, idempotent=True, secret_args=("card",))


def vault() -> dict:
    """Give the secrets to the steps that need them."""
    return {"card": CARD, "api_key": TOKEN}


def pay(order: str, card: str, note: str = "") -> dict:
    """Pay with a card."""
    return {"order": order, "card": card, "paid": True}


def find(card: str) -> dict:
    """Find a payment by its card."""
    return {"found": True}


PLAN = (
    step("v", "vault"),
    step(
        "pay",
        needs=["v"],
        order="A",
        card="{{ v.card }}",
        note="{{ v.api_key }}",
    ),
)


def world(faults=None, way=("sync", "memory"), folder=None, policy=POLICY, **options):
    """A world whose payment needs a secret of another step."""
    policies = {"pay": policy, "vault": READ, "find": READ}
    tool = FaultyTool(pay, faults or {})
    made = World([vault, tool, find], way, folder, policies=policies, **options)
    made.tool = tool
    return made


def everything(here):
    """All that is kept of the thread but the raw outputs in the store."""
    kept = [
        [each.checkpoint, each.metadata, each.pending_writes]
        for each in here.agent.checkpointer.list(None)
    ]
    entries = [entry.plain() for entry in here.ledger()]
    return json.dumps([kept, entries, here.result], default=str, ensure_ascii=False)


@pytest.mark.parametrize("way", WAYS)
def test_secrets_reach_the_tool_and_nothing_else(way, tmp_path):
    """A marked argument and a key-like text, through questions, ledger and state."""
    here = world(way=way, folder=tmp_path, interrupt_on={"pay": True})
    here.run(*PLAN)
    assert here.request["args"]["card"] == "***"
    asked = everything(here)
    here.say("approve")
    assert (here.result["status"], here.tool.calls[0]["card"]) == ("done", CARD)
    assert here.tool.calls[0]["note"] == TOKEN
    for text in (asked, everything(here)):
        assert CARD not in text
        assert TOKEN not in text


def test_an_error_that_repeats_the_secret_is_masked():
    """The tool's own message quotes the card; no record does."""
    fault = raising(ValueError(f"card {CARD} was declined, token {TOKEN}"))
    here = world({1: fault})
    here.run(*PLAN)
    text = everything(here)
    assert "was declined" in text
    assert CARD not in text
    assert TOKEN not in text


def test_events_hold_no_secrets():
    """What is streamed while it runs is masked as well."""
    here = world({1: raising(ConnectionResetError(104, f"reset for {CARD}"))})
    plan = {"task": "t", "plan": {"steps": list(PLAN)}}
    parts = list(here.agent.stream(plan, here.config, stream_mode="custom"))
    assert parts
    assert CARD not in str(parts)


def test_what_is_masked_in_the_ledger_is_not_looked_up_by():
    """After a restart only `***` is known; a look by that would find nothing."""
    look = ConfirmCall(
        tool="find", arguments={"card": "{{ args.card }}"}, absent_when="!output.found"
    )
    reset = raising(ConnectionResetError(104, "reset"), after=True)
    asks = [{"tool": "pay", "when": "args.order == 'B'", "decision": "ask"}]
    here = world({1: reset}, policy=POLICY.but(confirm_with=look), authorise=asks)
    here.run(*PLAN)
    entry = here.ledger()[0]
    assert entry.arguments["card"] == "***"
    assert here.kind == "clarification"
