"""A message during the run is read once, at a step boundary, at the smallest scope."""

import re

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from mendgraph.graph.build import create_mend_agent
from mendgraph.graph.rollback import plan_rollback
from mendgraph.graph.signalling import signal
from mendgraph.state.limits import Limits
from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.errors import TaskInputError

THREAD = {"configurable": {"thread_id": "t"}}
PLAN = {
    "steps": [
        {"id": "s1", "tool": "read", "inputs": {"name": "first"}},
        {
            "id": "s2",
            "tool": "read",
            "inputs": {"name": "second"},
            "dependencies": ["s1"],
        },
        {
            "id": "s3",
            "tool": "read",
            "inputs": {"name": "third"},
            "dependencies": ["s2"],
        },
    ]
}
GIVEN = {"task": "read three", "plan": PLAN}


@pytest.fixture(autouse=True)
def look_at_every_boundary(monkeypatch):
    """Steps of a test take less than the pause between two looks."""
    monkeypatch.setattr("mendgraph.nodes.execute.SIGNAL_LOOKS_S", 0.0)


def role_of(messages):
    return re.search(r"ROLE: (\w+)", messages[0].text)[1]


class Desk:
    """An agent whose first call leaves a message, and a script by role."""

    def __init__(self, text="also in French", *, script=None, **options):
        self.calls, self.roles, self.prompts = [], [], []
        self.text, self.script = text, script
        model = ScriptedModel(script=self.say) if script is not None else None
        given = {"assume": "read", "checkpointer": InMemorySaver(), **options}
        self.agent = create_mend_agent(
            model, tools=[self.read, self.send], learn=False, seeded=False, **given
        )

    def say(self, messages):
        self.roles.append(role_of(messages))
        self.prompts.append(messages[-1].text)
        said = self.script[self.roles[-1]]
        return said.pop(0) if isinstance(said, list) else said

    def read(self, name: str) -> str:
        """Read something."""
        self.calls.append(name)
        if name == "first" and self.text:
            text, self.text = self.text, ""
            signal(self.agent, "t", text)
        return f"{name} read"

    def send(self, name: str) -> str:
        """Send something."""
        self.calls.append(name)
        return f"{name} sent"

    def run(self, given=GIVEN):
        return self.agent.invoke(given, THREAD)

    @property
    def values(self):
        return self.agent.get_state(THREAD).values

    def heard(self):
        notes = self.values["notes"]
        return [n["heard_as"] for n in notes if "heard_as" in n]


def answers(kind, **more):
    return {"kind": kind, **more}


def patch(**parts):
    return {"keep": [], "drop": [], "replace": [], "add": [], "why": "as told", **parts}


FRENCH = {
    "id": "s4",
    "tool": "read",
    "inputs": {"name": "troisieme"},
    "dependencies": ["s2"],
    "replaces": "s3",
    "expected_output": "text",
}


def test_an_addition_changes_only_steps_that_have_not_begun():
    """The finished step stays and is not run again; the rest follows the patch."""
    desk = Desk(
        script={"signal": answers("addition"), "replan": patch(replace=[FRENCH])}
    )
    assert desk.run()["status"] == "done"
    assert desk.calls == ["first", "second", "troisieme"]
    assert desk.values["plan"]["version"] == 2
    assert desk.values["constraints"] == ["also in French"]
    assert desk.values["corrections"][0]["trigger"] == "signal"
    assert desk.values["corrections"][0]["action"] == "local_replan"
    assert desk.heard() == ["addition"]


def test_the_steps_after_the_message_wait_for_it():
    """What had not begun when it came is blocked by the signal, not by a failure."""
    desk = Desk(
        script={"signal": answers("addition"), "replan": patch(replace=[FRENCH])}
    )
    desk.run()
    blocked = [
        record["blocked_by"]
        for snapshot in desk.agent.get_state_history(THREAD)
        for record in (snapshot.values.get("steps") or {}).values()
        if record["status"] == "blocked"
    ]
    assert ["signal"] in blocked


