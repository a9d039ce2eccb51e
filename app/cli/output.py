"""Where words go: results to stdout, errors to stderr, colours only on a terminal."""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 200
"""Columns of a table that goes to a file or a program."""
DEFAULT_PERSIST = ".mendgraph"


def console(*, stderr: bool = False) -> "Console":
    """Return a console; rich leaves colours out without a terminal or with NO_COLOR."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = PIPE_WIDTH
    return made


def print_json(value: Any) -> None:
    """Print one JSON object; nothing else belongs on stdout then."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def say_error(message: str) -> None:
    """Print a message to stderr."""
    from rich.text import Text

    words = Text("mendgraph: ", style="bold red") + Text(message, style="none")
    console(stderr=True).print(words, soft_wrap=True)


def say(*lines: str, style: str = "") -> None:
    """Print plain lines."""
    from rich.text import Text

    where = console()
    for line in lines:
        where.print(Text(line, style=style), soft_wrap=True)


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], empty: str
) -> None:
    """Print rows under heads, or one sentence where there are none."""
    from rich.table import Table
    from rich.text import Text

    listed = [[Text("" if cell is None else str(cell)) for cell in row] for row in rows]
    if not listed:
        say(empty)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for place, head in enumerate(heads):
        table.add_column(head, overflow="fold", no_wrap=place == 0)
    for row in listed:
        table.add_row(*row)
    console().print(table)


def command_line(*words: str, persist: str) -> str:
    """Return a command of ours as it would be typed for this persist folder."""
    place = [] if persist == DEFAULT_PERSIST else ["--persist", persist]
    return shlex.join(["mendgraph", *words, *place])
