"""Replanning through the public API: only the cone changes, nothing comes back."""

import asyncio
from collections import Counter

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from mendgraph import Limits, ToolPolicy, create_mend_agent
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.scripted import ScriptedModel

CONFIG = {"configurable": {"thread_id": "t"}}
HOWS = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


async def no_sleep(_seconds):
    return None


class World:
    """Tools that count their calls by step; some steps are broken."""

    def __init__(self, *broken):
        self.calls, self.broken = Counter(), set(broken)

    def work(self, name: str, number: int = 0) -> dict:
        """Do some work."""
        self.calls[name] += 1
        if name in self.broken:
            raise ValueError(f"{name} cannot be done like this")
        return {"number": number + 1}

    def other(self, name: str, number: int = 0) -> dict:
        """Do the work in another way."""
        self.calls[name] += 1
        return {"number": number + 1}

    def send(self, name: str) -> dict:
        """Send something out."""
        self.calls[name] += 1
        return {"sent": name}

    def danger(self, name: str) -> dict:
        """Do what nobody allowed."""
        self.calls[name] += 1
        return {"done": name}


def step(step_id, *needs, tool="work", **fields):
    inputs = {"name": step_id}
    if needs:
        inputs["number"] = f"{{{{ {needs[0]}.number }}}}"
    return {
        "id": step_id,
        "tool": tool,
        "inputs": inputs,
        "depends_on": list(needs),
        **fields,
    }


def line_of(count):
    return [step(f"s{n}", *([f"s{n - 1}"] if n > 1 else [])) for n in range(1, count + 1)]


def reflection(decision="local_replan", **fields):
    return {"decision": decision, "observed_issue": "it cannot be done", **fields}


def instead(old, new, **fields):
    return {**step(new, tool="other"), "replaces": old, **fields}


NO_PATCH = {"arguments": {}, "why": "nothing to change"}


class Desk:
    """An agent with counted tools and a model that answers by role."""

    def __init__(self, world, script, *, saver=True, model=True, **options):
        self.world = world
        self.said = ByRole({"patch": lambda _: NO_PATCH, **script})
        self.model = ScriptedModel(script=self.said) if model else None
        options = {
            "policies": {"send": ToolPolicy(effect="write")},
            "authorise": [{"tool": "danger", "decision": "deny"}],
            **options,
        }
        self.agent = create_mend_agent(
            self.model,
            tools=[world.work, world.other, world.send, world.danger],
            assume="read",
            checkpointer=InMemorySaver() if saver else None,
            sleep=no_sleep,
            seeded=False,
            **options,
        )

    def run(self, given, how="invoke"):
        if how == "invoke":
            return self.agent.invoke(given, CONFIG)
        return asyncio.run(self.agent.ainvoke(given, CONFIG))

    def answer(self, result, kind, message=None):
        asked = result["__interrupt__"][0]
        decision = {"type": kind, **({"message": message} if message else {})}
        return self.run(Command(resume={asked.id: {"decisions": [decision]}}))

    @property
    def values(self):
        return self.agent.get_state(CONFIG).values

    def prompts(self, role):
        asked = zip(self.said.asked, self.model.prompts, strict=True)
        return ["\n".join(str(m.text) for m in p) for name, p in asked if name == role]


def given(*steps, **fields):
    return {"task": "count", "plan": {"steps": list(steps)}, **fields}


@HOWS
def test_a_failure_at_step_twelve_of_twenty_changes_its_cone_only(how):
    """Eleven results stay, the failed step is replaced, the eight after it follow."""
    world = World("s12")
    script = {
        "reflect": [reflection()],
        "replan": [{"replace": [instead("s12", "n12", depends_on=["s11"])]}],
    }
    desk = Desk(world, script)
    result = desk.run(given(*line_of(20)), how)
    assert result["status"] == "done"
    assert result["report"]["plan_version"] == 2
    before = {f"s{n}": 1 for n in range(1, 12)}
    after = {f"s{n}": 1 for n in range(13, 21)}
    calls = dict(world.calls)
    failed = calls.pop("s12")
    assert failed >= 1
    assert calls == {**before, **after, "n12": 1}
    plan = desk.values["plan"]
    assert plan["retired"] == ["s12"]
    ids = [s["id"] for s in plan["steps"]]
    assert ids == [f"s{n}" if n != 12 else "n12" for n in range(1, 21)]
    assert result["answer"].endswith('s20: {"number":9}')
    assert desk.values["steps"]["s12"]["status"] == "void"


