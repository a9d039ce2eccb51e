"""The six checks that close the second document (section 8), on the public face."""

import runpy
from pathlib import Path

import pytest

from mendgraph import PlanError
from mendgraph.state.policy import ConfirmCall, Effect, ToolPolicy
from mendgraph.state.vote import Verdict, strict_majority
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.faulty import FaultyTool, http_status, raising
from mendgraph.tools.doubles.scripted import ScriptedModel

KIT = runpy.run_path(str(Path(__file__).parents[1] / "services" / "effect_world.py"))
World, step, WAYS = (KIT[name] for name in ("World", "step", "WAYS"))

READ = ToolPolicy(effect=Effect.READ, idempotent=True)
REFUND = ToolPolicy(effect=Effect.IRREVERSIBLE, idempotency_arg="key")


def query(order: str, part: str = "order") -> dict:
    """Query an order."""
    return {"order": order, "part": part}


def refund(order: str, amount: float, key: str = "") -> dict:
    """Refund an order."""
    return {"order": order, "amount": amount}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([("a", ()), ("a", ())], "step 'a' is there twice"),
        ([("a", ("ghost",))], "step 'a' depends on 'ghost'"),
        ([("a", ("b",)), ("b", ("a",))], "form a cycle: .*a.*b"),
    ],
    ids=("duplicate", "missing", "cycle"),
)
def test_a_plan_that_cannot_be_is_refused_before_anything_runs(
    names, words, way, tmp_path
):
    """Duplicate id, missing dependency, cycle: the message names the steps."""
    tool = FaultyTool(query)
    here = World([tool], way, tmp_path, policies={"query": READ})
    with pytest.raises(PlanError, match=words):
        here.run(
            *(step(name, "query", needs=needs, order="A") for name, needs in names)
        )
    assert tool.calls == []


@pytest.mark.parametrize("way", WAYS)
def test_a_replaced_plans_waiting_steps_are_not_scheduled(way, tmp_path):
    """`b` fails; the new plan has `b2` and `c2`; the old `c` is never called."""
    tool = FaultyTool(query, dict.fromkeys((2,), http_status(404)))
    replaced = [
        {
            "id": "b2",
            "replaces": "b",
            "tool": "query",
            "inputs": {"order": "A", "part": "b2"},
        },
        {
            "id": "c2",
            "replaces": "c",
            "tool": "query",
            "inputs": {"order": "A", "part": "c2"},
            "dependencies": ["b2"],
        },
    ]
    script = ByRole(
        {
            "patch": [{"arguments": {}}] * 4,
            "reflect": [{"decision": "local_replan", "observed_issue": "gone"}],
            "replan": [{"replace": replaced, "why": "other parts"}],
        }
    )
    here = World(
        [tool],
        way,
        tmp_path,
        policies={"query": READ},
        model=ScriptedModel(script=script),
    )
    here.run(
        step("a", "query", order="A", part="a"),
        step("b", "query", needs=["a"], order="A", part="b"),
        step("c", "query", needs=["b"], order="A", part="c"),
    )
    parts = [call["part"] for call in tool.calls]
    assert (here.result["status"], here.state["plan"]["version"]) == ("done", 2)
    assert parts == ["a", "b", "b2", "c2"]
    assert here.records["c"]["status"] == "void"


def test_two_against_two_is_no_majority():
    """A tie decides nothing, in whatever order the answers came."""
    for answers in (["x", "x", "y", "y"], ["y", "x", "y", "x"]):
        vote = strict_majority(answers)
        assert (vote.status, vote.answer) == (Verdict.INCONCLUSIVE, None)
    assert strict_majority(["x", "x", "y"]).answer == "x"


