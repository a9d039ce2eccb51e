"""`mendgraph new`: every command its README names works at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MENDGRAPH_")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=kept,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def mendgraph(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "-c", "from mendgraph.cli import main; main()", *words)


def test_the_starter_project_runs(tmp_path) -> None:
    """The plan is done, its missing file mended, and the project's test passes."""
    assert mendgraph(tmp_path, "new", "mine").returncode == 0
    folder = tmp_path / "mine"
    readme = (folder / "README.md").read_text()
    command = "run --tools tools:toolkit --plan plan.json"
    assert f"mendgraph {command}" in readme
    ended = mendgraph(folder, *command.split(), "--thread", "t")
    assert ended.returncode == 0, ended.stderr
    assert "correction     read" in ended.stdout
    assert (folder / "summary.csv").read_text().split() == [
        "customer,total",
        "Berg,12.5",
        "Li,80.0",
    ]
    assert "mended by" in mendgraph(folder, "show", "t").stdout
    assert mendgraph(folder, "report", "t", "--out", "report.html").returncode == 0
    tested = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "1 passed" in tested.stdout, tested.stdout
    served = run(folder, "-c", "import agent; print(sorted(agent.graph.nodes))")
    assert "think" in served.stdout
