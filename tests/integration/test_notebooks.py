"""The notebooks run, say what was committed, and name no machine."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOM = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(path.name for path in ROOM.glob("*.ipynb"))
MACHINE = re.compile(
    r"/(?:root|home|work|tmp|Users|usr|var)/|0x[0-9a-f]{8,}|https?://\S"
)


def read(name):
    return nbformat.read(ROOM / name, as_version=4)


def said(notebook):
    """What every code cell printed or showed, in order."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(map(_text, cell.outputs)) for cell in cells]


def _text(output):
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    shown = output.get("data", {}).get("text/plain", "")
    return str(output.get("text", shown))


def test_the_four_notebooks_are_there():
    """Quickstart, orders, learning, own models and MCP."""
    assert [name[:2] for name in NOTEBOOKS] == ["01", "02", "03", "04"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs_and_says_what_was_committed(name, monkeypatch):
    """Executed from top to bottom in a fresh kernel, with the same words."""
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    # Under pytest ipykernel gives stderr no file descriptor, which MCP servers need.
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
    notebook = read(name)
    committed = said(notebook)
    client = NotebookClient(
        notebook,
        timeout=240,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOM)}},
    )
    client.execute()
    assert said(notebook) == committed


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_committed_outputs_are_whole_and_name_no_machine(name):
    """Every code cell was run, none failed, no path and no address is in sight."""
    notebook = read(name)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert any(cell.outputs for cell in cells)
    for text in said(notebook):
        assert MACHINE.search(text) is None, text
    kinds = {output.output_type for cell in cells for output in cell.outputs}
    assert "error" not in kinds


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_that_uses_a_double_says_so_in_words(name):
    """Nothing passes for a model's work that is not."""
    notebook = read(name)
    code = "\n".join(c.source for c in notebook.cells if c.cell_type == "code")
    prose = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    assert prose.startswith("# ")
    uses = "ScriptedModel" in code
    assert ("scripted double, not a model" in prose) is uses
