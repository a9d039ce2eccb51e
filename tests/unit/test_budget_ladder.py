"""The budget ladder as the report tells it: what was dropped, when, and why (F59)."""

import json

from mendgraph import Limits, create_mend_agent
from mendgraph.tools.doubles.by_role import ByRole
from mendgraph.tools.doubles.scripted import Line, ScriptedModel

CONFIG = {"configurable": {"thread_id": "t"}}


def pick(number: int) -> dict:
    """Pick a number."""
    if number != 7:
        raise ValueError(f"invalid value {number} for argument number")
    return {"picked": number}


async def no_sleep(_seconds):
    return None


def line(value, tokens):
    usage = {"input_tokens": 10, "output_tokens": tokens}
    return Line(text=json.dumps(value), usage=usage)


def plan(number):
    step = {
        "id": "s",
        "tool": "pick",
        "inputs": {"number": number},
        "risk": "high",
        "no_fallback_reason": "there is none",
    }
    return {"goal": "g", "steps": [step]}


def run(script, **options):
    said = ByRole(script)
    agent = create_mend_agent(
        ScriptedModel(script=said),
        tools=[pick],
        assume="read",
        sleep=no_sleep,
        seeded=False,
        limits=Limits(reasoning_tokens=1_000),
        clock=lambda: 5_000.0,
        **options,
    )
    return agent.invoke({"task": "pick"}, CONFIG), said.asked


def dropped(result):
    return [
        (note["what"], note["when"], note["spent"])
        for note in result["report"]["notes"]
        if note["kind"] == "budget"
    ]


SCORES = {
    "candidates": [
        {"index": n, "feasibility": 1, "robustness": 1, "fit": 1} for n in range(3)
    ]
}


def test_with_room_nothing_is_dropped():
    """A cheap plan keeps its candidates and its critique."""
    result, asked = run(
        {
            "plan": lambda _: line(plan(7), 20),
            "score": [line(SCORES, 20)],
            "critique": [line({"score": 0.9}, 20)],
        }
    )
    assert result["status"] == "done"
    assert dropped(result) == []
    assert "critique" in asked


def test_candidates_go_first():
    """At half the budget there is one plan and still a critique."""
    result, asked = run(
        {
            "plan": [line(plan(7), 550)],
            "critique": [line({"score": 0.9}, 100)],
        }
    )
    assert result["status"] == "done"
    assert dropped(result) == [("multi-path planning", 5_000.0, 550)]
    assert asked == ["plan", "critique"]


def test_then_the_critique_goes():
    """At seventy per cent the plan runs as it is; both losses are told in words."""
    result, asked = run({"plan": [line(plan(7), 720)]})
    assert result["status"] == "done"
    assert [what for what, _, _ in dropped(result)] == [
        "multi-path planning",
        "self-evaluation",
    ]
    assert asked == ["plan"]
    texts = [n["text"] for n in result["report"]["notes"] if n["kind"] == "budget"]
    assert "72% of the thinking budget is used (720 of 1000" in texts[0]


def test_last_the_full_reflection_becomes_light():
    """At the edge the core loop stays: patch, light reflection, a mended step."""
    result, asked = run(
        {
            "plan": [line(plan(1), 720)],
            "patch": [line({"arguments": {}}, 150)],
            "reflect": [
                line({"decision": "patch", "patch": {"number": 7}}, 20),
            ],
        }
    )
    assert result["status"] == "done"
    assert dropped(result)[-1] == ("full reflection", 5_000.0, 870)
    assert asked == ["plan", "patch", "reflect"]


def test_at_the_end_the_task_ends_gracefully():
    """An exhausted budget is said, with what is not done."""
    result, _ = run(
        {
            "plan": [line(plan(1), 720)],
            "patch": [line({"arguments": {}}, 300)],
        }
    )
    assert result["status"] == "failed"
    assert "reasoning_tokens exhausted (1020 of 1000)" in result["answer"]
    assert "invalid value 1" in result["answer"]
