"""Who made a correction, and reflections that end in a question, are in the report."""

import re
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from mendgraph import create_mend_agent
from mendgraph.report import RunView, render, view
from mendgraph.tools.doubles.scripted import ScriptedModel

PLAN = {"steps": [{"id": "s1", "tool": "look", "inputs": {"mode": "old"}}]}
BAD_VALUE = "invalid value for argument mode"


class Desk:
    """One agent with one tool that fails, and the report of its thread."""

    def __init__(self, message: str, model: Any = None, **settings: Any) -> None:
        self.broken = message

        def look(mode: str) -> dict:
            """Look in one mode."""
            if mode == "old" and self.broken:
                raise ValueError(self.broken)
            return {"mode": mode}

        self.agent = create_mend_agent(
            model,
            tools=[look],
            assume="read",
            seeded=False,
            checkpointer=InMemorySaver(),
            sleep=_no_wait,
        )
        self.config = {"configurable": {"thread_id": "t1", **settings}}
        self.result = self.agent.invoke({"task": "t", "plan": PLAN}, self.config)

    def seen(self) -> RunView:
        return view(self.agent.get_state(self.config).values)

    def answer(self, words: str) -> None:
        said = {"decisions": [{"type": "respond", "message": words}]}
        self.broken = ""
        self.result = self.agent.invoke(Command(resume=said), self.config)


async def _no_wait(_seconds: float) -> None:
    return None


def _patched(_messages: Any) -> dict[str, Any]:
    return {"arguments": {"mode": "new"}, "why": "w", "lesson": "use mode=new"}


@pytest.mark.parametrize(
    ("settings", "source"), [({"rehearsal": True}, "rehearsal"), ({}, "model")]
)
def test_a_patch_says_who_made_it(settings: dict[str, Any], source: str) -> None:
    """In a rehearsal that is the rehearsal; it is never said to be by rules."""
    desk = Desk(BAD_VALUE, ScriptedModel(script=_patched), **settings)
    (mend,) = desk.seen().corrections
    assert mend.reflection is not None
    assert mend.reflection.source == source
    assert f"(by {source};" in render(desk.seen())


@pytest.mark.parametrize(
    ("settings", "source"), [({"rehearsal": True}, "rehearsal"), ({}, "rules")]
)
def test_a_reflection_that_asks_a_person_is_a_correction(
    settings: dict[str, Any], source: str
) -> None:
    """It has a line with its question, open until the step is done."""
    desk = Desk("permission denied", **settings)
    asked = desk.result["__interrupt__"][0].value["action_requests"][0]
    (mend,) = desk.seen().corrections
    assert (mend.action, mend.step_id, mend.worked) == ("clarify", "s1", None)
    assert mend.reason in asked["description"]
    assert mend.reflection is not None
    assert mend.reflection.source == source
    page = render(desk.seen())
    assert re.search(r"<h3>Clarify</h3>", page)
    assert "Nothing had to be corrected" not in page
    desk.answer("retry")
    assert desk.result["status"] == "done"
    assert [each.worked for each in desk.seen().corrections] == [True]


def test_the_rules_view_in_a_rehearsal_is_the_rehearsals() -> None:
    """Deep reflections are marked like the light ones."""
    desk = Desk("permission denied", rehearsal=True)
    assert [each.source for each in desk.seen().reflections] == ["rehearsal"]
