"""What the README shows is run: its Python, and the commands that need no key."""

import asyncio
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = str(Path(sys.executable).with_name("mendgraph"))
PAGES = ["README.md", "README.zh.md"]


def snippets(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_python_snippets_run_and_print_what_they_say(page, capsys):
    """Each snippet runs on its own; a comment after print is what it prints."""
    for code in snippets(page, "python"):
        exec(compile(code, page, "exec"), {"__name__": "snippet"})  # noqa: S102
        shown = capsys.readouterr().out
        for said in re.findall(r"print\(.*\)  # (.+)", code):
            assert said in shown


def test_the_first_snippet_runs_with_ainvoke_too():
    """The asynchronous call gives the same result."""
    code = snippets("README.md", "python")[0]
    scope = {"__name__": "snippet"}
    exec(compile(code, "README.md", "exec"), scope)  # noqa: S102
    scope["calls"].clear()
    given = {"task": "once more", "plan": scope["plan"]}
    assert asyncio.run(scope["agent"].ainvoke(given))["status"] == "done"


@pytest.mark.slow
def test_the_shown_commands_run(tmp_path):
    """The commands of the tour that need no key run, one after the other."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    lines = [
        line
        for block in snippets("README.md", "bash")
        for line in block.splitlines()
        if line.startswith("mendgraph ") and not {"--model", "--live"} & {*line.split()}
    ]
    codes = []
    for line in lines:
        shown = subprocess.run(
            [COMMAND, *shlex.split(line)[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        codes.append(shown.returncode)
    assert codes == [5, 0, 0, 0], shown.stdout + shown.stderr
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_every_link_leads_somewhere():
    """Relative links of the pages name files that exist."""
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if "://" not in target:
                assert (ROOT / target).exists(), f"{page}: {target}"
