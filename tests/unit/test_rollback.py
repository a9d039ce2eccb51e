"""Going back to a stable point keeps what was done by then and opens the rest."""

import asyncio
import threading

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph.graph.build import create_mend_agent
from mendgraph.graph.effects_since import Fate
from mendgraph.graph.rollback import arollback, plan_rollback, rollback
from mendgraph.graph.stable_points import RollbackTargetError
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.errors import ConfigError, ThreadError
from mendgraph.tools.lease import ThreadBusy

THREAD = {"configurable": {"thread_id": "t"}}


class World:
    """Tools that count their calls; one name can be broken and mended."""

    def __init__(self, broken=()):
        self.calls, self.broken, self.paid = [], set(broken), []

    def add(self, name: str, number: int = 0) -> dict[str, int]:
        """Return one more."""
        self.calls.append(name)
        if name in self.broken:
            raise ValueError(f"{name} takes no such number")
        return {"number": number + 1}

    def pay(self, name: str, number: int = 0) -> dict[str, int]:
        """Pay once."""
        self.calls.append(name)
        self.paid.append(name)
        return {"number": number + 1}

    def agent(self, **options):
        given = {
            "tools": [self.add, self.pay],
            "policies": {
                "add": {"effect": "read", "idempotent": True},
                "pay": ToolPolicy(),
            },
            "checkpointer": InMemorySaver(),
            "learn": False,
            **options,
        }
        return create_mend_agent(**given)


def chain(*tools):
    """A plan of steps s1, s2, … each reading the one before."""
    steps = []
    for index, tool in enumerate(tools, start=1):
        inputs = {"name": f"s{index}"}
        needs = []
        if index > 1:
            needs = [f"s{index - 1}"]
            inputs["number"] = f"{{{{ s{index - 1}.number }}}}"
        steps.append(
            {"id": f"s{index}", "tool": tool, "inputs": inputs, "dependencies": needs}
        )
    return {"task": "count", "plan": {"steps": steps}}


def statuses(agent, config=THREAD):
    return {i: r["status"] for i, r in agent.get_state(config).values["steps"].items()}


def outcome(agent):
    """What a finished thread holds, without times and references."""
    values = agent.get_state(THREAD).values
    digests = {
        i: (r["status"], r["summary"]["output_digest"], r["arguments_digest"])
        for i, r in values["steps"].items()
    }
    return values["status"], values["answer"], digests, values["plan"]


def test_going_back_and_on_equals_a_run_that_never_failed():
    """Same plan, results and answer; one call in twenty is made again."""
    whole, never_failed = World(), World().agent()
    plain = chain(*["add"] * 20)
    whole_agent = whole.agent()
    whole_agent.invoke(plain, THREAD)
    world = World(broken={"s20"})
    agent = world.agent()
    assert agent.invoke(plain, THREAD)["status"] == "partial"
    world.broken.clear()
    before = len(world.calls)
    done = rollback(agent, THREAD, "s19")
    assert done.kept == tuple(f"s{n}" for n in range(1, 20))
    assert done.open == ("s20",)
    assert agent.invoke(None, THREAD)["status"] == "done"
    assert world.calls[before:] == ["s20"]
    assert (len(world.calls) - before) / len(whole.calls) < 0.1
    assert outcome(agent) == outcome(whole_agent)
    assert never_failed.get_state(THREAD).values == {}


def test_a_step_in_the_middle_of_a_superstep_cuts_it_there():
    """All steps ran in one superstep; only those finished by then stay done."""
    world = World()
    agent = world.agent()
    agent.invoke(chain(*["add"] * 5), THREAD)
    done = rollback(agent, THREAD, "s2")
    assert (done.kept, done.open) == (("s1", "s2"), ("s3", "s4", "s5"))
    state = agent.get_state(THREAD)
    assert statuses(agent) == {"s1": "done", "s2": "done"}
    assert state.values["spent"]["executions"] == 2
    assert state.values["status"] == "running"
    assert state.values["pending"] is None
    assert state.next == ("step", "step", "step")
    world.calls.clear()
    agent.invoke(None, THREAD)
    assert world.calls == ["s3", "s4", "s5"]


def test_the_branch_left_behind_stays_as_it_was():
    """Both branches keep their own records, trails and answers."""
    world = World(broken={"s3"})
    agent = world.agent()
    agent.invoke(chain("add", "add", "add"), THREAD)
    old = agent.get_state(THREAD)
    done = rollback(agent, THREAD, "s1")
    world.broken.clear()
    agent.invoke(None, THREAD)
    again = agent.get_state(
        {"configurable": {"thread_id": "t", "checkpoint_id": done.left}}
    )
    assert again.values == old.values
    assert old.values["steps"]["s3"]["status"] == "failed"
    new = agent.get_state(THREAD).values
    assert new["steps"]["s3"]["status"] == "done"
    assert [note["kind"] for note in new["notes"]] == ["rollback"]
    assert done.left == old.config["configurable"]["checkpoint_id"]
    assert new["notes"][0]["left"] == done.left