def test_an_addition_that_changes_no_step_is_a_constraint():
    """An empty patch keeps the plan's version and the run goes on."""
    desk = Desk(script={"signal": answers("addition"), "replan": patch()})
    assert desk.run()["status"] == "done"
    assert desk.calls == ["first", "second", "third"]
    assert desk.values["plan"]["version"] == 1
    assert desk.values["constraints"] == ["also in French"]
    assert desk.roles == ["signal", "replan"]


def test_an_addition_nobody_can_plan_in_does_not_stop_the_task():
    """A patch refused to the end leaves the plan, the constraint and a note."""
    wrong = patch(drop=["s1"])
    desk = Desk(script={"signal": answers("addition"), "replan": wrong})
    assert desk.run()["status"] == "done"
    assert desk.values["constraints"] == ["also in French"]
    told = [n["text"] for n in desk.values["notes"] if n["kind"] == "signal"]
    assert any("the plan stays" in text for text in told)


def test_an_addition_may_come_when_all_is_done():
    """A message left by the last step adds a step instead of being lost."""
    new = {
        "id": "s9",
        "tool": "send",
        "inputs": {"name": "report"},
        "dependencies": [],
        "expected_output": "sent",
    }
    desk = Desk(script={"signal": answers("addition"), "replan": patch(add=[new])})
    assert desk.run({"task": "x", "plan": {"steps": PLAN["steps"][:1]}})["status"] == (
        "done"
    )
    assert desk.calls == ["first", "report"]


def test_another_goal_resets_the_plan():
    """The new words become the task; the results of the old one are void."""
    steps = [
        {
            "id": "n1",
            "tool": "read",
            "inputs": {"name": "other"},
            "expected_output": "text",
            "risk": "low",
        }
    ]
    desk = Desk(
        "no, read the other one instead",
        script={
            "signal": answers("changed_goal"),
            "plan": {"goal": "other", "steps": steps},
        },
        paths=1,
    )
    assert desk.run()["status"] == "done"
    assert desk.calls == ["first", "other"]
    values = desk.values
    assert values["task"] == "no, read the other one instead"
    assert [step["id"] for step in values["plan"]["steps"]] == ["n1"]
    assert {values["steps"][i]["status"] for i in ("s1", "s2", "s3")} == {"void"}
    assert values["corrections"][0]["action"] == "global_replan"
    assert any("before it was: read three" in prompt for prompt in desk.prompts)


def unclear(**script):
    said = {"signal": answers("unclear", question="Which part?"), **script}
    return Desk("do it better", script=said, paths=1)


def ask(desk):
    question = desk.run()["__interrupt__"][0]
    return question.id, question.value["action_requests"][0]["description"]


def test_an_unclear_message_is_asked_about():
    """The question quotes the user; saying go on keeps the plan as it is."""
    desk = unclear()
    key, text = ask(desk)
    assert "do it better" in text
    assert "Which part?" in text
    answer = {key: {"decisions": [{"type": "respond", "message": "Go on"}]}}
    done = desk.agent.invoke(Command(resume=answer), THREAD)
    assert done["status"] == "done"
    assert desk.calls == ["first", "second", "third"]


def test_the_answer_to_an_unclear_message_is_planned_in():
    """The answer leads to another plan that keeps what was done."""
    steps = [
        {
            "id": "n1",
            "tool": "read",
            "inputs": {"name": "better"},
            "dependencies": ["s1"],
            "expected_output": "text",
            "risk": "low",
        }
    ]
    desk = unclear(plan={"goal": "x", "keep": ["s1"], "steps": steps})
    key, _ = ask(desk)
    said = {"decisions": [{"type": "respond", "message": "the second part"}]}
    done = desk.agent.invoke(Command(resume={key: said}), THREAD)
    assert done["status"] == "done"
    assert desk.calls == ["first", "better"]


