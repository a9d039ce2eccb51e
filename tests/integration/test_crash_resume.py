"""A process killed in the middle of a run loses nothing and does nothing twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WORKER = """
import json, os, sys, time
from mendgraph import create_mend_agent
folder, log, block = sys.argv[1:4]

def work(number: int, after: int = 0) -> dict:
    'Note that a step ran; the blocked one waits to be killed.'
    with open(log, 'a') as stream:
        stream.write(f'{number}\\n')
    if str(number) == block:
        time.sleep(60)
    return {'number': number}

agent = create_mend_agent(None, tools=[work], assume='read', persist=folder)
steps = [{'id': f's{i}', 'tool': 'work', 'inputs': {'number': i},
          'depends_on': [f's{i-1}'] if i else []} for i in range(8)]
steps += [{'id': f'w{i}', 'tool': 'work', 'inputs': {'number': 100 + i}}
          for i in range(4)]
given = {'task': 't', 'plan': {'steps': steps}}
config = {'configurable': {'thread_id': 'killed'}}
again = agent.get_state(config).next
result = agent.invoke(None if again else given, config)
print(json.dumps({'status': result['status'], 'done': len(result['report']['done'])}))
"""


def start(folder: Path, log: Path, block: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder), str(log), block],
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_for(log: Path, line: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if log.exists() and line in log.read_text().split():
            return
        time.sleep(0.02)
    pytest.fail(f"step {line} never began")


@pytest.mark.slow
def test_finished_steps_are_not_run_again_after_sigkill(tmp_path):
    """SIGKILL in the middle of a superstep: only the step in flight runs again."""
    folder, log = tmp_path / "p", tmp_path / "log"
    victim = start(folder, log, block="4")
    wait_for(log, "4")
    time.sleep(0.3)
    os.kill(victim.pid, signal.SIGKILL)
    victim.communicate()
    survivor = start(folder, log, block="none")
    shown, _ = survivor.communicate(timeout=120)
    assert json.loads(shown) == {"status": "done", "done": 12}
    ran = log.read_text().split()
    twice = {line for line in ran if ran.count(line) > 1}
    assert twice == {"4"}
    assert len(set(ran)) == 12
