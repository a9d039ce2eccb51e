"""Both loops through the public API: flow, parallelism, mending, honest endings."""

import asyncio
import threading
import time

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from mendgraph import Limits, PlanError, TaskInputError, ToolPolicy, create_mend_agent

READ = {"effect": "read"}
CONFIG = {"configurable": {"thread_id": "t1"}}


class Clock:
    """Time that only moves when somebody sleeps."""

    def __init__(self):
        self.now = 1_000_000.0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def double(x: int) -> dict:
    """Double a number."""
    return {"value": 2 * x}


def total(numbers: list[int]) -> dict:
    """Add numbers."""
    return {"value": sum(numbers)}


def failing(x: int = 0) -> dict:
    """Fail always."""
    raise ValueError(f"no good: {x}")


def plan(*steps):
    return {"steps": list(steps)}


def step(step_id, *needs, tool="double", **inputs):
    return {"id": step_id, "tool": tool, "inputs": inputs, "depends_on": list(needs)}


def agent_of(*tools, saver=None, clock=None, **options):
    clock = clock or Clock()
    return create_mend_agent(
        None,
        tools=tools,
        assume="read",
        checkpointer=saver,
        clock=clock,
        sleep=clock.sleep,
        seeded=False,
        **options,
    )


def run(agent, given, how, config=None):
    if how == "invoke":
        return agent.invoke(given, config or {})
    return asyncio.run(agent.ainvoke(given, config or {}))


DIAMOND = plan(
    step("a", x=1),
    step("b", "a", x="{{ a.value }}"),
    step("c", "a", x="{{ a.value + 1 }}"),
    step("d", "b", "c", tool="total", numbers=["{{ b.value }}", "{{ c.value }}"]),
)


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("saver", ["none", "memory", "folder"])
def test_a_diamond_runs(how, saver, tmp_path):
    """A DAG runs with both calls and every saver, types kept along the bindings."""
    kept = {"none": {}, "memory": {"saver": InMemorySaver()}, "folder": {}}[saver]
    folder = {"persist": tmp_path / "p"} if saver == "folder" else {}
    agent = agent_of(double, total, **kept, **folder)
    result = run(agent, {"task": "t", "plan": DIAMOND}, how, CONFIG)
    agent.close()
    assert result["status"] == "done"
    assert result["answer"] == '4 of 4 steps are done.\nd: {"value":10}'
    assert result["messages"][-1].content == result["answer"]
    assert result["report"]["executions"] == 4


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_independent_steps_run_at_once(how):
    """Ten steps that each need nine others to be running all get through."""
    barrier = threading.Barrier(10, timeout=20)

    def meet(x: int) -> dict:
        """Wait for the nine others."""
        barrier.wait()
        return {"value": x}

    agent = create_mend_agent(None, tools=[meet], assume="read", seeded=False)
    steps = [step(f"s{i}", tool="meet", x=i) for i in range(10)]
    assert run(agent, {"task": "t", "plan": plan(*steps)}, how)["status"] == "done"


def test_no_wave_barrier():
    """A fast branch does not wait for its slow sibling's wave."""
    order = []
    gate = threading.Event()

    def slow(x: int) -> dict:
        """Wait until the other branch is through."""
        assert gate.wait(20)
        order.append("slow")
        return {"value": x}

    def quick(x: int) -> dict:
        """Be quick."""
        order.append(f"quick{x}")
        if x == 2:
            gate.set()
        return {"value": x}

    agent = create_mend_agent(None, tools=[slow, quick], assume="read", seeded=False)
    steps = [
        step("s", tool="slow", x=0),
        step("q1", tool="quick", x=1),
        step("q2", "q1", tool="quick", x=2),
    ]
    result = agent.invoke({"task": "t", "plan": plan(*steps)})
    assert result["status"] == "done"
    assert order == ["quick1", "quick2", "slow"]


