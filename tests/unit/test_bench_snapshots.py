"""What mended one step is handed on only where the same values failed."""

import asyncio

from mendgraph import create_mend_agent
from mendgraph.tools.doubles.scripted import ScriptedModel

KEYS = ("a", "b")


def fetch(key: str, form: str = "v1") -> dict:
    """Fetch a key."""
    if key not in KEYS:
        raise ValueError(f"unknown key {key!r}")
    if key == "b" and form != "v2":
        raise ValueError("argument 'form' must be 'v2'")
    return {"key": key}


def test_another_steps_key_is_not_handed_on():
    """A mended key of one step never becomes the key of the next one that fails."""
    asked = []

    def answer(messages):
        asked.append(str(messages[-1].text).partition("earlier attempts")[0])
        wrong_key = "unknown key" in asked[-1]
        return {"arguments": {"key": "a"} if wrong_key else {"form": "v2"}}

    async def sleep(_seconds):
        return None

    calls = []

    def counted(key: str, form: str = "v1") -> dict:
        """Fetch a key."""
        calls.append((key, form))
        return fetch(key, form)

    agent = create_mend_agent(
        ScriptedModel(script=answer),
        tools=[counted],
        assume="read",
        seeded=False,
        sleep=sleep,
    )
    steps = [
        {"id": "one", "tool": "counted", "inputs": {"key": "ax"}},
        {"id": "two", "tool": "counted", "inputs": {"key": "b"}, "depends_on": ["one"]},
    ]
    result = asyncio.run(agent.ainvoke({"task": "t", "plan": {"steps": steps}}))
    assert calls == [("ax", "v1"), ("a", "v1"), ("b", "v1"), ("b", "v2")]
    assert len(asked) == 2
    assert result["status"] == "done"
