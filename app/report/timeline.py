"""What ran when, as shapes in pixels: lanes of attempts, waits, model calls."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from mendgraph.report.axis import Axis, Cut, Span, Tick
from mendgraph.report.records import Bar, Thought
from mendgraph.report.words import cells, duration
from mendgraph.state.outcome import Tier
from mendgraph.state.record import Record

PAGE, MOST = 1_092.0, 7_000.0
MARGIN = 14.0
TOP = 34.0
LANE, BAR = 30.0, 22.0
HEADING = 26.0
LEAST = 4.0
"""Pixels of the shortest bar."""
CELL = 6.8
"""Pixels a column of bar text may take."""
PAUSE_S = 30.0
"""A longer wait is a pause of the run and may be cut."""

SIGNS = {"ok": "✓", "failed": "✕", "pending": "◷", "refused": "⊘"}
"""A sign beside every colour."""


class Shape(Record):
    """A bar with its text and what it tells when pointed at."""

    x: float
    y: float
    width: float
    css: str
    text: str = ""
    text_x: float = 0.0
    title: str = ""
    step_id: str | None = None


class Picture(Record):
    """The whole timeline."""

    width: float
    height: float
    bars: tuple[Shape, ...] = ()
    waits: tuple[Shape, ...] = ()
    links: tuple[Shape, ...] = ()
    """Thin lines between the attempts of one step."""
    headings: tuple[tuple[float, str], ...] = ()
    ticks: tuple[Tick, ...] = ()
    cuts: tuple[Cut, ...] = ()


class _Run(Record):
    """Attempts of one step that belong together in one lane."""

    bars: tuple[Bar, ...]

    @property
    def first(self) -> float:
        return self.bars[0].asked_for


def picture(bars: Sequence[Bar], thoughts: Sequence[Thought]) -> Picture:
    """Return the timeline; both kinds have lanes of their own."""
    axis = Axis(_busy(bars, thoughts), least=PAGE, most=MOST)
    runs = _runs(axis, bars)
    lanes = _packed((axis.x(run.first), _right(axis, run)) for run in runs)
    steps = TOP + HEADING
    shapes = [_shapes(axis, run, steps + LANE * n) for run, n in _zip(runs, lanes)]
    below = steps + LANE * _count(lanes)
    made, own = _model(axis, thoughts, below + HEADING)
    headings = [(TOP + 17, "Steps")] if bars else []
    headings += [(below + 17, "Model calls")] if thoughts else []
    drawn = [bar for placed, _, _ in shapes for bar in placed]
    return Picture(
        width=axis.width + 2 * MARGIN + _overhang(axis, (*drawn, *made)),
        height=below + (HEADING + LANE * own if thoughts else 0) + 8,
        bars=(*drawn, *made),
        waits=tuple(wait for _, waits, _ in shapes for wait in waits),
        links=tuple(line for _, _, lines in shapes for line in lines),
        headings=tuple(headings),
        ticks=tuple(each.but(x=each.x + MARGIN) for each in axis.ticks()),
        cuts=tuple(each.but(x=each.x + MARGIN) for each in axis.cuts()),
    )


def _busy(bars: Iterable[Bar], thoughts: Iterable[Thought]) -> list[Span]:
    spans = [(t.start, t.end) for t in thoughts]
    for bar in bars:
        start = bar.asked_for if bar.waited_s <= PAUSE_S else bar.start
        spans.append((start, bar.end))
    return spans


def _zip(runs: Sequence[_Run], lanes: Sequence[int]) -> Iterable[tuple[_Run, int]]:
    return zip(runs, lanes, strict=True)


def _count(lanes: Sequence[int]) -> int:
    return max(lanes, default=-1) + 1


def _runs(axis: Axis, bars: Sequence[Bar]) -> list[_Run]:
    """Group the attempts of each step; a cut in between parts them."""
    steps: dict[str, list[Bar]] = {}
    for bar in bars:
        steps.setdefault(bar.step_id, []).append(bar)
    runs = [run for each in steps.values() for run in _parted(axis, each)]
    return sorted(runs, key=lambda run: (run.first, run.bars[0].step_id))


def _parted(axis: Axis, bars: Sequence[Bar]) -> Iterable[_Run]:
    group = [bars[0]]
    edges = [cut.x for cut in axis.cuts()]
    for before, after in pairwise(bars):
        if any(axis.x(before.end) <= x < axis.x(after.asked_for) for x in edges):
            yield _Run(bars=tuple(group))
            group = []
        group.append(after)
    yield _Run(bars=tuple(group))


def _right(axis: Axis, run: _Run) -> float:
    """Return where a run ends, with the room its first text needs beside it."""
    end = axis.x(run.bars[-1].end)
    if len(run.bars) > 1:
        return max(end, axis.x(run.bars[-1].start) + LEAST) + 6
    width = end - axis.x(run.bars[0].start)
    text = _room(_text(run.bars[0]))
    return max(end + 6, end + text if width < text else end, width)


def _packed(spans: Iterable[tuple[float, float]]) -> list[int]:
    """Return the first free lane of each span, in the order they come."""
    ends: list[float] = []
    lanes = []
    for start, end in spans:
        free = next((n for n, taken in enumerate(ends) if taken <= start), len(ends))
        ends[free : free + 1] = [end]
        lanes.append(free)
    return lanes


def _room(text: str) -> float:
    return cells(text) * CELL + 12


def _text(bar: Bar) -> str:
    tier = "" if bar.tier is Tier.FIRST else f" {bar.tier.value}"
    return f"{SIGNS[bar.status]} {bar.step_id}{tier}"


_Three = tuple[list[Shape], list[Shape], list[Shape]]


def _shapes(axis: Axis, run: _Run, y: float) -> _Three:
    bars = [_attempt(axis, bar, y) for bar in run.bars]
    limits = [shape.x for shape in bars[1:]] + [float("inf")]
    placed = [
        _labelled(shape, _text(bar), limit)
        for shape, bar, limit in zip(bars, run.bars, limits, strict=True)
    ]
    waits = [_wait(axis, bar, y) for bar in run.bars if bar.waited_s > 0]
    links = [
        _line(before, after, y)
        for before, after in pairwise(bars)
        if after.x > before.x + before.width
    ]
    return placed, waits, links


def _attempt(axis: Axis, bar: Bar, y: float) -> Shape:
    x = axis.x(bar.start)
    css = f"bar {bar.status}" + (" mends" if bar.mends else "")
    return Shape(
        x=x + MARGIN,
        y=y,
        width=max(LEAST, axis.x(bar.end) - x),
        css=css,
        title=_title(bar),
        step_id=bar.step_id,
    )


def _title(bar: Bar) -> str:
    told = [
        f"{bar.step_id}, attempt {bar.number} ({bar.tier.value}): {bar.status}",
        f"{bar.tool}, {duration(bar.end - bar.start)} from {duration(bar.start)} on",
        f"waited {duration(bar.waited_s)} before it" if bar.waited_s else "",
        f"changed {', '.join(bar.changed)}" if bar.changed else "",
        bar.why,
        bar.error or "",
        bar.verdict or "",
    ]
    return "\n".join(line for line in told if line)


def _labelled(shape: Shape, text: str, limit: float) -> Shape:
    """Put the text inside the bar, else beside it, else nowhere."""
    need = _room(text)
    if shape.width >= need:
        return shape.but(text=text, text_x=shape.x + 6)
    if shape.x + shape.width + need <= limit:
        return shape.but(text=text, text_x=shape.x + shape.width + 5)
    sign = text.split(" ", 1)[0]
    return shape.but(text=sign, text_x=shape.x + 4) if shape.width >= 18 else shape  # noqa: PLR2004 (room of one sign)


def _wait(axis: Axis, bar: Bar, y: float) -> Shape:
    x = axis.x(bar.asked_for)
    return Shape(
        x=x + MARGIN,
        y=y,
        width=max(1.0, axis.x(bar.start) - x),
        css="wait",
        title=f"{bar.step_id} waited {duration(bar.waited_s)} "
        f"before attempt {bar.number}",
        step_id=bar.step_id,
    )


def _line(before: Shape, after: Shape, y: float) -> Shape:
    x = before.x + before.width
    return Shape(x=x, y=y + BAR / 2, width=after.x - x, css="link")


def _model(
    axis: Axis, thoughts: Sequence[Thought], y: float
) -> tuple[list[Shape], int]:
    spans = [
        (axis.x(t.start), max(axis.x(t.end), axis.x(t.start) + _room(t.role)) + 4)
        for t in thoughts
    ]
    lanes = _packed(spans)
    made = [
        _thought(axis, thought, y + LANE * lane)
        for thought, lane in zip(thoughts, lanes, strict=True)
    ]
    return made, _count(lanes)


def _thought(axis: Axis, thought: Thought, y: float) -> Shape:
    x, lasted = axis.x(thought.start), duration(thought.end - thought.start)
    told = [
        f"{thought.role}: {lasted} from {duration(thought.start)} on",
        thought.model,
        f"{thought.prompt_tokens:,} tokens read, {thought.completion_tokens:,} written",
        thought.label,
    ]
    shape = Shape(
        x=x + MARGIN,
        y=y,
        width=max(LEAST, axis.x(thought.end) - x),
        css="bar thought",
        title="\n".join(line for line in told if line),
    )
    return _labelled(shape, thought.role, float("inf"))


def _overhang(axis: Axis, shapes: Iterable[Shape]) -> float:
    """Return the pixels that texts beside the last bars need."""
    rights = [shape.text_x + _room(shape.text) for shape in shapes if shape.text]
    return max(0.0, max(rights, default=0.0) - axis.width - MARGIN)