def test_a_failed_dependency_is_never_satisfied():
    """What depends on a failed step is blocked, the rest is done, and it is said."""
    agent = agent_of(double, failing)
    steps = [
        step("bad", tool="failing", x=3),
        step("next", "bad", x=1),
        step("last", "next", x=1),
        step("other", x=2),
    ]
    result = agent.invoke({"task": "t", "plan": plan(*steps)})
    assert result["status"] == "partial"
    assert result["report"]["done"] == ["other"]
    told = {item["step_id"]: item for item in result["report"]["not_done"]}
    assert told["bad"]["status"] == "failed"
    assert "no good: 3" in told["bad"]["why"]
    assert told["next"]["why"] == "it waits for bad"
    assert told["last"]["status"] == "blocked"


def test_transient_faults_are_retried_with_the_stated_wait():
    """A 429 waits as long as the service says and is then repeated unchanged."""
    calls = []

    def limited(x: int) -> dict:
        """Be limited once."""
        calls.append(x)
        if len(calls) == 1:
            request = httpx.Request("GET", "http://127.0.0.1/")
            answer = httpx.Response(429, headers={"retry-after": "7"}, request=request)
            raise httpx.HTTPStatusError("429", request=request, response=answer)
        return {"value": x}

    clock = Clock()
    agent = agent_of(limited, clock=clock)
    result = agent.invoke({"task": "t", "plan": plan(step("a", tool="limited", x=5))})
    assert result["status"] == "done"
    assert calls == [5, 5]
    assert clock.slept == [7.0]
    assert result["report"]["retries"] == {"tier1": 1, "tier2": 0, "tier3": 0}


def test_the_fallback_tool_is_taken():
    """Where nothing else is left the planned fallback runs once."""
    agent = agent_of(double, failing)
    bad = {
        **step("a", tool="failing", x=2),
        "fallback": {"tool": "double", "inputs": {"x": 4}},
    }
    result = agent.invoke({"task": "t", "plan": plan(bad)})
    assert result["status"] == "done"
    assert result["report"]["retries"]["tier3"] == 1
    assert '{"value":8}' in result["answer"]


def test_an_empty_result_is_not_done():
    """A tool that says success and returns no rows is caught by the checks (F22)."""

    def query(x: int) -> dict:
        """Find nothing."""
        return {"rows": []}

    steps = plan(step("a", tool="query", x=1))
    assert agent_of(query).invoke({"task": "t", "plan": steps})["status"] == "failed"
    legitimate = agent_of(query, policies={"query": ToolPolicy(may_be_empty=True)})
    assert legitimate.invoke({"task": "t", "plan": steps})["status"] == "done"


def test_a_validation_rule_that_does_not_hold_fails_the_step():
    """Done needs the step's own rule to hold."""
    checked = {**step("a", x=2), "validation_rule": "output.value > args.x * 10"}
    result = agent_of(double).invoke({"task": "t", "plan": plan(checked)})
    assert result["status"] == "failed"
    assert "validation_rule does not hold" in result["answer"]


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_every_exhausted_cap_ends_gracefully(how):
    """When executions run out, what is done stays and the reason is said (F47)."""
    agent = agent_of(double, limits=Limits(executions=3))
    steps = [step(f"s{i}", *([f"s{i - 1}"] if i else []), x=i) for i in range(6)]
    result = run(agent, {"task": "t", "plan": plan(*steps)}, how)
    assert result["status"] == "partial"
    assert len(result["report"]["done"]) == 3
    assert "executions exhausted" in result["answer"]


def test_parallel_branches_cannot_overspend_a_budget():
    """Fifty branches share a budget of ten calls live."""
    agent = agent_of(double, limits=Limits(executions=10))
    steps = [step(f"s{i}", x=i) for i in range(50)]
    result = asyncio.run(agent.ainvoke({"task": "t", "plan": plan(*steps)}))
    assert result["report"]["executions"] == 10
    assert len(result["report"]["done"]) == 10