@HOWS
def test_pending_steps_of_a_replaced_plan_are_never_scheduled_again(how):
    """What the patch dropped is not called, whatever was pending before (F41)."""
    world = World("s2")
    patch = {
        "replace": [instead("s2", "n2", depends_on=["s1"])],
        "drop": ["s3", "s4", "s5"],
    }
    desk = Desk(world, {"reflect": [reflection()], "replan": [patch]})
    result = desk.run(given(*line_of(5)), how)
    assert result["status"] == "done"
    assert {name: world.calls[name] for name in ("s3", "s4", "s5")} == {
        "s3": 0,
        "s4": 0,
        "s5": 0,
    }
    statuses = {i: desk.values["steps"][i]["status"] for i in ("s3", "s4", "s5")}
    assert set(statuses.values()) == {"void"}
    assert result["report"]["done"] == ["s1", "n2"]


REFUSED = {
    "an unknown tool": (
        {"replace": [instead("s2", "n2", tool="rm_rf")]},
        "rm_rf",
    ),
    "an id used before": ({"replace": [instead("s2", "s1")]}, "was used before"),
    "a step outside the cone": (
        {"replace": [instead("s2", "n2")], "drop": ["s1"]},
        "'s1' is not affected",
    ),
    "the plan that failed": (
        {
            "replace": [
                {
                    **step("n2", "s1"),
                    "inputs": {"name": "s2", "number": "{{ s1.number }}"},
                    "replaces": "s2",
                }
            ]
        },
        "the plan that failed",
    ),
    "the failed step": ({"drop": ["s3"]}, "'s2' failed; replace it"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_an_unsound_patch_is_refused_and_asked_for_again(fault):
    """Rights never widen, ids never come back, the same plan is never tried again."""
    world = World("s2")
    wrong, told = REFUSED[fault]
    good = {"replace": [instead("s2", "n2", depends_on=["s1"])]}
    desk = Desk(world, {"reflect": [reflection()], "replan": [wrong, good]})
    result = desk.run(given(*line_of(3)))
    assert result["status"] == "done"
    assert told in desk.prompts("replan")[1]
    assert world.calls["n2"] == 1


def test_a_replan_cannot_drop_an_effect():
    """A step whose effect happened stays, whatever the model wants (F17)."""
    world = World("s2")
    steps = [step("pay", tool="send"), step("s2"), step("s3", "s2")]
    steps[1]["depends_on"] = ["pay"]
    blamed = reflection(cause_step="pay")
    drops = {"replace": [instead("s2", "n2", depends_on=[])], "drop": ["pay"]}
    good = {"replace": [instead("s2", "n2")]}
    desk = Desk(world, {"reflect": [blamed], "replan": [drops, good]})
    result = desk.run(given(*steps))
    assert result["status"] == "done"
    assert world.calls["pay"] == 1
    assert "'pay'" in desk.prompts("replan")[1]
    assert "pay" in [s["id"] for s in desk.values["plan"]["steps"]]


def test_a_tool_the_rules_deny_stays_denied_in_a_new_plan():
    """A replan may name it; the call is refused all the same."""
    world = World("s1")
    patch = {"replace": [instead("s1", "n1", tool="danger")]}
    script = {
        "reflect": [reflection(), reflection("give_up")],
        "replan": [patch],
    }
    desk = Desk(world, script)
    result = desk.run(given(step("s1")))
    assert result["status"] == "failed"
    assert world.calls["n1"] == 0
    assert "not authorised" in result["answer"]


def test_a_cause_upstream_is_replaced_with_what_came_of_it():
    """The step that gave the bad output is made anew, and all that read it (F26)."""
    world = World("s3")
    patch = {
        "replace": [
            instead("s2", "n2", depends_on=["s1"]),
            instead("s3", "n3", depends_on=["n2"]),
        ]
    }
    script = {"reflect": [reflection(cause_step="s2")], "replan": [patch]}
    desk = Desk(world, script)
    result = desk.run(given(*line_of(3)))
    assert result["status"] == "done"
    assert world.calls["s1"] == 1
    assert world.calls["n2"] == 1
    assert desk.values["steps"]["s2"]["status"] == "void"


@HOWS
def test_a_patch_refused_again_and_again_leads_to_a_global_replan(how):
    """Finished results are kept by the new plan (F44)."""
    world = World("s2")
    wrong = {"replace": [instead("s2", "n2", tool="rm_rf")]}
    whole = {
        "goal": "g",
        "steps": [step("g2", "s1", tool="other")],
        "keep": ["s1"],
    }
    script = {"reflect": [reflection()], "replan": [wrong] * 3, "plan": [whole]}
    desk = Desk(world, script)
    result = desk.run(given(*line_of(3)), how)
    assert result["status"] == "done"
    assert world.calls["s1"] == 1
    assert result["report"]["done"] == ["s1", "g2"]
    assert desk.values["plan"]["retired"] == ["s2", "s3"]
    assert [c["action"] for c in desk.values["corrections"]][-1] == "global_replan"


def test_impossible_is_asked_about():
    """The mender's word that it cannot be done goes to a person, who may decide."""
    world = World("s2")
    script = {
        "reflect": [reflection()],
        "replan": [{"impossible": "no tool can do it"}],
        "plan": [{"steps": [step("g2", "s1", tool="other")], "keep": ["s1"]}],
    }
    desk = Desk(world, script)
    result = desk.run(given(*line_of(2)))
    value = result["__interrupt__"][0].value
    assert value["metadata"]["kind"] == "clarification"
    assert "no tool can do it" in value["action_requests"][0]["description"]
    result = desk.answer(result, "respond", "use the other tool")
    assert result["status"] == "done"
    assert "use the other tool" in desk.prompts("plan")[0]
    assert result["report"]["replans"] == 1


def test_retry_and_stop_are_understood_with_a_model_too():
    """Retry runs the failed step again, stop cancels; the model is not asked."""
    for said, status in (("retry", "done"), ("stop", "cancelled")):
        world = World("s2")
        script = {"reflect": [reflection("clarify")]}
        desk = Desk(world, script)
        result = desk.run(given(*line_of(3)))
        world.broken.clear()
        result = desk.answer(result, "respond", said)
        assert result["status"] == status
        assert world.calls["s1"] == 1


def test_an_answer_nobody_can_use_is_asked_about_again():
    """Without a model free text changes nothing; the question says what does."""
    world = World()

    def closed(name: str) -> dict:
        """Need a person."""
        world.calls[name] += 1
        raise PermissionError(13, "Permission denied")

    agent = create_mend_agent(
        None, tools=[closed], assume="read", checkpointer=InMemorySaver()
    )
    plan = {"steps": [{"id": "a", "tool": "closed", "inputs": {"name": "a"}}]}
    result = agent.invoke({"task": "t", "plan": plan}, CONFIG)
    for said, kept in (("do it differently", True), ("stop", False)):
        asked = result["__interrupt__"][0]
        answer = {"decisions": [{"type": "respond", "message": said}]}
        result = agent.invoke(Command(resume={asked.id: answer}), CONFIG)
        assert ("__interrupt__" in result) is kept
        if kept:
            again = result["__interrupt__"][0].value["action_requests"][0]
            assert "Answer 'retry' or 'stop'" in again["description"]
    assert result["status"] == "cancelled"


@HOWS
def test_replans_are_bounded_and_the_reason_is_said(how):
    """A plan that never works ends with what is done, within the caps (F45, F47)."""
    world = World()
    world.broken = {f"n{n}" for n in range(100)} | {"s2"}
    numbers = iter(range(100))

    def patch(_messages):
        state = next(numbers)
        old = "s2" if state == 0 else f"n{state - 1}"
        new = step(f"n{state}", "s1")
        return {"replace": [{**new, "replaces": old}]}

    script = {"reflect": lambda _: reflection(), "replan": patch}
    desk = Desk(
        world,
        script,
        saver=False,
        limits=Limits(replans=2, reasoning_tokens=10**6, corrections_per_step=9),
    )
    result = desk.run(given(*line_of(2)), how)
    assert result["status"] == "partial"
    assert result["report"]["replans"] == 2
    assert "replans exhausted (2 of 2)" in result["answer"]
    assert result["report"]["stopped_by"] == "replans exhausted (2 of 2)"
    assert world.calls["s1"] == 1


def test_a_lineage_that_never_works_is_given_up():
    """Three corrections of one lineage, then it is unrecoverable (F45)."""
    world = World()
    world.broken = {f"n{n}" for n in range(100)} | {"s2"}
    numbers = iter(range(100))

    def patch(_messages):
        state = next(numbers)
        old = "s2" if state == 0 else f"n{state - 1}"
        return {"replace": [{**step(f"n{state}", "s1"), "replaces": old}]}

    script = {"reflect": lambda _: reflection(), "replan": patch}
    limits = Limits(replans=50, reasoning_tokens=10**6, model_calls=10**4)
    desk = Desk(world, script, saver=False, limits=limits)
    result = desk.run(given(*line_of(2)))
    assert result["status"] == "partial"
    assert result["report"]["replans"] <= 3


def test_the_correction_amplification_factor_is_reported():
    """Model calls made to mend by corrections made (F46)."""
    world = World("s2")
    script = {
        "reflect": [reflection()],
        "replan": [{"replace": [instead("s2", "n2", depends_on=["s1"])]}],
    }
    desk = Desk(world, script)
    result = desk.run(given(*line_of(3)))
    report = result["report"]
    mending = [role for role in desk.said.asked if role != "plan"]
    assert report["caf"] == len(mending) / report["corrections"]


def test_a_model_that_is_down_for_a_replan_pauses_and_goes_on():
    """The local replan itself is done after the pause, not a global one (F68)."""
    from mendgraph.tools.models.errors import ModelOutOfMoney

    world, mended = World("s2"), []
    good = {"replace": [instead("s2", "n2", depends_on=["s1"])]}

    def replan(_messages):
        return good if mended else ModelOutOfMoney("Insufficient Balance")

    desk = Desk(world, {"reflect": [reflection()], "replan": replan})
    result = desk.run(given(*line_of(3)))
    value = result["__interrupt__"][0].value
    assert value["metadata"]["kind"] == "model_unavailable"
    mended.append(True)
    result = desk.answer(result, "approve")
    assert result["status"] == "done"
    assert "plan" not in desk.said.asked
    assert world.calls["s1"] == 1


@HOWS
def test_a_proposal_against_an_old_version_is_kept_as_a_conflict(how):
    """Whoever read version 1 cannot overwrite version 2; the report says so (F42)."""
    world = World("s2")
    script = {
        "reflect": [reflection()],
        "replan": [{"replace": [instead("s2", "n2", depends_on=["s1"])]}],
    }
    desk = Desk(world, script, interrupt_on={"other": True})
    desk.run(given(*line_of(3)), how)
    plan = desk.values["plan"]
    assert plan["version"] == 2
    stale = {**plan, "version": 2, "steps": [step("mine")]}
    proposal = {"base_version": 1, "author": "another process", "plan": stale}
    desk.agent.update_state(CONFIG, {"plan": proposal}, as_node="replan")
    assert [s["id"] for s in desk.values["plan"]["steps"]] == ["s1", "n2", "s3"]
    result = desk.answer(desk.run(None, how), "approve")
    assert result["status"] == "done"
    assert world.calls["mine"] == 0
    assert result["report"]["conflicts"] == [
        {
            "base_version": 1,
            "current_version": 2,
            "proposed_version": 2,
            "author": "another process",
            "steps": ["mine"],
        }
    ]
