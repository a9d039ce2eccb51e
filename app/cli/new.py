"""`mendgraph new`: a small project that runs at once."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from mendgraph.cli.faults import WrongUse
from mendgraph.cli.output import say

SUFFIX = ".jinja"
PLACES = {
    "tools.py": "tools.py",
    "agent.py": "agent.py",
    "plan.json": "plan.json",
    "orders.csv": "orders.csv",
    "langgraph.json": "langgraph.json",
    "requirements.txt": "requirements.txt",
    "test_plan.py": "tests/test_plan.py",
    "README.md": "README.md",
}
"""Template → where it goes."""


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
) -> None:
    """Make a starter project: tools, policies, a plan, a test, LangGraph Studio."""
    from jinja2 import Environment, StrictUndefined

    _refuse(folder)
    engine = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 (files of code, no HTML)
        variable_start_string="<<",
        variable_end_string=">>",
    )
    name = folder.absolute().name
    for template, place in PLACES.items():
        source = files("mendgraph.cli") / "starter" / (template + SUFFIX)
        text = engine.from_string(source.read_text("utf-8")).render(name=name)
        _write(folder / place, text)
    say(
        f"Made {folder} with {len(PLACES)} files. Try it:",
        f"  cd {folder}",
        "  mendgraph run --tools tools:toolkit --plan plan.json",
    )


def _write(target: Path, text: str) -> None:
    """Write a file of the project.

    Raises:
        WrongUse: The folder cannot be made or written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WrongUse(
            f"{target} cannot be written: {error.strerror}; name another folder"
        ) from error


def _refuse(folder: Path) -> None:
    """Refuse a place where something could be overwritten.

    Raises:
        WrongUse: It is a file, or a folder with something in it.
    """
    if folder.exists() and not folder.is_dir():
        raise WrongUse(f"{folder} is a file; name a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise WrongUse(f"{folder} is not empty; name a new folder")
