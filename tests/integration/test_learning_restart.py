"""What was learned survives a restart, and two processes do not spoil it (F50, F54)."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mendgraph import create_mend_agent

LEARNER = Path(__file__).parents[1] / "services" / "learner.py"
COUNT = 12


def started(folder, name, count=COUNT):
    command = [sys.executable, str(LEARNER), str(folder), name, str(count)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def calls_of(process):
    out, told = process.communicate(timeout=150)
    assert process.returncode == 0, told
    return json.loads(out.splitlines()[-1])


async def _books(agent):
    deps = agent.held.deps
    library = deps.library(deps.store)
    await library.load()
    return library, await library.strategies.all(), await deps.memory.all()


def read(folder):
    agent = create_mend_agent(None, persist=folder, seeded=False)
    try:
        return asyncio.run(_books(agent))
    finally:
        agent.close()


@pytest.mark.slow
def test_a_new_process_goes_on_where_the_last_one_stopped(tmp_path):
    """Two mends by the model, then none, and none in the process that follows."""
    assert calls_of(started(tmp_path, "first", 4)) == [1, 1, 0, 0]
    assert calls_of(started(tmp_path, "second", 3)) == [0, 0, 0]
    library, strategies, lessons = read(tmp_path)
    (strategy,) = strategies
    assert (strategy.total, strategy.successes) == (5, 5)
    assert lessons
    stats = library.knowledge.stats("ask")
    assert stats.calls == 14  # each of seven tasks failed once and was mended once
    assert library.tasks.value("closed") == 7
    (pattern,) = library.knowledge.patterns("ask")
    assert pattern.count == 7


@pytest.mark.slow
def test_two_processes_at_once_lose_and_double_nothing(tmp_path):
    """Every task, call, failure and use is counted once, whoever made it."""
    create_mend_agent(None, persist=tmp_path, seeded=False).close()
    both = [started(tmp_path, name) for name in ("one", "two")]
    calls = [calls_of(process) for process in both]
    library, strategies, lessons = read(tmp_path)
    assert library.tasks.value("closed") == 2 * COUNT
    assert library.knowledge.stats("ask").calls == 4 * COUNT
    assert library.knowledge.patterns("ask")[0].count == 2 * COUNT
    by_model = sum(map(sum, calls))
    (strategy,) = strategies
    assert strategy.total == strategy.successes
    distilled = library.rules.all()
    used = strategy.total + sum(rule.hits for rule in distilled)
    assert used == 2 * COUNT - by_model
    assert by_model <= 6  # each process may learn it once for itself, no more
    assert lessons
