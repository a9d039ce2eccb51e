"""An order was paid twice: investigate, then refund, each amount approved by itself.

    python examples/order_investigation.py

Order and events are queried at once, the payment after the order; it is `processing`
first and counts as done only when it is final. The refund of 120 is approved and then
refused by the service. The plan changes, 100 is another amount, so it is asked again
and goes out under another key. The planner is a scripted double, not a model.
"""

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from order_tools import OrderService, policies  # beside this script

from mendgraph import create_mend_agent
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.scripted import ScriptedModel

PLAN: dict[str, Any] = {
    "plan_version": 1,
    "goal": "Find out what happened to order A-7 and refund what was paid too much",
    "steps": [
        {
            "id": "order",
            "tool": "query_order",
            "inputs": {"order_id": "A-7"},
            "depends_on": [],
            "expected_output": "订单当前状态及支付请求标识",
        },
        {
            "id": "events",
            "tool": "query_order_events",
            "inputs": {"order_id": "A-7"},
            "depends_on": [],
            "expected_output": "订单状态变更记录",
        },
        {
            "id": "payment",
            "tool": "query_payment_status",
            "inputs": {"payment": "{{ order.payment }}"},
            "depends_on": ["order"],
            "expected_output": "已有支付请求的处理状态",
        },
        {
            "id": "refund",
            "tool": "refund",
            "inputs": {"order_id": "A-7", "amount": "{{ payment.amount }}"},
            "depends_on": ["payment", "events"],
            "precondition_rule": "size(events.events) == 3",
            "risk": "high",
            "no_fallback_reason": "money goes back in one way only",
        },
    ],
}

SCRIPT: dict[str, list[Any]] = {
    "patch": [{"arguments": {}, "why": "the amount is not for a patch to decide"}],
    "reflect": [
        {
            "decision": "local_replan",
            "category": "plan_error",
            "subclass": "missing_step",
            "observed_issue": "the service keeps a fee of 20",
            "hypotheses": ["the plan did not know of the fee"],
        }
    ],
    "replan": [
        {
            "replace": [
                {
                    "id": "refund-less-fee",
                    "replaces": "refund",
                    "description": "Refund what was paid too much, less the fee",
                    "tool": "refund",
                    "inputs": {
                        "order_id": "A-7",
                        "amount": "{{ payment.amount - 20.0 }}",
                    },
                    "dependencies": ["payment", "events"],
                    "no_fallback_reason": "money goes back in one way only",
                }
            ],
            "why": "the fee of 20 is kept",
        }
    ],
}


def investigate(
    service: OrderService, **options: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run the investigation; return its result and the questions that were asked.

    Args:
        service: What is investigated.
        options: More for `create_mend_agent`.
    """
    kept = {"checkpointer": InMemorySaver(), **options}
    agent = create_mend_agent(
        ScriptedModel(script=ByRole(SCRIPT)),
        tools=service.tools(),
        policies=policies(),
        interrupt_on={"refund": True},
        **kept,
    )
    config: Any = {"configurable": {"thread_id": "order-A-7"}}
    result = agent.invoke({"task": str(PLAN["goal"]), "plan": PLAN}, config)
    asked: list[dict[str, Any]] = []
    while questions := result.get("__interrupt__"):
        asked += [question.value for question in questions]
        yes = {"decisions": [{"type": "approve"}]}
        answers = {question.id: yes for question in questions}
        result = agent.invoke(Command(resume=answers), config)
    agent.close()
    return result, asked


def main() -> None:
    """Show the questions, the answer and what the service did."""
    service = OrderService()
    result, asked = investigate(service)
    print("(the planner is a scripted double, not a model)")
    for question in asked:
        request, meta = question["action_requests"][0], question["metadata"]
        print(f"approved: {request['name']} {request['args']} as {meta['args_digest']}")
    print(result["status"], "\n" + result["answer"])
    print("queried:", ", ".join(service.queried))
    for amount, key in service.refused:
        print(f"refused:  {amount:g} under key {key}")
    for key, refund in service.refunds.items():
        print(f"refunded: {refund['amount']:g} under key {key}")


if __name__ == "__main__":
    main()
