"""`mendgraph bench --live` over HTTP, on a server that keeps DeepSeek's contract."""

import json
import sys
from pathlib import Path

import pytest
from langchain_core.messages import convert_to_messages
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from simulated.mind import Luck
from simulated.model import SimulatedModel

from mendgraph.bench.world import Clock
from mendgraph.cli.main import app
from mendgraph.tools.doubles.deepseek_answers import Served
from mendgraph.tools.doubles.fake_deepseek import KEY, FakeDeepSeek

LIVE = ("bench", "--live", "deepseek:deepseek-flash")


class Planner(FakeDeepSeek):
    """A server whose answers the simulated model writes."""

    mind = SimulatedModel(luck=Luck(), clock=Clock())

    def answer(self, body, key):
        """Answer what is asked, once the contract is kept."""
        refused = super().answer(body, key)
        if refused.status != 200:
            return refused
        said = self.mind.invoke(convert_to_messages(body["messages"]))
        return Served(content=said.text)


@pytest.fixture
def bench(monkeypatch):
    with Planner() as server:
        monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
        monkeypatch.setenv("DEEPSEEK_API_BASE", server.base_url)
        yield lambda *more: CliRunner().invoke(app, [*LIVE, *more])


def test_tasks_are_run_with_the_users_key(bench):
    found = bench("--only", "no faults", "--prices", "0.3,1.2", "--cap", "1", "--json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["run"] == told["tasks"] == 5
    assert told["all"]["success"] == 1.0
    assert 0 < told["all"]["cost"] < 1


def test_people_see_each_task_and_where_the_cap_was(bench):
    found = bench("--cap-tokens", "9000")
    assert found.exit_code == 0, found.output
    assert "ok  no faults" in found.stdout
    assert "Stopped: " in found.stdout
    assert "the cap is 9000 tokens" in found.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--cap", "1"), "add --prices IN,OUT"),
        (("--cap", "1", "--prices", "cheap"), "give two numbers"),
        (("--cap-tokens", "100"), "the cap is 100 tokens; one task needs about 3000"),
        (("--only", "gremlins"), "no faults are called 'gremlins'; there are: no"),
    ],
)
def test_wrong_use_is_told_before_anything_is_spent(bench, words, told):
    found = bench(*words)
    assert found.exit_code == 2
    assert told in found.stderr
