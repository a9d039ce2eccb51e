"""Money moves once though workers die, and a thread has one runner (F16, F73)."""

import itertools
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph import ThreadBusy, create_mend_agent

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "tests" / "services" / "crash_runner.py"
STRESS = ROOT / "benchmarks" / "exactly_once.py"
KINDS, WHENS = ("keyed", "confirmed", "blind"), ("before", "after")


def carry_out(folder, cases):
    """Run the cases in a process that has nothing but them."""
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(folder), json.dumps(cases)],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_a_crash_around_the_call_moves_the_money_once(tmp_path):
    """Killed before or after the money moved, resumed or given again, both ways.

    The same key, else the service, else a person; a person is asked only where there
    is no other way.
    """
    modes = itertools.cycle(("sync", "async"))
    cases = [
        {"kind": kind, "when": when, "how": how, "mode": next(modes)}
        for kind in KINDS
        for when in WHENS
        for how in ("resume", "again")
    ]
    told = carry_out(tmp_path, cases)
    assert [one["died"] for one in told] == [9] * len(cases), told
    assert {(one["status"], one["paid"]) for one in told} == {("done", 1)}, told
    assert {one["kind"] for one in told if one["asked"]} == {"blind"}


@pytest.mark.slow
def test_a_second_process_on_a_thread_is_refused(tmp_path):
    """The message says who has it; the first run loses nothing."""
    cases = [{"kind": "busy", "mode": mode} for mode in ("sync", "async")]
    for one in carry_out(tmp_path, cases):
        assert "thread t is being run" in one["refused"], one
        assert (one["status"], one["paid"]) == ("done", 1), one


@pytest.mark.parametrize("kept", ["memory", "folder"])
def test_a_second_run_of_this_process_is_refused(kept, tmp_path):
    """Two threads start on one thread id: one runs, one is told, no update is lost."""
    started, go_on, ran = threading.Event(), threading.Event(), []

    def slow(name: str) -> dict:
        """Take a while."""
        ran.append(name)
        started.set()
        go_on.wait(20)
        return {"name": name}

    how = {"checkpointer": InMemorySaver()}
    if kept == "folder":
        how = {"persist": tmp_path}
    agent = create_mend_agent(tools=[slow], **how)
    config = {"configurable": {"thread_id": "t"}}

    def task(name):
        step = {"id": name, "tool": "slow", "inputs": {"name": name}}
        return {"task": name, "plan": {"steps": [step]}}

    first = threading.Thread(target=agent.invoke, args=(task("one"), config))
    first.start()
    assert started.wait(20)
    with pytest.raises(ThreadBusy, match="thread t is being run"):
        agent.invoke(task("two"), config)
    go_on.set()
    first.join(30)
    assert ran == ["one"]
    assert agent.get_state(config).values["status"] == "done"
    assert agent.invoke(task("two"), config)["status"] == "done"


@pytest.mark.slow
@pytest.mark.server
def test_twenty_runs_with_faults_and_kills_pay_once_each():
    """The stress of `benchmarks/exactly_once.py`, counted in the bank's own table."""
    done = subprocess.run(
        [sys.executable, str(STRESS), "--quick", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, found["runs"]) == (0, 20), done.stdout
    assert (found["exactly_once"], found["double"], found["lost"]) == (20, 0, 0)
    assert found["payments"] == 40
    assert found["kills"] > 0
