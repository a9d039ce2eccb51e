"""The plan as shapes in pixels: boxes, edges, and where each text goes."""

from collections.abc import Sequence

from mendgraph.report.layout import Edge, arrange, rounded
from mendgraph.report.records import Node
from mendgraph.report.words import cells, fit
from mendgraph.state.outcome import StepStatus
from mendgraph.state.record import Record

PAGE = 1_134
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


def draw(nodes: Sequence[Node]) -> Drawing:
    """Return the plan as shapes."""
    kinds = _edges(nodes)
    placed = arrange([node.id for node in nodes], kinds, PAGE)
    boxes = [
        _box(number, *placed.corners[node.id], node)
        for number, node in enumerate(nodes)
    ]
    links = [
        Link(source=edge[0], target=edge[1], path=rounded(points), kind=kinds[edge])
        for edge, points in placed.routes.items()
    ]
    return Drawing(
        width=placed.width,
        height=placed.height,
        boxes=tuple(boxes),
        links=tuple(links),
    )


def _edges(nodes: Sequence[Node]) -> dict[Edge, str]:
    heirs = {(n.replaces, n.id): "replaces" for n in nodes if n.replaces is not None}
    needs = {(before, n.id): "needs" for n in nodes for before in n.dependencies}
    return {**heirs, **needs}


def _box(number: int, x: float, y: float, node: Node) -> Box:
    badge = f"{node.attempts} tries" if node.attempts > 1 else ""
    return Box(
        number=number,
        x=x,
        y=y,
        name=fit(node.id, LINE_CELLS - 3 - cells(badge)),
        title=fit(node.title or node.tool or "", LINE_CELLS + 2),
        state=_state(node),
        badge=badge,
        node=node,
    )


def _state(node: Node) -> str:
    versions = f"v{node.since}" if (node.since or 1) > 1 else ""
    fate = f"until v{node.until}" if node.until else ""
    mended = "mended" if node.mended else ""
    parts = (node.status.value, mended, versions, fate)
    return " · ".join(part for part in parts if part)