@pytest.mark.parametrize("way", WAYS)
def test_accepted_and_still_processing_is_not_done(way, tmp_path):
    """HTTP says yes, the business says not yet: a pause, no success, no second call."""
    pay = FaultyTool(_pay)
    policy = REFUND.but(
        confirm_with=ConfirmCall(tool="status", arguments={"order": "A"}),
        pending_when="output.status == 'processing'",
        final_when="output.status == 'succeeded'",
    )
    here = World(
        [pay, status], way, tmp_path, policies={"_pay": policy, "status": READ}
    )
    here.run(step("pay", "_pay", order="A"), step("next", "status", ["pay"], order="A"))
    assert here.kind == "waiting"
    assert here.state["status"] == "running"
    assert "pay" not in {
        name for name, each in here.records.items() if each["status"] == "done"
    }
    here.say("reject")
    assert here.result["status"] != "done"
    assert here.records["pay"]["status"] == "waiting"
    assert len(pay.calls) == 1


def _pay(order: str, key: str = "") -> dict:
    """Pay."""
    return {"order": order, "status": "processing"}


def status(order: str) -> dict:
    """Look at a payment."""
    return {"order": order, "status": "processing"}


@pytest.mark.parametrize("way", WAYS)
def test_another_amount_needs_another_approval_and_another_key(way, tmp_path):
    """Approved: 120. The new plan refunds 100: asked again, nothing old is used."""
    tool = FaultyTool(refund, {1: http_status(422)})
    cheaper = {
        "id": "refund2",
        "replaces": "refund",
        "tool": "refund",
        "inputs": {"order": "A", "amount": 100},
    }
    script = ByRole(
        {
            "patch": [{"arguments": {}}] * 4,
            "reflect": [{"decision": "local_replan", "observed_issue": "too much"}],
            "replan": [{"replace": [cheaper], "why": "the fee is kept"}],
        }
    )
    here = World(
        [tool],
        way,
        tmp_path,
        policies={"refund": REFUND},
        interrupt_on={"refund": True},
        model=ScriptedModel(script=script),
    )
    here.run(step("refund", "refund", order="A", amount=120))
    first = here.question["metadata"]["args_digest"]
    here.say("approve")
    assert (here.kind, len(tool.calls), tool.done) == ("approval", 1, 0)
    assert here.request["args"] == {"order": "A", "amount": 100}
    assert here.question["metadata"]["args_digest"] != first
    here.say("approve")
    assert (here.result["status"], tool.done) == ("done", 1)
    assert tool.calls[0]["key"] != tool.calls[1]["key"]


@pytest.mark.parametrize("way", WAYS)
def test_a_cause_nobody_confirmed_stays_unknown_and_evidence_is_gathered(way, tmp_path):
    """The query times out. The payment is looked at and not submitted again.

    The record keeps both hypotheses and no confirmed cause, even though the model is
    sure, because the probe could not judge it; then a person is asked.
    """
    lost = raising(ConnectionResetError(104, "reset"))
    pay = FaultyTool(_pay, dict.fromkeys(range(1, 9), lost))
    looked = []

    def evidence(order: str) -> dict:
        """Read the log of an order."""
        looked.append(order)
        return {"lines": ["nothing conclusive"]}

    thought = {
        "decision": "gather_evidence",
        "observed_issue": "支付状态查询超时",
        "hypotheses": ["查询服务暂时不可用", "网络链路超时"],
        "confidence": 0.95,
        "suggested_strategy": "查询已有支付请求状态",
        "probes": [
            {
                "tool": "evidence",
                "arguments": {"order": "A"},
                "expression": "output.verdict == 'service down'",
                "confirms": 0,
            }
        ],
    }
    script = ByRole({"patch": [{"arguments": {}}] * 4, "reflect": [thought] * 4})
    here = World(
        [pay, evidence],
        way,
        tmp_path,
        policies={"_pay": REFUND, "evidence": READ},
        model=ScriptedModel(script=script),
    )
    here.run(step("pay", "_pay", order="A"))
    calls = len(pay.calls)
    reflection = here.state["reflections"][-1]
    assert reflection["confirmed_cause"] is None
    assert reflection["hypotheses"] == ["查询服务暂时不可用", "网络链路超时"]
    assert reflection["evidence_refs"]
    assert looked[:1] == ["A"]
    assert here.kind == "clarification"
    assert (pay.done, len(pay.calls)) == (0, calls)