def test_an_empty_plan_asks_a_concrete_question():
    """An empty plan leads to clarify; a plan typed as the answer re-enters think."""
    agent = agent_of(double, saver=InMemorySaver())
    result = agent.invoke({"task": "t", "plan": {"steps": []}}, CONFIG)
    asked = result["__interrupt__"][0]
    assert asked.value["metadata"]["kind"] == "clarification"
    assert "no steps" in asked.value["action_requests"][0]["description"]
    said = '{"steps": [{"id": "a", "tool": "double", "inputs": {"x": 21}}]}'
    answer = {"decisions": [{"type": "respond", "message": said}]}
    result = agent.invoke(Command(resume={asked.id: answer}), CONFIG)
    assert result["status"] == "done"
    assert '{"value":42}' in result["answer"]


def test_a_question_nobody_can_be_asked_is_told():
    """Without a checkpointer an open question ends the task and is said."""
    result = agent_of(double).invoke({"task": "t", "plan": {"steps": []}})
    assert result["status"] == "failed"
    assert "nobody can be asked" in result["answer"]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"task": ""}, TaskInputError, "the task is empty"),
        ({"task": "t"}, TaskInputError, "no model to plan with"),
        ({"plan": {"steps": [{"tool": "double"}]}}, PlanError, "id"),
        ({"plan": {"steps": "none"}}, PlanError, "steps"),
    ],
)
def test_bad_input_is_refused_at_once(given, error, said):
    """Bad input gets one clear error that names what was wrong."""
    with pytest.raises(error, match=said):
        agent_of(double).invoke(given)


def test_a_new_task_on_a_thread_starts_fresh():
    """A finished thread takes another task; figures begin at zero."""
    agent = agent_of(double, saver=InMemorySaver())
    one = {"task": "one", "plan": plan(step("a", x=1), step("b", x=2))}
    assert agent.invoke(one, CONFIG)["report"]["executions"] == 2
    result = agent.invoke({"task": "two", "plan": plan(step("a", x=4))}, CONFIG)
    assert result["report"]["executions"] == 1
    assert '{"value":8}' in result["answer"]


def test_raw_outputs_stay_out_of_the_state():
    """A large output is in the store; state holds a digest and a reference."""

    def large(x: int) -> dict:
        """Return a lot."""
        return {"blob": "z" * 1_000_000}

    agent = agent_of(large, saver=InMemorySaver())
    agent.invoke({"task": "t", "plan": plan(step("a", tool="large", x=1))}, CONFIG)
    state = agent.get_state(CONFIG).values
    assert len(str(state)) < 20_000
    assert state["steps"]["a"]["output_ref"]


def test_checkpoints_hold_plain_json_only():
    """Own classes never enter a checkpoint."""
    agent = agent_of(double, failing, saver=InMemorySaver())
    bad = step("b", tool="failing", x=1)
    agent.invoke({"task": "t", "plan": plan(step("a", x=1), bad)}, CONFIG)

    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(k, str) and plain(v) for k, v in value.items())
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or isinstance(value, str | int | float | bool)

    values = agent.get_state(CONFIG).values
    assert all(plain(v) for name, v in values.items() if name != "messages")


