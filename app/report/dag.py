"""The plan as shapes in pixels: boxes, edges, and where each text goes."""

from collections.abc import Sequence
from itertools import pairwise

from mendgraph.report.layout import Component, Point, components, shelved
from mendgraph.report.records import Node
from mendgraph.report.words import cells, fit
from mendgraph.state.outcome import StepStatus
from mendgraph.state.record import Record

WIDTH, HEIGHT = 176, 66
ALONG, ACROSS = 44, 18
"""Pixels between layers and between neighbours, left to right."""
DOWN, BESIDE = 38, 20
"""The same, top to bottom."""
MARGIN = 12
PAGE = 1_120
"""Pixels a page has for the drawing."""
LINE_CELLS = 21
"""Columns of a line of text in a box."""

SYMBOLS: dict[StepStatus, str] = {
    StepStatus.DONE: "✓",
    StepStatus.FAILED: "✕",
    StepStatus.BLOCKED: "⊘",
    StepStatus.WAITING: "◷",
    StepStatus.PENDING: "○",
    StepStatus.VOID: "∅",
}
"""A sign beside every colour."""


class Box(Record):
    """A node with its place and its lines of text."""

    number: int
    """Position in the list of nodes; anchors are made of it."""
    x: float
    y: float
    name: str
    title: str
    state: str
    badge: str
    node: Node


class Link(Record):
    """An edge as an SVG path."""

    source: str
    target: str
    path: str
    kind: str
    """`needs` or `replaces`."""


class Drawing(Record):
    """A whole plan."""

    width: float
    height: float
    boxes: tuple[Box, ...] = ()
    links: tuple[Link, ...] = ()


class _Grid:
    """Layout units to pixels, in one of the two directions."""

    def __init__(self, *, down: bool) -> None:
        self.down = down
        gaps = (
            (HEIGHT + DOWN, WIDTH + BESIDE)
            if down
            else (WIDTH + ALONG, HEIGHT + ACROSS)
        )
        self.layer, self.place = gaps

    def corner(self, point: Point) -> Point:
        """Return the upper left corner of a box."""
        along, across = point[0] * self.layer, point[1] * self.place
        x, y = (across, along) if self.down else (along, across)
        return x + MARGIN, y + MARGIN

    def ends(self, point: Point) -> tuple[Point, Point]:
        """Return where an edge enters and leaves a box, or the lane of a bend."""
        x, y = self.corner(point)
        if self.down:
            return (x + WIDTH / 2, y), (x + WIDTH / 2, y + HEIGHT)
        return (x, y + HEIGHT / 2), (x + WIDTH, y + HEIGHT / 2)

    def curve(self, start: Point, end: Point) -> str:
        """Return a bend between two layers that leaves and arrives straight."""
        (x1, y1), (x2, y2) = start, end
        if self.down:
            half = (y1 + y2) / 2
            return f"C{x1:.1f} {half:.1f} {x2:.1f} {half:.1f} {x2:.1f} {y2:.1f}"
        half = (x1 + x2) / 2
        return f"C{half:.1f} {y1:.1f} {half:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"


def draw(nodes: Sequence[Node]) -> Drawing:
    """Return the plan as shapes; the direction is the one that fits the page better."""
    if not nodes:
        return Drawing(width=0, height=0)
    kinds = _edges(nodes)
    parts = components([node.id for node in nodes], kinds)
    grid, placed = _arranged(parts)
    boxes = tuple(_box(grid, placed, *each) for each in enumerate(nodes))
    links = tuple(_link(grid, placed, edge, kinds[edge]) for edge in kinds)
    bends = [_far(grid, point) for via in placed.bends.values() for point in via]
    corners = [(box.x + WIDTH, box.y + HEIGHT) for box in boxes] + bends
    return Drawing(
        width=max(x for x, _ in corners) + MARGIN,
        height=max(y for _, y in corners) + MARGIN,
        boxes=boxes,
        links=links,
    )


def _edges(nodes: Sequence[Node]) -> dict[tuple[str, str], str]:
    known = {node.id for node in nodes}
    kinds = {
        (node.replaces, node.id): "replaces"
        for node in nodes
        if node.replaces in known and node.replaces != node.id
    }
    needs = {
        (before, node.id): "needs"
        for node in nodes
        for before in node.dependencies
        if before in known
    }
    return {(str(a), b): kind for (a, b), kind in {**kinds, **needs}.items()}


def _arranged(parts: Sequence[Component]) -> tuple[_Grid, Component]:
    across, down = _Grid(down=False), _Grid(down=True)
    depth = max(part.depth for part in parts)
    breadth = max(part.breadth for part in parts)
    flat = depth * across.layer
    upright = flat > PAGE + ALONG and breadth * down.place < flat
    if not upright:
        return across, shelved(parts, max(depth, PAGE // across.layer))
    return down, shelved(parts, depth)


def _far(grid: _Grid, point: Point) -> Point:
    return grid.ends(point)[1]


def _box(grid: _Grid, placed: Component, number: int, node: Node) -> Box:
    x, y = grid.corner(placed.points[node.id])
    badge = f"{node.attempts} tries" if node.attempts > 1 else ""
    return Box(
        number=number,
        x=x,
        y=y,
        name=fit(node.id, LINE_CELLS - 4 - cells(badge)),
        title=fit(node.title or node.tool or "", LINE_CELLS + 2),
        state=_state(node),
        badge=badge,
        node=node,
    )


def _state(node: Node) -> str:
    versions = f"v{node.since}" if node.since > 1 else ""
    fate = f"until v{node.until}" if node.until else ""
    mended = "mended" if node.mended else ""
    parts = (node.status.value, mended, versions, fate)
    return " · ".join(part for part in parts if part)


def _link(grid: _Grid, placed: Component, edge: tuple[str, str], kind: str) -> Link:
    source, target = edge
    stops = (placed.points[source], *placed.bends.get(edge, ()), placed.points[target])
    places = [grid.ends(point) for point in stops]
    x, y = places[0][1]
    path = [f"M{x:.1f} {y:.1f}"]
    for (_, leave), (enter, passed) in pairwise(places):
        path.append(grid.curve(leave, enter))
        path.append(f"L{passed[0]:.1f} {passed[1]:.1f}")
    return Link(source=source, target=target, path="".join(path[:-1]), kind=kind)
