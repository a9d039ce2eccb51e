"""What ran when, as shapes in pixels: lanes of attempts, waits, model calls."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from mendgraph.report.axis import Axis, Cut, Span, Tick
from mendgraph.report.records import Bar, Thought
from mendgraph.report.words import cells, duration
from mendgraph.state.outcome import Tier
from mendgraph.state.record import Record

PAGE, MOST = 1_010.0, 7_000.0
BARS_A_PAGE = 16
"""A timeline with so many bars fits a page; only longer ones have to be scrolled."""
MARGIN = 14.0
TOP = 34.0
LANE, BAR = 30.0, 22.0
HEADING = 26.0
AIR = 8.0
TICK_ROOM = 80.0
"""Pixels the text of a mark needs."""
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


class _Lane(Record):
    """What one step, or one model call, puts into its lane; y counts from the lane."""

    bars: tuple[Shape, ...]
    waits: tuple[Shape, ...] = ()
    links: tuple[Shape, ...] = ()

    @property
    def left(self) -> float:
        """Where it begins."""
        return min(shape.x for shape in (*self.bars, *self.waits))

    @property
    def right(self) -> float:
        """Where its last bar or text ends, and a little air."""
        ends = [shape.x + shape.width for shape in self.bars]
        return max(*ends, *map(_text_end, self.bars)) + AIR

    def lowered(self, by: float) -> "_Lane":
        """Return it further down."""

        def lower(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
            return tuple(s.model_copy(update={"y": s.y + by}) for s in shapes)

        return _Lane(
            bars=lower(self.bars), waits=lower(self.waits), links=lower(self.links)
        )


def picture(bars: Sequence[Bar], thoughts: Sequence[Thought]) -> Picture:
    """Return the timeline; both kinds have lanes of their own."""
    room = PAGE * max(1.0, len(bars) / BARS_A_PAGE)
    axis = Axis(_busy(bars, thoughts), least=PAGE, most=min(MOST, room))
    steps, bottom = _stacked((_lane(axis, run) for run in _runs(axis, bars)), TOP)
    model, height = _stacked((_thought(axis, each) for each in thoughts), bottom)
    lanes = (*steps, *model)
    headings = ((TOP, "Steps", steps), (bottom, "Model calls", model))
    ticks = tuple(each.but(x=each.x + MARGIN) for each in axis.ticks())
    rights = [lane.right for lane in lanes] + [tick.x + TICK_ROOM for tick in ticks]
    return Picture(
        width=max(axis.width + 2 * MARGIN, *rights),
        height=height + AIR,
        bars=tuple(shape for lane in lanes for shape in lane.bars),
        waits=tuple(shape for lane in lanes for shape in lane.waits),
        links=tuple(shape for lane in lanes for shape in lane.links),
        headings=tuple((y + 17, text) for y, text, having in headings if having),
        ticks=ticks,
        cuts=tuple(each.but(x=each.x + MARGIN) for each in axis.cuts()),
    )


def _busy(bars: Iterable[Bar], thoughts: Iterable[Thought]) -> list[Span]:
    spans = [(t.start, t.end) for t in thoughts]
    for bar in bars:
        start = bar.asked_for if bar.waited_s <= PAUSE_S else bar.start
        spans.append((start, bar.end))
    return spans


def _stacked(lanes: Iterable[_Lane], top: float) -> tuple[list[_Lane], float]:
    """Put lanes under a heading, each in the first row that is free there.

    Returns:
        The lanes in their rows, and where the rows end.
    """
    found = list(lanes)
    rows = _packed([(lane.left, lane.right) for lane in found])
    first = top + HEADING
    placed = [
        lane.lowered(first + LANE * row) for lane, row in zip(found, rows, strict=True)
    ]
    return placed, first + LANE * (max(rows) + 1) if rows else top


def _runs(axis: Axis, bars: Sequence[Bar]) -> list[list[Bar]]:
    """Group the attempts of each step; a cut in between parts them."""
    steps: dict[str, list[Bar]] = {}
    for bar in bars:
        steps.setdefault(bar.step_id, []).append(bar)
    runs = [run for each in steps.values() for run in _parted(axis, each)]
    return sorted(runs, key=lambda run: (run[0].asked_for, run[0].step_id))


def _parted(axis: Axis, bars: Sequence[Bar]) -> Iterable[list[Bar]]:
    group = [bars[0]]
    edges = [cut.x for cut in axis.cuts()]
    for before, after in pairwise(bars):
        if any(axis.x(before.end) <= x < axis.x(after.asked_for) for x in edges):
            yield group
            group = []
        group.append(after)
    yield group


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


def _lane(axis: Axis, run: Sequence[Bar]) -> _Lane:
    bars = [_attempt(axis, bar) for bar in run]
    limits = [MARGIN + axis.x(bar.asked_for) for bar in run[1:]] + [float("inf")]
    labelled = [
        _labelled(shape, _text(bar), limit)
        for shape, bar, limit in zip(bars, run, limits, strict=True)
    ]
    return _Lane(
        bars=tuple(labelled),
        waits=tuple(_wait(axis, bar) for bar in run if bar.waited_s > 0),
        links=tuple(
            _line(before, limit)
            for before, limit in zip(labelled, limits[:-1], strict=False)
            if limit > max(before.x + before.width, _text_end(before))
        ),
    )


def _attempt(axis: Axis, bar: Bar) -> Shape:
    x = axis.x(bar.start)
    css = f"bar {bar.status}" + (" mends" if bar.mends else "")
    return Shape(
        x=x + MARGIN,
        y=0.0,
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


def _wait(axis: Axis, bar: Bar) -> Shape:
    x = axis.x(bar.asked_for)
    return Shape(
        x=x + MARGIN,
        y=0.0,
        width=max(1.0, axis.x(bar.start) - x),
        css="wait",
        title=f"{bar.step_id} waited {duration(bar.waited_s)} "
        f"before attempt {bar.number}",
        step_id=bar.step_id,
    )


def _line(before: Shape, until: float) -> Shape:
    x = max(before.x + before.width, _text_end(before))
    return Shape(x=x, y=BAR / 2, width=until - x, css="link")


def _text_end(shape: Shape) -> float:
    return shape.text_x + cells(shape.text) * CELL + 3 if shape.text else shape.x


def _thought(axis: Axis, thought: Thought) -> _Lane:
    x, lasted = axis.x(thought.start), duration(thought.end - thought.start)
    told = [
        f"{thought.role}: {lasted} from {duration(thought.start)} on",
        thought.model,
        f"{thought.prompt_tokens:,} tokens read, {thought.completion_tokens:,} written",
        thought.label,
    ]
    shape = Shape(
        x=x + MARGIN,
        y=0.0,
        width=max(LEAST, axis.x(thought.end) - x),
        css="bar thought",
        title="\n".join(line for line in told if line),
    )
    return _Lane(bars=(_labelled(shape, thought.role, float("inf")),))
