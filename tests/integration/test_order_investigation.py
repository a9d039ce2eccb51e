"""The order investigation of the second document, run as its example runs it."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    """The names of the example; it imports the tools beside it."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return runpy.run_path(str(EXAMPLES / "order_investigation.py"))


@pytest.mark.parametrize("kept", ["memory", "folder"])
def test_a_changed_amount_is_asked_about_and_paid_under_its_own_key(
    example, kept, tmp_path
):
    """Two queries at once, the payment until final, 120 refused, 100 refunded once."""
    service = example["OrderService"]()
    how = {"checkpointer": None, "persist": tmp_path} if kept == "folder" else {}
    result, asked = example["investigate"](service, **how)
    assert result["status"] == "done"
    assert sorted(service.queried[:2]) == ["events", "order"]
    assert service.queried[2:] == ["payment"] * 3
    amounts = [question["action_requests"][0]["args"]["amount"] for question in asked]
    assert amounts == [120.0, 100.0]
    digests = {question["metadata"]["args_digest"] for question in asked}
    assert len(digests) == 2
    ((refused, old_key),) = service.refused
    ((new_key, refund),) = service.refunds.items()
    assert (refused, refund["amount"]) == (120.0, 100.0)
    assert old_key != new_key


def test_nothing_is_refunded_while_the_payment_is_processing(example):
    """A payment that never ends leaves the refund alone; the run waits for a person."""
    service = example["OrderService"](processing=10_000)
    clock = _Clock()
    agent_of, seen = example["create_mend_agent"], []
    agent = agent_of(
        tools=service.tools(),
        policies=example["policies"](),
        interrupt_on={"refund": True},
        checkpointer=example["InMemorySaver"](),
        clock=clock,
        sleep=clock.sleep,
    )
    config = {"configurable": {"thread_id": "t"}}
    result = agent.invoke({"task": "look", "plan": example["PLAN"]}, config)
    seen = [each.value["metadata"]["kind"] for each in result["__interrupt__"]]
    assert (seen, service.refunds) == (["waiting"], {})
    assert agent.get_state(config).values["status"] == "running"


class _Clock:
    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds


@pytest.mark.slow
def test_the_example_runs_as_a_script():
    """It prints both approvals, says that its planner is a double, and ends well."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "order_investigation.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("approved: refund") == 2
    assert "scripted double" in done.stdout
    assert "refunded: 100" in done.stdout
