"""The end of a task: outcomes judged, strategies tuned, memory swept, reviews made."""

import asyncio
import re

from langgraph.checkpoint.memory import InMemorySaver

from mendgraph import create_mend_agent
from mendgraph.nodes.aftercare import CLOSED, TASKS
from mendgraph.nodes.meta import reviews
from mendgraph.nodes.outcomes import mended
from mendgraph.nodes.tuning import Tuned, usable
from mendgraph.state.lesson import Application, Strategy, StrategyState
from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.memory.protocol import SweepReport

ROLE = re.compile(r"ROLE: (\w+)")


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


async def _no_wait(_seconds):
    return None


def agent_of(*tools, model=None, **options):
    return create_mend_agent(
        model,
        tools=tools,
        assume="read",
        seeded=False,
        checkpointer=InMemorySaver(),
        sleep=_no_wait,
        **options,
    )


def library_of(agent):
    library = agent.held.deps.library(agent.held.deps.store)
    asyncio.run(library.ensure())
    return library


def ask(mode: str) -> dict:
    """Answer in one mode."""
    if mode == "old":
        raise ValueError(f"invalid value for argument mode: {mode}")
    return {"mode": mode}


def ran(agent, mode="new", thread="t"):
    plan = {"steps": [{"id": "s1", "tool": "ask", "inputs": {"mode": mode}}]}
    return agent.invoke(
        {"task": thread, "plan": plan}, {"configurable": {"thread_id": thread}}
    )


def talker(**answers):
    asked = []

    def script(messages):
        role = ROLE.search(messages[0].text)[1]
        asked.append((role, messages[-1].text))
        return answers[role]

    return ScriptedModel(script=script), asked


PATCH = {"arguments": {"mode": "new"}, "why": "w"}


def test_every_hundred_tasks_the_attributions_are_reviewed():
    """The hundredth task brings a review with figures; without a model no opinion."""
    agent = agent_of(ask)
    library = library_of(agent)
    library.tasks.add(CLOSED, 98)
    for _ in range(12):
        library.calibration.record("env_error", "network_error", 0.9, right=False)
    notes = ran(agent, thread="t99")["report"]["notes"]
    assert notes == []
    ran(agent, thread="t100")
    (review,) = asyncio.run(reviews(agent.held.deps.store))
    assert (review.tasks, review.attributions, review.opinion) == (100, 12, ())
    assert "env_error:network_error was attributed rightly in 7%" in review.findings[0]
    assert any("states 0.90 and is worth 0.07" in each for each in review.findings)
    ran(agent, thread="t101")
    assert len(asyncio.run(reviews(agent.held.deps.store))) == 1


def test_with_a_model_the_review_has_an_opinion_beside_the_figures():
    """One call, kept apart from what was counted."""
    model, asked = talker(meta={"findings": ["f"], "advice": ["a"]})
    agent = agent_of(ask, model=model)
    library_of(agent).tasks.add(CLOSED, 99)
    ran(agent)
    (review,) = asyncio.run(reviews(agent.held.deps.store))
    assert review.opinion == ("f", "a")
    assert [role for role, _ in asked] == ["meta"]


def test_the_memory_is_swept_at_most_once_a_day():
    """The mark is in the store, so it holds for every process."""
    swept = []

    class Memory:
        problems = ()

        async def recall(self, query, limit=5):
            return []

        async def remember(self, lesson):
            return None

        async def feedback(self, ids, helped):
            return None

        async def sweep(self, now):
            swept.append(now)
            return SweepReport(kept=3)

    clock = Clock()
    agent = agent_of(ask, memory=Memory(), clock=clock)
    for day, times in ((0.0, 2), (1.1, 3), (2.3, 1)):
        clock.now = 1_000_000.0 + day * 86_400
        for number in range(times):
            ran(agent, thread=f"{day}:{number}")
    assert len(swept) == 2


def strategy():
    uses = [
        Application(
            task_id=f"t{n}",
            step_id="s",
            outcome="failure" if n % 3 else "success",
            at=float(n),
            args_before={"mode": "old"},
            args_after={"mode": "older"},
            error="invalid value",
        )
        for n in range(9)
    ]
    fixed = Strategy(
        id="st1",
        signature="execution_error:param_error:other",
        content="try another mode",
        state=StrategyState.TUNING,
    )
    return fixed, uses


async def _kept(library):
    fixed, uses = strategy()
    await library.strategies._put(fixed)
    for use in uses:
        await library.strategies._uses.append(fixed.id, use)


def test_a_strategy_that_lost_its_use_is_tuned_into_a_new_candidate():
    """The model sees good and bad uses; the old version retires, the new one starts."""
    better = {
        "content": "use mode=new",
        "condition": "args.mode == 'old'",
        "patch": {"mode": "'new'"},
    }
    model, asked = talker(patch=PATCH, tune=better)
    agent = agent_of(ask, model=model)
    library = library_of(agent)
    asyncio.run(_kept(library))
    ran(agent, mode="old")
    assert [role for role, _ in asked] == ["patch", "tune"]
    assert "uses that failed" in asked[1][1]
    states = {s.id: s for s in asyncio.run(library.strategies.all())}
    assert states["st1"].state is StrategyState.RETIRED
    (new,) = [s for s in states.values() if s.replaces == "st1"]
    assert (new.version, new.state) == (2, StrategyState.CANDIDATE)
    assert new.patch == {"mode": "'new'"}


def test_an_expression_that_does_not_compile_is_left_out():
    """Half a patch would mend half a call: all of it goes, the words stay."""
    good = Tuned(content="c", condition="args.a == 1", patch={"a": "2"})
    assert usable(good) == ("args.a == 1", {"a": "2"})
    bad = Tuned(content="c", condition="args.a == 1", patch={"a": "2", "b": "((("})
    assert usable(bad) == (None, {})


def test_a_window_of_costly_corrections_brings_a_warning():
    """The factor is measured over the tasks in the store, and the note says so."""
    agent = agent_of(ask)
    library = library_of(agent)
    figures = {
        "at": 1.0,
        "thread_id": "x",
        "status": "done",
        "corrections": 2,
        "correction_model_calls": 9,
        "model_calls": 9,
        "tokens": 0,
    }
    for number in range(9):
        asyncio.run(agent.held.deps.store.aput(TASKS, f"old{number}", figures))
    library.tasks.add(CLOSED, 9)
    config = {"configurable": {"thread_id": "t"}}
    ran(agent)
    notes = agent.get_state(config).values["notes"]
    (note,) = [n for n in notes if n["kind"] == "caf"]
    assert note["value"] == 4.5
    assert note["text"].startswith("over 10 tasks: corrections cost 4.5 model calls")


def test_a_step_counts_as_mended_when_what_replaced_it_is_done():
    """The lineage decides; a step the new plan does without needs the whole plan."""
    plan = {"steps": [{"id": "b", "tool": "t", "replaces": "a"}, {"id": "c"}]}
    done = {"status": "done", "blocked_by": []}
    records = {"b": {**done, "lineage": "a"}, "c": {**done, "lineage": "c"}}
    state = {"plan": plan, "steps": records}
    assert mended(state, "a") is True
    records["b"] = {**records["b"], "status": "failed"}
    assert mended(state, "a") is False
    assert mended(state, "gone") is False
