"""What the command line reads: plan files, tools, limits; and what it refuses."""

import sys
from pathlib import Path

import pytest

from mendgraph.cli.exits import Code
from mendgraph.cli.faults import WrongUse, tell
from mendgraph.cli.plan_file import check_given, read_plan
from mendgraph.cli.settings import read_limits
from mendgraph.cli.tool_spec import load_tools
from mendgraph.state.algebra import PlanError
from mendgraph.state.limits import Limits
from mendgraph.tools.errors import UnknownTool
from mendgraph.tools.lease import ThreadBusy
from mendgraph.tools.models.errors import ModelSetupError
from mendgraph.tools.persist import PersistError
from mendgraph.tools.registry import make_registry

MODULE = '''
from mendgraph.tools.shipped.toolkit import Toolkit, make_tool
from mendgraph.state.policy import ToolPolicy

def double(number: int) -> int:
    """Double a number."""
    return 2 * number

tools = [double]
kit = Toolkit((make_tool(double, "double"),), {"double": ToolPolicy(effect="read")})
mapping = {"tools": tools, "policies": {"double": {"effect": "read"}}, "paths": 1}
greedy = {"tools": tools, "persist": "elsewhere"}
nested = {"tools": lambda: kit, "interrupt_on": {"double": True}}
answer = 42

def factory():
    return mapping

async def later():
    return kit

def failing():
    raise ValueError("no licence")
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The folder of a tools module with a name of its own."""
    name = f"tools_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield name, tmp_path
    sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "what", ["tools", "kit", "mapping", "nested", "factory", "later"]
)
def test_every_shape_of_tools_is_understood(module, what) -> None:
    """A list, a Toolkit, a mapping and what makes one give the same tool."""
    name, folder = module
    found = load_tools([f"{name}:{what}"], folder)
    assert make_registry(found.tools, found.policies).names == ("double",)


def test_tools_of_several_modules_come_together(module, tmp_path) -> None:
    """`--tools` twice brings both, and what only one of them says is kept."""
    name, folder = module
    found = load_tools([f"{name}:nested", f"{name}:mapping"], folder)
    assert len(found.tools) == 2
    assert found.interrupt_on == {"double": True}
    assert found.more == {"paths": 1}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("double", "needs arguments"),
        ("answer", "is int"),
        ("nothing", "has no 'nothing'"),
        ("failing", "ValueError: no licence"),
        ("greedy", "may not set persist"),
        ("", "write module:name"),
    ],
)
def test_unusable_tools_are_refused_with_the_reason(module, what, words) -> None:
    """Each wrong spec says what is wrong with it."""
    name, folder = module
    with pytest.raises(WrongUse, match=words):
        load_tools([f"{name}:{what}"], folder)


def test_a_module_that_does_not_import_names_error_and_line(module) -> None:
    """The error and the line of the module are in the message."""
    _, folder = module
    (folder / "broken_tools_module.py").write_text("first = 1\nsecond = 1 / 0\n")
    with pytest.raises(WrongUse, match=r"ZeroDivisionError.*line 2"):
        load_tools(["broken_tools_module:tools"], folder)
    with pytest.raises(WrongUse, match="No module named 'not_there_at_all'"):
        load_tools(["not_there_at_all:tools"], folder)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("p.json", '{"steps": [\n  {"id": "a",}\n]}', "line 2, column"),
        ("p.yaml", "steps:\n  - id: a\n   tool: b\n", "line 3"),
        ("p.json", "[1]", "holds a list"),
        ("p.yaml", "", "holds a NoneType"),
        ("p.json", "\x00", "line 1"),
    ],
)
def test_an_unreadable_plan_names_its_line(tmp_path, file, text, words) -> None:
    """JSON and YAML faults are told with file and line."""
    path = tmp_path / file
    path.write_text(text)
    with pytest.raises(WrongUse, match=words):
        read_plan(path)


def test_plans_that_are_no_files_of_text_are_refused(tmp_path) -> None:
    """A missing file, a folder and bytes that are no UTF-8 are named."""
    (tmp_path / "latin.json").write_bytes('{"goal": "größer"}'.encode("latin-1"))
    for name, words in (
        ("gone.json", "No such file"),
        (".", "directory"),
        ("latin.json", "not UTF-8"),
    ):
        with pytest.raises(WrongUse, match=words):
            read_plan(tmp_path / name)


def test_yaml_and_json_give_the_same_plan(tmp_path) -> None:
    """A date in YAML stays the text it was written as."""
    (tmp_path / "p.yaml").write_text(
        "created_at: 2026-01-31\nsteps:\n  - step_id: 1\n    tool: double\n"
        "    inputs: {number: 2}\n"
    )
    plan = read_plan(tmp_path / "p.yaml")
    assert plan["created_at"] == "2026-01-31"
    assert check_given(plan, _registry(), Limits()).ids == ("1",)


def _registry():
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    return make_registry([double])


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"id": "a", "tool": "treble"}, "no tool is called 'treble'"),
        ({"id": "a", "tool": "double"}, "'number' is a required property"),
        (
            {"id": "a", "tool": "double", "inputs": {"number": "{{ b.n }}"}},
            "step 'a'.*'b'",
        ),
        ({"id": "a", "risk": "huge"}, "steps.0.risk"),
    ],
)
def test_a_plan_that_may_not_run_is_refused_with_its_steps(step, words) -> None:
    """Unknown tool, missing binding and a wrong field are named before a run."""
    with pytest.raises(PlanError, match=words):
        check_given({"steps": [step]}, _registry(), Limits())


def test_limits_are_read_and_checked() -> None:
    """A limit has a known name and a possible value."""
    assert read_limits(["retries=3", "seconds=0.5"]) == {"retries": 3, "seconds": 0.5}
    for text, words in (
        ("retris=3", "write name=value with one of: steps"),
        ("retries=x", "'x' is no number"),
        ("retries=-1", "greater than or equal to 0"),
        ("retries=nan", "retries=nan"),
    ):
        with pytest.raises(WrongUse, match=words):
            read_limits([text])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (WrongUse("a"), Code.WRONG_USE),
        (PlanError(["a"]), Code.WRONG_USE),
        (UnknownTool("a"), Code.WRONG_USE),
        (PersistError("a"), Code.WRONG_USE),
        (ThreadBusy("t", "process 1", None), Code.WRONG_USE),
        (ModelSetupError("no key"), Code.WRONG_USE),
        (KeyboardInterrupt("stopped"), Code.INTERRUPTED),
        (ZeroDivisionError("a"), Code.FAULT),
    ],
)
def test_every_error_has_its_exit_code(error, expected) -> None:
    """Known errors are told as they are; an unknown one is called a fault."""
    told = tell(error)
    assert told.code is expected
    assert str(error) in told.message


def test_the_table_of_errors_names_classes_that_exist() -> None:
    """A renamed error would silently become a fault."""
    from importlib import import_module

    from mendgraph.cli.faults import KINDS

    for name in KINDS:
        module, _, kind = name.rpartition(".")
        assert issubclass(getattr(import_module(module), kind), BaseException)


def test_starter_templates_are_all_used() -> None:
    """Every template of the starter has its place."""
    from mendgraph.cli import new

    folder = Path(new.__file__).parent / "starter"
    assert {path.name for path in folder.iterdir()} == {
        f"{name}.jinja" for name in new.PLACES
    }
