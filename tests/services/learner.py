"""A process that meets one recurring fault many times in a shared folder.

Usage: learner.py FOLDER NAME COUNT. Prints one line of JSON: model calls of each task.
"""

import asyncio
import json
import re
import sys

from mendgraph import create_mend_agent
from mendgraph.tools.doubles.scripted import ScriptedModel

ROLE = re.compile(r"ROLE: (\w+)")


def ask(mode: str, number: int) -> dict:
    """Answer in one mode."""
    if mode == "old":
        raise ValueError(f"invalid value for argument mode: {mode}")
    return {"mode": mode, "number": number}


def script(messages: list) -> dict:
    """Propose the mend."""
    role = ROLE.search(messages[0].text)[1]
    if role == "patch":
        return {"arguments": {"mode": "new"}, "why": "w", "lesson": "use mode=new"}
    return {"decision": "give_up", "hypotheses": ["h"]}


async def no_wait(_seconds: float) -> None:
    """Wait for nobody."""
    await asyncio.sleep(0)


def main(folder: str, name: str, count: int) -> None:
    """Run the tasks one after the other."""
    agent = create_mend_agent(
        ScriptedModel(script=script),
        tools=[ask],
        assume="read",
        persist=folder,
        seeded=False,
        sleep=no_wait,
    )
    calls = []
    for number in range(count):
        inputs = {"mode": "old", "number": number}
        plan = {"steps": [{"id": "s", "tool": "ask", "inputs": inputs}]}
        thread = f"{name}-{number}"
        config = {"configurable": {"thread_id": thread}}
        done = agent.invoke({"task": thread, "plan": plan}, config)
        assert done["status"] == "done", done["answer"]
        calls.append(done["report"]["model_calls"])
    agent.close()
    print(json.dumps(calls))  # noqa: T201  what the test reads


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
