"""The package as others get it: every folder listed, and the built wheel works."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = {"app": "mendgraph", "graph": "mendgraph.graph", "nodes": "mendgraph.nodes"}
ROOMS |= {"state": "mendgraph.state", "tools": "mendgraph.tools"}


def settings():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def folders():
    for room, name in ROOMS.items():
        for marker in (ROOT / room).rglob("__init__.py"):
            parts = marker.parent.relative_to(ROOT / room).parts
            yield ".".join((name, *parts))


def test_every_folder_is_a_listed_package():
    """No folder with code is forgotten in the wheel."""
    listed = settings()["tool"]["setuptools"]["packages"]
    assert sorted(folders()) == sorted(listed)


def test_the_typing_links_show_all_of_app():
    """Mypy sees the installed layout: each file of app has its link."""
    shown = {link.name for link in (ROOT / ".typing" / "mendgraph").iterdir()}
    files = {path.name for path in (ROOT / "app").iterdir()} - {"__pycache__"}
    assert files | {"graph", "nodes", "state", "tools"} == shown


def test_the_langgraph_file_names_an_existing_module():
    """langgraph.json points at a file that exists."""
    import json

    named = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    for target in named["graphs"].values():
        assert (ROOT / target.split(":")[0]).is_file()


@pytest.mark.slow
def test_the_built_wheel_works_in_a_clean_environment(tmp_path):
    """The wheel holds all data files and runs the first plan without the checkout."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    subprocess.run(
        [*build, "--outdir", str(tmp_path / "dist"), str(ROOT)],
        check=True,
        capture_output=True,
    )
    wheel = next((tmp_path / "dist").glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("py.typed", "nodes/templates/plan.system.jinja", "cli/main.py"):
        assert f"mendgraph/{needed}" in names
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run(
        [*install, "--target", str(target), str(wheel)], check=True, capture_output=True
    )
    shown = subprocess.run(
        [sys.executable, "-c", FIRST_PLAN.format(site=str(target))],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert shown.stdout.strip().splitlines() == ["True", "done"]


FIRST_PLAN = """
import sys
sys.path.insert(0, {site!r})
sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in str(f).lower()]
import mendgraph
print(mendgraph.__file__.startswith({site!r}))
def double(x: int) -> dict:
    'Double a number.'
    return {{'value': 2 * x}}
agent = mendgraph.create_mend_agent(None, tools=[double], assume='read')
plan = {{'steps': [{{'id': 'a', 'tool': 'double', 'inputs': {{'x': 2}}}}]}}
print(agent.invoke({{'task': 't', 'plan': plan}})['status'])
"""