def test_what_only_the_other_branch_did_is_no_point_of_this_one():
    """After going back to s1, s3 has not succeeded on this branch."""
    agent = World().agent()
    agent.invoke(chain("add", "add", "add"), THREAD)
    rollback(agent, THREAD, "s1")
    with pytest.raises(RollbackTargetError, match="steps that succeeded: s1;"):
        rollback(agent, THREAD, "s3")
    assert plan_rollback(agent, THREAD, "s1").kept == ("s1",)


def test_a_version_keeps_everything_done_under_it():
    """Going back to version 1, as number or text, opens only what had failed."""
    world = World(broken={"s2"})
    agent = world.agent()
    agent.invoke(chain("add", "add", "add"), THREAD)
    for to in (1, "1", "v1"):
        seen = plan_rollback(agent, THREAD, to)
        assert (seen.to, seen.kept, seen.open) == ("version 1", ("s1",), ("s2", "s3"))
    world.broken.clear()
    rollback(agent, THREAD, 1)
    assert agent.invoke(None, THREAD)["status"] == "done"


def test_a_checkpoint_is_gone_back_to_exactly():
    """The checkpoint before the superstep has nothing done yet."""
    agent = World().agent()
    agent.invoke(chain("add", "add"), THREAD)
    first = next(s for s in agent.get_state_history(THREAD) if "step" in s.next)
    wanted = first.config["configurable"]["checkpoint_id"]
    done = rollback(agent, THREAD, wanted)
    assert (done.checkpoint_id, done.kept) == (wanted, ())
    assert statuses(agent) == {}


def test_an_interrupted_superstep_has_stable_points_too():
    """A step that succeeded beside an open question is one; the question is left."""
    world = World()
    agent = world.agent(interrupt_on={"pay": True})
    asked = agent.invoke(chain("add", "add", "pay"), THREAD)
    assert asked["__interrupt__"]
    done = rollback(agent, THREAD, "s1")
    assert (done.kept, done.open) == (("s1",), ("s2", "s3"))
    world.calls.clear()
    again = agent.invoke(None, THREAD)
    assert world.calls == ["s2"]
    assert len(again["__interrupt__"]) == 1


def test_a_kept_effect_is_listed_and_not_repeated():
    """What was paid stays paid: the same call after going back reuses it."""
    world = World()
    agent = world.agent()
    agent.invoke(chain("add", "pay", "add"), THREAD)
    done = rollback(agent, THREAD, "s1")
    assert [(e.tool, e.step_id, e.fate) for e in done.effects] == [
        ("pay", "s2", Fate.KEPT)
    ]
    assert "cannot be undone" in done.effects[0].why
    assert agent.invoke(None, THREAD)["status"] == "done"
    assert world.paid == ["s2"]
    assert agent.get_state(THREAD).values["steps"]["s2"]["reused"] is True


def refunding(world, **options):
    """An agent whose payments can be undone, and the list of what was."""
    undone = []

    def refund(name: str) -> dict[str, str]:
        """Give the money back."""
        if name in world.broken:
            raise ConnectionRefusedError("no way to refund")
        undone.append(name)
        return {"refunded": name}

    undo = {"tool": "refund", "arguments": {"name": "{{ args.name }}"}}
    policies = {
        "add": {"effect": "read", "idempotent": True},
        "pay": {"compensate_with": undo},
        "refund": {"idempotent": True},
    }
    tools = [world.add, world.pay, refund]
    return world.agent(tools=tools, policies=policies, **options), undone


def test_effects_are_undone_when_asked_and_then_made_again():
    """The newest goes first; going on pays anew, because nothing stands any more."""
    world = World()
    agent, undone = refunding(world)
    agent.invoke(chain("add", "pay", "pay"), THREAD)
    seen = plan_rollback(agent, THREAD, "s1", compensate=True)
    assert {e.fate for e in seen.effects} == {Fate.TO_COMPENSATE}
    assert undone == []
    done = rollback(agent, THREAD, "s1", compensate=True)
    assert undone == ["s3", "s2"]
    assert [(e.step_id, e.fate) for e in done.effects] == [
        ("s3", Fate.COMPENSATED),
        ("s2", Fate.COMPENSATED),
    ]
    assert agent.invoke(None, THREAD)["status"] == "done"
    assert world.paid == ["s2", "s3", "s2", "s3"]


def test_an_effect_that_cannot_be_undone_is_kept_with_the_reason():
    """The undoing fails: the thread is back, the effect stands and is reused."""
    world = World()

    async def at_once(seconds):
        pass

    agent, _ = refunding(world, sleep=at_once)
    agent.invoke(chain("add", "pay", "pay"), THREAD)
    world.broken.add("s3")
    done = rollback(agent, THREAD, "s1", compensate=True)
    assert [(e.step_id, e.fate) for e in done.effects] == [
        ("s3", Fate.NOT_COMPENSATED),
        ("s2", Fate.NOT_COMPENSATED),
    ]
    assert "no way to refund" in done.effects[0].why
    assert "not tried" in done.effects[1].why
    world.broken.clear()
    assert agent.invoke(None, THREAD)["status"] == "done"
    assert world.paid == ["s2", "s3"]


