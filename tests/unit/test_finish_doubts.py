"""A task that ends tells of effects whose end is not known."""

from mendgraph import create_mend_agent


def test_an_effect_in_doubt_is_named_in_answer_and_report():
    """A write that failed without a clear answer is told, not forgotten."""

    def transfer(amount: int) -> dict:
        """Break off in the middle."""
        raise RuntimeError("the line broke")

    agent = create_mend_agent(None, tools=[transfer], seeded=False)
    steps = [{"id": "pay", "tool": "transfer", "inputs": {"amount": 5}}]
    result = agent.invoke({"task": "t", "plan": {"steps": steps}})
    assert result["status"] == "failed"
    told = result["report"]["open_effects"]
    assert [(e["step_id"], e["status"]) for e in told] == [("pay", "unknown")]
    assert "Not known to have ended: transfer of step pay" in result["answer"]