def test_an_answer_no_plan_follows_from_keeps_the_plan():
    """The mender's refused drafts do not stop a task that only got a message."""
    desk = unclear(plan={"goal": "x", "steps": [{"id": "n1", "tool": "unknown"}]})
    key, _ = ask(desk)
    said = {"decisions": [{"type": "respond", "message": "the second part"}]}
    done = desk.agent.invoke(Command(resume={key: said}), THREAD)
    assert done["status"] == "done"
    assert desk.calls == ["first", "second", "third"]


def test_an_unclear_message_nobody_can_be_asked_about_is_a_constraint():
    """Without a checkpointer the run goes on and the words are kept."""
    desk = Desk(
        "do it better",
        script={"signal": answers("unclear"), "replan": patch()},
        checkpointer=None,
    )
    done = desk.run()
    assert done["status"] == "done"
    assert [n["heard_as"] for n in done["report"]["notes"] if "heard_as" in n] == [
        "unclear"
    ]


def test_without_a_model_a_message_is_noted_and_the_run_goes_on():
    """It is read once, costs one round, and is never asked of a model."""
    desk = Desk()
    done = desk.run()
    assert done["status"] == "done"
    assert desk.calls == ["first", "second", "third"]
    assert desk.heard() == ["note"]
    assert desk.values["constraints"] == ["also in French"]
    assert done["report"]["spent"]["rounds"] == 2


@pytest.mark.parametrize("count", [3, 10])
def test_many_messages_never_make_an_endless_loop(count):
    """Several messages at once are read together; rounds stay few."""
    desk = Desk(limits=Limits(rounds=5))
    for number in range(count):
        signal(desk.agent, "t", f"also {number}")
    done = desk.run()
    assert done["status"] == "done"
    assert done["report"]["spent"]["rounds"] <= 4
    said = "\n".join(desk.values["constraints"]).splitlines()
    assert {f"also {n}" for n in range(count)} | {"also in French"} == set(said)


def test_a_message_does_not_hide_a_failed_step():
    """After the message is noted, the failure still gets its correction or its end."""
    desk = Desk()
    plan = {"steps": [{"id": "s1", "tool": "read", "inputs": {"name": "first"}}]}
    plan["steps"].append({"id": "s2", "tool": "send", "inputs": {"name": "x"}})
    plan["steps"][1]["validation_rule"] = "output == 'nothing'"
    done = desk.run({"task": "x", "plan": plan})
    assert done["status"] == "partial"
    assert [item["step_id"] for item in done["report"]["not_done"]] == ["s2"]
    assert desk.heard() == ["note"]


def test_another_process_needs_only_the_store(tmp_path):
    """A second agent on the same folder leaves the message the first one reads."""
    folder = tmp_path / "runs"
    writer = create_mend_agent(persist=folder)
    desk = Desk("", persist=folder, checkpointer=None)
    try:
        signal(writer, "t", "from elsewhere")
        desk.run()
        assert desk.values["constraints"] == ["from elsewhere"]
    finally:
        writer.close()
        desk.agent.close()


def test_a_store_write_is_enough():
    """A bare entry with a text, as a server's client writes it, is a message."""
    desk = Desk("")
    room = ("mendgraph", "threads", "t", "signals")
    desk.agent.held.deps.store.put(room, "k1", {"text": "bare"}, index=False)
    assert desk.run()["status"] == "done"
    assert desk.values["constraints"] == ["bare"]


def test_going_back_before_a_message_names_it():
    """A rollback lists the messages this branch no longer knows."""
    desk = Desk()
    desk.run()
    assert plan_rollback(desk.agent, THREAD, "s1").signals == ("also in French",)
    assert plan_rollback(desk.agent, THREAD, "s3").signals == ()


def test_an_empty_message_is_refused():
    """There is nothing to read in blanks."""
    with pytest.raises(TaskInputError, match="empty"):
        signal(Desk().agent, "t", "  ")
