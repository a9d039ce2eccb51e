"""A sub-task that is killed goes on where it was (F73)."""

import os
import subprocess
import sys

CHILD = '''
import os, sys, pathlib
from mendgraph import create_mend_agent

folder, die = pathlib.Path(sys.argv[1]), sys.argv[2] == "die"
log = folder / "calls.txt"

def look(name: str) -> dict:
    """Look something up."""
    with log.open("a") as file:
        file.write(name + "\\n")
    if die and name == "b":
        os._exit(9)
    return {"name": name}

def call(step_id, *needs):
    return {"id": step_id, "tool": "look", "inputs": {"name": step_id},
            "depends_on": list(needs)}

inner = {"goal": "g", "tools": ["look"],
         "plan": {"steps": [call("a"), {**call("b", "a")}, call("c", "b")]}}
plan = {"steps": [call("k"), {"id": "s", "subtask": inner, "depends_on": ["k"]}]}
agent = create_mend_agent(None, tools=[look], assume="read", persist=folder / "p",
                          seeded=False)
config = {"configurable": {"thread_id": "t"}}
given = {"task": "t", "plan": plan} if die else None
print(agent.invoke(given, config)["status"])
agent.close()
'''


def test_a_killed_nested_run_goes_on_where_it_was(tmp_path):
    """After a crash inside a sub-task its finished steps are not run again (F73)."""
    script = tmp_path / "child.py"
    script.write_text(CHILD)

    def start(mode):
        return subprocess.run(
            [sys.executable, str(script), str(tmp_path), mode],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )

    assert start("die").returncode == 9
    assert (tmp_path / "calls.txt").read_text().split() == ["k", "a", "b"]
    went_on = start("go on")
    assert went_on.stdout.strip() == "done", went_on.stderr
    assert (tmp_path / "calls.txt").read_text().split() == ["k", "a", "b", "b", "c"]