def test_our_own_fault_is_never_blamed_on_the_step(monkeypatch):
    """A bug of ours ends the step as an internal failure and frees its dependents."""
    import mendgraph.nodes.execute as module

    async def broken(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(module, "prepare", broken)
    result = agent_of(double).invoke({"task": "t", "plan": DIAMOND_WITHOUT_TOTAL})
    assert result["status"] == "failed"
    assert "a fault of mendgraph itself" in result["answer"]


DIAMOND_WITHOUT_TOTAL = plan(step("a", x=1), step("b", "a", x=2))


def test_events_tell_the_story():
    """Custom events have ids, attempts and kinds, in order."""
    agent = agent_of(double)
    given = {"task": "t", "plan": plan(step("a", x=1))}
    events = [
        event
        for _, event in agent.stream(given, {}, stream_mode="custom", subgraphs=True)
    ]
    kinds = [event["event"] for event in events]
    assert kinds == [
        "task_started",
        "plan_ready",
        "step_started",
        "step_finished",
        "task_finished",
    ]
    assert len({event["id"] for event in events}) == len(events)


def test_interrupting_tools_pass_through():
    """An interrupt inside a tool is not swallowed as a failure."""
    from langgraph.types import interrupt

    def asking(x: int) -> dict:
        """Ask inside a tool."""
        return {"said": interrupt("how many?"), "x": x}

    agent = agent_of(asking, saver=InMemorySaver())
    given = {"task": "t", "plan": plan(step("a", tool="asking", x=1))}
    result = agent.invoke(given, CONFIG)
    assert result["__interrupt__"][0].value == "how many?"
    state = agent.get_state(CONFIG)
    assert state.tasks


def test_the_agent_nests_as_a_subgraph():
    """As a node of another graph it takes messages and gives messages."""
    from langgraph.graph import END, START, MessagesState, StateGraph

    inner = create_mend_agent(None, tools=[double], assume="read", seeded=False)

    def plan_node(state: MessagesState):
        given = {"messages": state["messages"], "plan": plan(step("a", x=3))}
        return {"messages": inner.invoke(given)["messages"][-1:]}

    builder = StateGraph(MessagesState)
    builder.add_node("mend", plan_node)
    builder.add_edge(START, "mend")
    builder.add_edge("mend", END)
    result = builder.compile().invoke({"messages": [("user", "double three")]})
    assert '{"value":6}' in result["messages"][-1].content


def test_two_runs_at_once_do_not_share_budgets():
    """Two tasks of one agent at once each have their own meters."""
    agent = agent_of(double)

    async def both():
        one = {"task": "t", "plan": plan(*[step(f"s{i}", x=i) for i in range(5)])}
        return await asyncio.gather(agent.ainvoke(one), agent.ainvoke(one))

    results = asyncio.run(both())
    assert [r["report"]["executions"] for r in results] == [5, 5]


def test_a_slow_tool_is_left_at_its_limit():
    """A tool that gives no answer in time fails with a timeout, and the limit grows."""
    limits = []

    async def hanging(x: int) -> dict:
        """Hang twice."""
        limits.append(time.monotonic())
        if len(limits) < 3:
            await asyncio.sleep(30)
        return {"value": x}

    policy = ToolPolicy(effect="read", timeout_s=0.05)
    clock = Clock()
    agent = create_mend_agent(
        None,
        tools=[hanging],
        policies={"hanging": policy},
        sleep=clock.sleep,
        seeded=False,
    )
    given = {"task": "t", "plan": plan(step("a", tool="hanging", x=1))}
    result = asyncio.run(agent.ainvoke(given))
    assert result["status"] == "done"
    assert result["report"]["retries"]["tier1"] == 2


def test_an_ended_unfinished_task_is_taken_up_again():
    """The same task given again keeps what is done and tries the open steps anew."""
    calls = []

    def effect(x: int) -> dict:
        """Leave something behind."""
        calls.append("effect")
        return {"value": x}

    def mended_later(x: int) -> dict:
        """Fail the first time."""
        calls.append("later")
        if calls.count("later") == 1:
            raise ValueError("not yet")
        return {"value": x}

    agent = create_mend_agent(
        None,
        tools=[effect, mended_later],
        policies={"effect": {"effect": "irreversible"}, "mended_later": READ},
        checkpointer=InMemorySaver(),
        seeded=False,
    )
    steps = [step("a", tool="effect", x=1), step("b", "a", tool="mended_later", x=2)]
    given = {"task": "t", "plan": plan(*steps)}
    assert agent.invoke(given, CONFIG)["status"] == "partial"
    assert agent.invoke(given, CONFIG)["status"] == "done"
    assert calls == ["effect", "later", "later"]
    assert agent.invoke(given, CONFIG)["status"] == "done"
    assert calls.count("effect") == 2
