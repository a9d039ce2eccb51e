"""The run as it moves, on a terminal: plan, budgets, failures and what mended them.

Events come from `stream_mode="custom"`. With a terminal they feed a live table; without
one, each event becomes one plain line.
"""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mendgraph.closing import closing
from mendgraph.progress import NEWS, Progress, Row, clean, fold, line, read
from mendgraph.report.records import RunView
from mendgraph.report.words import duration, fit, plural

FEWEST_ROWS = 5
OTHER_LINES = 6
"""Lines the table's frame, the budgets and the headline take."""

LOOKS: dict[str, tuple[str, str]] = {
    "pending": ("○", "dim"),
    "running": ("▸", "cyan"),
    "mending": ("↻", "yellow"),
    "waiting": ("◷", "magenta"),
    "blocked": ("⊘", "yellow"),
    "failed": ("✕", "red"),
    "done": ("✓", "green"),
    "void": ("∅", "dim"),
}
"""A sign and a colour for each state; the sign says it without colour too."""
URGENCY = (*tuple(LOOKS)[1:6], "pending", "done", "void")
"""What is shown first when the terminal is too short for the whole plan."""


def wants_plain(console: Console, environment: Mapping[str, str]) -> bool:
    """Tell whether plain lines are better than a moving table."""
    dumb = environment.get("TERM", "").lower() in {"dumb", "unknown"}
    return not console.is_terminal or dumb or bool(environment.get("NO_COLOR"))


class LiveView:
    """Shows a run while it goes on; a context manager."""

    def __init__(self, console: Console, *, plain: bool | None = None) -> None:
        """Choose the way to show it.

        Args:
            console: Where to.
            plain: One line an event instead of a moving table; None decides by the
                terminal, `NO_COLOR` and `TERM`.
        """
        self.console = console
        self.plain = wants_plain(console, os.environ) if plain is None else plain
        self.progress = Progress()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        """Begin to show."""
        if not self.plain:
            self._live = Live(console=self.console, get_renderable=self._drawn)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the last picture on the screen."""
        if self._live:
            self._live.stop()
            self._live = None

    def show(self, raw: object) -> None:
        """Take one event of the custom stream; what is no event of ours is ignored."""
        event = read(raw)
        if event is None:
            return
        after = fold(self.progress, event)
        new, self.progress = after is not self.progress, after
        if self.plain and new:
            self.console.print(
                Text(line(event, after.began)), soft_wrap=True, highlight=False
            )

    def _drawn(self) -> RenderableType:
        return picture(self.progress, self.console.height)


def picture(progress: Progress, height: int) -> RenderableType:
    """Return the live view for a terminal of so many lines."""
    room = max(FEWEST_ROWS, height - NEWS - OTHER_LINES)
    shown = _most_urgent(progress.rows, room)
    table = Table(box=None, padding=(0, 1), expand=True, show_header=False)
    for ratio in (None, 2, 2, 6):
        table.add_column(ratio=ratio, no_wrap=True, overflow="ellipsis")
    for name in shown:
        row = progress.rows[name]
        sign, look = LOOKS.get(row.state, LOOKS["pending"])
        tries = f" #{row.attempt}" if row.attempt > 1 else ""
        table.add_row(
            Text(sign, style=look),
            Text(clean(name) + tries, style=look),
            Text(row.tool, style="dim"),
            Text(row.text),
        )
    hidden = len(progress.rows) - len(shown)
    more = [Text(f"  and {plural(hidden, 'more step')}", style="dim")] if hidden else []
    news = [
        Text(each, style="dim", overflow="ellipsis", no_wrap=True)
        for each in progress.news
    ]
    return Group(_headline(progress), table, *more, *news, _budget_line(progress))


def _most_urgent(rows: Mapping[str, Row], room: int) -> list[str]:
    """Return ids that fit, in plan order, the urgent ones chosen first."""
    if len(rows) <= room:
        return list(rows)
    order = {state: rank for rank, state in enumerate(URGENCY)}
    ranked = sorted(rows, key=lambda name: order.get(rows[name].state, 0))
    chosen = set(ranked[:room])
    return [name for name in rows if name in chosen]


def _headline(progress: Progress) -> Text:
    done = sum(1 for row in progress.rows.values() if row.state == "done")
    current = sum(1 for row in progress.rows.values() if row.state != "void")
    past = duration(progress.now - (progress.began or progress.now))
    version = f", plan v{progress.version}" if progress.version else ""
    facts = f"  {progress.status}: {done} of {current} steps{version}, {past}"
    return Text(fit(progress.task, 80), style="bold") + Text(facts, style="none")


def _budget_line(progress: Progress) -> Text:
    counted = [plural(count, name) for name, count in progress.counts.items()]
    return Text(" · ".join(progress.budgets or counted), style="dim")


def summary(result: Mapping[str, Any] | RunView, console: Console) -> None:
    """Print how a run ended: figures, answer, what is not done and why.

    Args:
        result: What `invoke` returned, the thread's state values, or their view.
        console: Where to.
    """
    end = closing(result)
    console.print(Text(clean(end.headline), style="bold"))
    for warning in end.warnings:
        console.print(Text(f"! {clean(warning)}", style="yellow"))
    table = Table(box=None, padding=(0, 2), show_header=False)
    for figure in end.figures:
        note = Text(clean(figure.note), style="dim")
        table.add_row(figure.label, clean(figure.value), note)
    console.print(table)
    for item in end.unfinished:
        sign, look = LOOKS[item.status.value]
        words = f"{sign} {item.step_id} is not done ({item.status.value}): {item.why}"
        console.print(Text(clean(words), style=look))
    if end.answer:
        answer = Text("\n".join(clean(each) for each in end.answer.splitlines()))
        console.print(answer, soft_wrap=True)
