"""What the server loads: built from the environment, harmless, adjustable."""

import ast
import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import ValidationError

from mendgraph.graph.build import create_mend_agent
from mendgraph.graph.settings import RunSettings, read_settings
from mendgraph.graph.studio import own_tools, studio_graph
from mendgraph.state.limits import Limits
from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.errors import ConfigError
from mendgraph.tools.models.errors import ModelSetupError
from mendgraph.tools.shipped.files import file_tools

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    """Read something."""
    return name


def plan(count=2):
    steps = [
        {"id": f"s{n}", "tool": "read", "inputs": {"name": str(n)}}
        for n in range(count)
    ]
    return {"task": "read", "plan": {"steps": steps}}


@pytest.fixture
def bring(monkeypatch):
    """Put a value where MENDGRAPH_TOOLS can name it; return the name."""

    def put(value):
        module = ModuleType("brought_tools")
        module.kit = value
        monkeypatch.setitem(sys.modules, "brought_tools", module)
        return "brought_tools:kit"

    return put


def test_langgraph_json_names_a_graph_that_is_there():
    """The file is valid, needs no .env, and points at a name of a real module."""
    told = json.loads((ROOT / "langgraph.json").read_text())
    path, name = told["graphs"]["mendgraph"].split(":")
    assert "env" not in told
    tree = ast.parse((ROOT / path).read_text())
    assert name in [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
    ]
    assert [
        n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level
    ] == []


def test_by_default_nothing_can_be_written(tmp_path):
    """Whoever opens Studio has readers only, and no model without a key."""
    for more in ({}, {"MENDGRAPH_SQLITE": str(tmp_path / "x.sqlite")}):
        graph = studio_graph(more)
        assert graph.checkpointer is None
        assert graph.held.deps.reasoner is None
        effects = [e.policy.has_effect for e in graph.held.deps.registry]
        assert effects
        assert not any(effects)


def test_a_named_model_without_its_key_is_refused_at_once(monkeypatch):
    """A setting that cannot work stops the server instead of being ignored."""
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    with pytest.raises(ModelSetupError, match="DEEPSEEK_API_KEY"):
        studio_graph({"MENDGRAPH_MODEL": "deepseek:deepseek-flash"})


def test_own_tools_come_in_every_shape(bring, tmp_path):
    """A list, a toolkit, a mapping, or a function that returns one of them."""
    kit = file_tools(tmp_path)
    mapping = {"tools": kit, "policies": {}, "interrupt_on": {"csv_writer": True}}
    for made in ([read], kit, mapping, lambda: mapping):
        graph = studio_graph({"MENDGRAPH_TOOLS": bring(made)})
        assert set(graph.held.deps.registry.names) <= {"read", *kit.policies}
    rules = studio_graph({"MENDGRAPH_TOOLS": bring(mapping)}).held.deps.authorise
    assert [(rule.tool, rule.decision) for rule in rules] == [("csv_writer", "ask")]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "is a int"),
        ({"policies": {}}, "has no `tools`"),
        ({"tools": [], "persist": "x"}, "may not set persist"),
    ],
)
def test_what_is_no_set_of_tools_is_refused(bring, value, said):
    """The message names the variable and what is wrong."""
    with pytest.raises(ConfigError, match=said):
        own_tools(bring(value))


@pytest.mark.parametrize(
    "spec", ["nothing", "no_such_module:kit", "json:nothing", ":x"]
)
def test_a_name_that_leads_nowhere_is_refused(spec):
    """An unknown module, an unknown name, or no name at all."""
    with pytest.raises(ConfigError, match="MENDGRAPH_TOOLS"):
        own_tools(spec)


def test_settings_bound_one_run_only():
    """A run with a context has its limits; the next one has the agent's again."""
    agent = create_mend_agent(tools=[read], assume="read", learn=False)
    bounded = agent.invoke(plan(), context={"executions": 1})
    typed = asyncio.run(agent.ainvoke(plan(), context=RunSettings(executions=1)))
    free = agent.invoke(plan())
    assert [r["status"] for r in (bounded, typed, free)] == [
        "partial",
        "partial",
        "done",
    ]
    assert bounded["report"]["limits"]["executions"] == 1
    assert free["report"]["limits"] == Limits().plain()


def test_a_setting_nobody_can_mean_is_refused():
    """Unknown names and impossible values are errors of the caller."""
    agent = create_mend_agent(tools=[read], assume="read")
    for wrong in ({"retry": 3}, {"executions": 0}):
        with pytest.raises(ValidationError):
            agent.invoke(plan(), context=wrong)


def test_a_run_may_name_its_model(monkeypatch):
    """The model is opened once, by its name, and used for that run."""
    opened = []
    steps = [{**step, "expected_output": "text"} for step in plan(1)["plan"]["steps"]]
    double = ScriptedModel(script=lambda _: {"goal": "x", "steps": steps})

    def opening(name):
        opened.append(name)
        return double

    monkeypatch.setattr("mendgraph.graph.settings.open_model", opening)
    agent = create_mend_agent(tools=[read], assume="read", learn=False, paths=1)
    for _ in range(2):
        done = agent.invoke({"task": "read"}, context={"model": "some:model"})
        assert done["status"] == "done"
        assert done["report"]["model_calls"] >= 1
    assert opened == ["some:model"]


@dataclass
class Foreign:
    """The context of a graph that has ours as a node."""

    executions: str = "many"


def test_another_graphs_context_is_not_ours():
    """As a nested graph it keeps what it was built with."""
    assert read_settings(Foreign()) == RunSettings()
    assert read_settings(None) == RunSettings()
    assert read_settings({"tenant": "x"}) == RunSettings()


def test_a_sub_task_keeps_its_slice_whatever_the_run_may_spend():
    """A run's settings reach a sub-task through its parent's totals only."""
    agent = create_mend_agent(tools=[read], assume="read", learn=False)
    inner = plan(1)["plan"]["steps"]
    task = {"goal": "read", "tools": ["read"], "share": 0.5, "plan": {"steps": inner}}
    given = {"task": "x", "plan": {"steps": [{"id": "sub", "subtask": task}]}}
    seen = []
    for part in agent.stream(
        given, context={"executions": 8}, stream_mode="values", subgraphs=True
    ):
        report = part[1].get("report") or {}
        if report:
            seen.append(report["limits"]["executions"])
    child, whole = seen
    assert child < whole == 8
    assert agent.invoke(given, context={"executions": 8})["status"] == "done"
