"""The agent as a LangGraph graph: streams, batches, loops, other graphs around it."""

import asyncio
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from typing_extensions import TypedDict

from mendgraph import ToolPolicy, create_mend_agent
from mendgraph.state.interrupts import AnswerError

PLAN = {
    "steps": [
        {"id": "a", "tool": "look"},
        {"id": "b", "tool": "pay", "inputs": {"amount": 5}, "depends_on": ["a"]},
    ]
}
TASK = {"task": "pay", "plan": PLAN}
APPROVE = {"decisions": [{"type": "approve"}]}


class Bank:
    """Two tools and what they did."""

    def __init__(self, *, slow: bool = False) -> None:
        self.looked, self.paid = 0, []
        self.slow, self.paying = slow, asyncio.Event()

    async def look(self) -> dict:
        """Look something up."""
        self.looked += 1
        return {"found": True}

    async def pay(self, amount: int) -> dict:
        """Pay."""
        if self.slow:
            self.paying.set()
            await asyncio.Event().wait()
        self.paid.append(amount)
        return {"paid": amount}

    def agent(self, **given):
        policies = {
            "look": ToolPolicy(effect="read"),
            "pay": ToolPolicy(effect="write", idempotent=True),
        }
        return create_mend_agent(
            None,
            tools=[self.look, self.pay],
            policies=policies,
            learn=False,
            seeded=False,
            **given,
        )


def thread(name="t"):
    return {"configurable": {"thread_id": name}}


MODES = ["values", "updates", "messages", "custom", "debug", ["custom", "values"]]


@pytest.mark.parametrize("subgraphs", [False, True])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_every_stream_mode_streams(mode: Any, subgraphs: bool) -> None:
    """With subgraphs each part says where it comes from."""
    agent = Bank().agent(checkpointer=InMemorySaver())
    parts = list(agent.stream(TASK, thread(), stream_mode=mode, subgraphs=subgraphs))
    assert parts
    assert not subgraphs or all(isinstance(part[0], tuple) for part in parts)


def test_batches_loops_and_threads_share_one_agent() -> None:
    """batch, abatch, several event loops, and invoke inside a running loop."""
    bank = Bank()
    agent = bank.agent(store=InMemoryStore())

    async def inside() -> list[str]:
        first = agent.invoke(TASK)["status"]
        rest = await agent.abatch([TASK, TASK])
        return [first, *(each["status"] for each in rest)]

    assert [each["status"] for each in agent.batch([TASK, TASK])] == ["done"] * 2
    assert asyncio.run(inside()) == ["done"] * 3
    assert asyncio.run(inside()) == ["done"] * 3
    assert bank.paid == [5] * 8


NAMES = ["a.b", "../x", "a/b", "a|b", "查询", "x" * 500, "%", "'", "\n", 5]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_thread_may_have_any_name(name: Any) -> None:
    """Two agents on one store and saver: the second sees what the first did."""
    saver, store = InMemorySaver(), InMemoryStore()
    bank = Bank()
    bank.agent(checkpointer=saver, store=store).invoke(TASK, thread(name))
    other = Bank().agent(checkpointer=saver, store=store)
    assert other.get_state(thread(name)).values["status"] == "done"
    assert len(list(other.get_state_history(thread(name)))) > 2


def test_a_cancelled_run_goes_on_where_it_was() -> None:
    """What was done before `cancel()` is not done again."""
    saver, store = InMemorySaver(), InMemoryStore()
    slow = Bank(slow=True)

    async def cancelled() -> None:
        agent = slow.agent(checkpointer=saver, store=store)
        run = asyncio.create_task(agent.ainvoke(TASK, thread()))
        await slow.paying.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())
    bank = Bank()
    agent = bank.agent(checkpointer=saver, store=store)
    result = asyncio.run(agent.ainvoke(None, thread()))
    assert (result["status"], bank.looked, bank.paid) == ("done", 0, [5])


class Outer(TypedDict, total=False):
    """State that a graph around ours shares with it."""

    task: str
    plan: dict[str, Any]
    status: str
    answer: str


