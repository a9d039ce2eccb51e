"""Where the nodes and edges of a DAG go, in pixels; the engine is `graphlay`.

Layering, order, placement and orthogonal routing are the layered method of Sugiyama,
Tagawa and Toda (1981). Steps without any edge stand in rows below.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from mendgraph.state.record import Record

if TYPE_CHECKING:
    from graphlay import Layout

Point = tuple[float, float]
Edge = tuple[str, str]

WIDTH, HEIGHT = 176, 66
"""Pixels of a box."""
GAP, BETWEEN_LAYERS, LANE = 18, 44, 14
MARGIN = 12
MANY = 400
"""Nodes above which looking for fewer crossings takes too long."""

SPACING = {"layer_gap": BETWEEN_LAYERS, "node_gap": GAP, "dummy_gap": LANE}
ROW: dict[str, Any] = {"direction": "leftright", "spacing": SPACING}
WRAPPED: dict[str, Any] = {**ROW, "wrap": {"viewport_aspect": 1.6}}
COLUMN: dict[str, Any] = {"direction": "topbottom", "spacing": SPACING}
"""The directions tried, the one that reads best first."""


class Arrangement(Record):
    """Corners of the boxes and polylines of the edges."""

    corners: dict[str, Point] = Field(default_factory=dict)
    routes: dict[Edge, tuple[Point, ...]] = Field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0


def arrange(ids: Sequence[str], edges: Iterable[Edge], room: float) -> Arrangement:
    """Lay a graph out within `room` pixels across where that is possible.

    Args:
        ids: All nodes; unique.
        edges: (from, to); unknown ends, loops and repetitions are left out.
        room: Pixels the page has.
    """
    known = set(ids)
    wanted = dict.fromkeys(
        (a, b) for a, b in edges if a != b and a in known and b in known
    )
    linked = {name for edge in wanted for name in edge}
    drawn = [name for name in ids if name in linked]
    top = _layered(drawn, list(wanted), room) if drawn else Arrangement()
    return _with_rows(top, [name for name in ids if name not in linked], room)


def _layered(ids: Sequence[str], edges: Sequence[Edge], room: float) -> Arrangement:
    from graphlay import Graph, layout

    graph = Graph()
    for name in ids:
        graph.node(name, width=WIDTH, height=HEIGHT, label="")
    for source, target in edges:
        graph.edge(source, target)
    tried: list[Layout] = []
    for options in (ROW, WRAPPED, COLUMN):
        effort = "fast" if len(ids) > MANY else "balanced"
        tried.append(layout(graph, options={**options, "effort": effort}))
        if _width(tried[-1]) <= room - 2 * MARGIN:
            return _read(tried[-1], edges)
    return _read(min(tried, key=_width), edges)


def _width(found: "Layout") -> float:
    return float(found.bounds["max"]["x"] - found.bounds["min"]["x"])


def _read(found: "Layout", edges: Sequence[Edge]) -> Arrangement:
    left, top = found.bounds["min"]["x"] - MARGIN, found.bounds["min"]["y"] - MARGIN
    corners = {
        name: (x - left - WIDTH / 2, y - top - HEIGHT / 2)
        for name, (x, y) in found.positions().items()
    }
    routes = {
        edge: tuple((at["x"] - left, at["y"] - top) for at in drawn["points"])
        for edge, drawn in zip(edges, found.edges, strict=True)
    }
    return Arrangement(
        corners=corners,
        routes=routes,
        width=found.bounds["max"]["x"] - left + MARGIN,
        height=found.bounds["max"]["y"] - top + MARGIN,
    )


def _with_rows(top: Arrangement, alone: Sequence[str], room: float) -> Arrangement:
    """Add the nodes without edges in rows below."""
    if not alone:
        return top
    columns = max(1, int((room - 2 * MARGIN + GAP) // (WIDTH + GAP)))
    start = top.height or MARGIN
    below = {
        name: (
            MARGIN + (number % columns) * (WIDTH + GAP),
            start + (number // columns) * (HEIGHT + GAP),
        )
        for number, name in enumerate(alone)
    }
    right = max(x for x, _ in below.values()) + WIDTH
    bottom = max(y for _, y in below.values()) + HEIGHT
    return Arrangement(
        corners={**top.corners, **below},
        routes=top.routes,
        width=max(top.width, right + MARGIN),
        height=bottom + MARGIN,
    )


def rounded(points: Sequence[Point], radius: float = 6.0) -> str:
    """Return a polyline with rounded corners as an SVG path."""
    first, last = points[0], points[-1]
    path = [f"M{first[0]:.1f} {first[1]:.1f}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        inward, outward = (
            _toward(corner, before, radius),
            _toward(corner, after, radius),
        )
        path.append(
            f"L{inward[0]:.1f} {inward[1]:.1f}"
            f"Q{corner[0]:.1f} {corner[1]:.1f} {outward[0]:.1f} {outward[1]:.1f}"
        )
    return "".join((*path, f"L{last[0]:.1f} {last[1]:.1f}"))


def _toward(start: Point, end: Point, radius: float) -> Point:
    """Return the point `radius` from start towards end, half-way at most."""
    length = abs(end[0] - start[0]) + abs(end[1] - start[1])
    share = min(0.5, radius / length) if length else 0.0
    return (
        start[0] + (end[0] - start[0]) * share,
        start[1] + (end[1] - start[1]) * share,
    )