def test_an_undoing_that_needs_a_person_is_asked_about():
    """Without somebody to ask it is kept; with a yes it is undone."""
    world = World()
    agent, undone = refunding(world, interrupt_on={"refund": True})
    agent.invoke(chain("add", "pay"), THREAD)
    done = rollback(agent, THREAD, "s1", compensate=True)
    assert done.effects[0].fate is Fate.NOT_COMPENSATED
    assert "not authorised" in done.effects[0].why
    asked = []

    async def yes(question):
        asked.append(question["action_requests"][0]["name"])
        return True

    done = rollback(agent, THREAD, "s1", compensate=True, approve=yes)
    assert (asked, undone) == (["refund"], ["s2"])
    assert done.effects[0].fate is Fate.COMPENSATED


def test_effects_before_the_point_are_not_since_then():
    """An effect of a step that stays done is not among those listed."""
    agent = World().agent()
    agent.invoke(chain("pay", "add", "pay"), THREAD)
    seen = plan_rollback(agent, THREAD, "s2")
    assert [effect.step_id for effect in seen.effects] == ["s3"]


def test_a_preview_changes_nothing():
    """The thread stands where it stood, and the preview has no new head."""
    agent = World().agent()
    agent.invoke(chain("add", "add"), THREAD)
    before = agent.get_state(THREAD)
    seen = plan_rollback(agent, THREAD, "s1")
    assert seen.head is None
    assert agent.get_state(THREAD) == before


def test_a_thread_nobody_ran_is_named():
    """There is nothing to go back to on an unknown thread."""
    with pytest.raises(ThreadError, match="no thread 't'"):
        rollback(World().agent(), THREAD, 1)


def test_an_unknown_point_lists_what_there_is():
    """Versions, steps that succeeded and checkpoints are in the message."""
    agent = World(broken={"s2"}).agent()
    agent.invoke(chain("add", "add"), THREAD)
    with pytest.raises(RollbackTargetError) as caught:
        rollback(agent, THREAD, "s9")
    text = str(caught.value)
    assert "'s9'" in text
    assert "plan versions: 1; steps that succeeded: s1; checkpoints: " in text


def test_a_graph_without_history_says_so():
    """No checkpointer, no way back."""
    agent = World().agent(checkpointer=None)
    with pytest.raises(ConfigError, match="give a checkpointer"):
        rollback(agent, THREAD, 1)


def test_a_running_thread_is_left_alone():
    """The lease of the run holds against a rollback, and a rollback changes nothing."""
    inside, go_on = threading.Event(), threading.Event()

    def slow(name: str) -> str:
        """Wait until told."""
        inside.set()
        go_on.wait(10)
        return name

    agent = World().agent(tools=[slow], policies={"slow": {"effect": "read"}})
    plan = {"steps": [{"id": "s1", "tool": "slow", "inputs": {"name": "x"}}]}
    given = {"task": "wait", "plan": plan}
    running = threading.Thread(target=agent.invoke, args=(given, THREAD))
    running.start()
    try:
        assert inside.wait(10)
        with pytest.raises(ThreadBusy, match="thread t"):
            rollback(agent, THREAD, 1)
    finally:
        go_on.set()
        running.join()
    assert statuses(agent) == {"s1": "done"}


def test_a_coroutine_goes_back_as_well():
    """The asynchronous form forks, and ainvoke goes on from there."""
    world = World(broken={"s2"})
    agent = world.agent()

    async def run():
        await agent.ainvoke(chain("add", "add"), THREAD)
        world.broken.clear()
        done = await arollback(agent, THREAD, "s1")
        return done, await agent.ainvoke(None, THREAD)

    done, values = asyncio.run(run())
    assert done.kept == ("s1",)
    assert values["status"] == "done"


def test_giving_the_same_task_again_goes_on_from_the_point():
    """`invoke` with the same input resumes the branch and begins no new task."""
    world = World(broken={"s2"})
    agent = world.agent()
    given = chain("add", "add")
    agent.invoke(given, THREAD)
    world.broken.clear()
    rollback(agent, THREAD, "s1")
    world.calls.clear()
    assert agent.invoke(given, THREAD)["status"] == "done"
    assert world.calls == ["s2"]


def test_going_back_twice_and_further_each_time_works():
    """A fork of a fork reaches points of the branch it came from."""
    world = World()
    agent = world.agent()
    agent.invoke(chain(*["add"] * 4), THREAD)
    rollback(agent, THREAD, "s3")
    agent.invoke(None, THREAD)
    done = rollback(agent, THREAD, "s2")
    assert done.kept == ("s1", "s2")
    world.calls.clear()
    assert agent.invoke(None, THREAD)["status"] == "done"
    assert world.calls == ["s3", "s4"]