def around(node):
    """Return a graph with one node and a saver of its own."""
    graph = StateGraph(Outer)
    graph.add_node("mend", node)
    graph.add_edge(START, "mend")
    graph.add_edge("mend", END)
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("as_node", [True, False])
def test_questions_bubble_through_a_graph_around(as_node: bool) -> None:
    """As a node of its own or invoked inside one, the approval reaches the top."""
    bank = Bank()
    agent = bank.agent(interrupt_on={"pay": True})

    def call(state: Outer) -> dict:
        return {"status": agent.invoke(dict(state))["status"]}

    outer = around(agent if as_node else call)
    question = outer.invoke(TASK, thread())["__interrupt__"][0]
    assert question.value["action_requests"][0]["args"] == {"amount": 5}
    result = outer.invoke(Command(resume={question.id: APPROVE}), thread())
    assert (result["status"], bank.paid, bank.looked) == ("done", [5], 1)


def test_an_agent_is_a_tool_of_another() -> None:
    """`as_tool`-like use: its answer is the other's output."""
    bank = Bank()
    inner = bank.agent()

    def settle_bill() -> str:
        """Have the inner agent pay."""
        return str(inner.invoke(TASK)["answer"])

    outer = create_mend_agent(
        None, tools=[StructuredTool.from_function(settle_bill)], assume="read"
    )
    result = outer.invoke(
        {"task": "t", "plan": {"steps": [{"id": "x", "tool": "settle_bill"}]}}
    )
    assert (result["status"], bank.paid) == ("done", [5])
    assert "2 of 2 steps are done" in result["answer"]


WRONG_ANSWERS = [
    (None, "Answer with exactly one decision"),
    ("yes", "Answer with exactly one decision"),
    ({"decisions": []}, "Answer with exactly one decision"),
    ({"decisions": [{"type": "yes"}]}, "'approve', 'edit', 'reject' or 'respond'"),
    ({"decisions": [{"type": "edit"}]}, 'An edit needs "edited_action"'),
    ({"decisions": [{"type": "respond"}]}, '{"type": "respond", "message": '),
    ({"decisions": [{"type": "respond", "message": " \n"}]}, "needs a message"),
    ({"nobody": APPROVE}, "no open question has the id 'nobody'"),
]


@pytest.mark.parametrize(("answer", "words"), WRONG_ANSWERS)
def test_a_wrong_answer_leaves_the_question_open(answer: Any, words: str) -> None:
    """It says what an answer looks like; nothing was run or lost."""
    bank = Bank()
    agent = bank.agent(checkpointer=InMemorySaver(), interrupt_on={"pay": True})
    question = agent.invoke(TASK, thread())["__interrupt__"][0]
    with pytest.raises(AnswerError) as caught:
        agent.invoke(Command(resume=answer), thread())
    assert words in str(caught.value)
    assert [question.id] == [each.id for each in agent.get_state(thread()).interrupts]
    result = agent.invoke(Command(resume={question.id: APPROVE}), thread())
    assert (result["status"], bank.paid) == ("done", [5])


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("look", {}, "cannot call another tool than 'pay'"),
        ("pay", {"amount": "x"}, "'x' is not of type 'integer'"),
        ("pay", {"amuont": 1}, "'amuont' was unexpected"),
    ],
)
def test_an_edit_that_does_not_fit_is_asked_again(
    name: str, args: dict, words: str
) -> None:
    """The new question says why the last answer was not taken."""
    bank = Bank()
    agent = bank.agent(checkpointer=InMemorySaver(), interrupt_on={"pay": True})
    agent.invoke(TASK, thread())
    edit = {"type": "edit", "edited_action": {"name": name, "args": args}}
    again = agent.invoke(Command(resume={"decisions": [edit]}), thread())
    asked = again["__interrupt__"][0].value["action_requests"][0]
    assert words in asked["description"]
    assert bank.paid == []


def test_an_answer_nobody_asked_for_names_the_way_on() -> None:
    """On an unknown thread, too."""
    agent = Bank().agent(checkpointer=InMemorySaver())
    with pytest.raises(AnswerError, match="nothing waits for an answer"):
        agent.invoke(Command(resume=APPROVE), thread("nobody"))
