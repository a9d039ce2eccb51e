"""Where the nodes of a DAG go: layers, order and lanes, in units of one node.

The layering is Sugiyama's (Sugiyama, Tagawa and Toda 1981), computed by
`fast-sugiyama`; components are then put beside each other on shelves.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fast_sugiyama import from_edges

Point = tuple[float, float]
"""(layer, place across); both are 0 for the first node."""
Edge = tuple[str, str]
LANE = 0.4
"""Room an edge takes where it passes a layer, in nodes."""


@dataclass(frozen=True)
class Component:
    """One connected part: points of its nodes and the bends of its long edges."""

    points: Mapping[str, Point]
    bends: Mapping[Edge, tuple[Point, ...]] = field(default_factory=dict)

    @property
    def depth(self) -> float:
        """Layers, counted from 1."""
        return max(layer for layer, _ in self.points.values()) + 1

    @property
    def breadth(self) -> float:
        """Nodes across, bends included."""
        across = [place for _, place in self.points.values()]
        across += [place for bends in self.bends.values() for _, place in bends]
        return max(across) + 1

    def moved(self, layers: float, across: float) -> "Component":
        """Return it at another place."""

        def move(point: Point) -> Point:
            return point[0] + layers, point[1] + across

        return Component(
            {name: move(point) for name, point in self.points.items()},
            {edge: tuple(map(move, bends)) for edge, bends in self.bends.items()},
        )


def components(ids: Sequence[str], edges: Iterable[Edge]) -> list[Component]:
    """Return the layered parts of a graph, in the order of their first nodes.

    Args:
        ids: All nodes; unique.
        edges: (from, to); unknown ends, loops and repetitions are left out.
    """
    index = {name: number for number, name in enumerate(ids)}
    wanted = {(index[a], index[b]) for a, b in edges if a in index and b in index}
    pairs = sorted(pair for pair in wanted if pair[0] != pair[1])
    parts = [_component(ids, *each) for each in _layered(pairs)]
    linked = {number for pair in pairs for number in pair}
    parts += [
        Component({ids[n]: (0.0, 0.0)}) for n in index.values() if n not in linked
    ]
    return sorted(parts, key=lambda part: min(index[name] for name in part.points))


def _layered(
    pairs: list[tuple[int, int]],
) -> list[tuple[dict[int, Point], list[tuple[int, int]]]]:
    if not pairs:
        return []
    found = from_edges(
        pairs,
        vertex_spacing=1,
        dummy_vertices=True,
        dummy_size=LANE,
        check_layout=False,
    )
    return [
        (
            {int(n): point for n, point in points},
            [(int(a), int(b)) for a, b in links or ()],
        )
        for points, _, _, links in found
    ]


def _component(
    ids: Sequence[str], raw: Mapping[int, Point], links: Collection[tuple[int, int]]
) -> Component:
    left = min(x for x, _ in raw.values())
    top = max(y for _, y in raw.values())
    at = {number: (top - y, x - left) for number, (x, y) in raw.items()}
    real = range(len(ids))
    following = {a: b for a, b in links if a not in real}
    return Component(
        {ids[n]: at[n] for n in sorted(at) if n in real},
        dict(_route(ids, at, following, link) for link in links if link[0] in real),
    )


def _route(
    ids: Sequence[str],
    at: Mapping[int, Point],
    following: Mapping[int, int],
    link: tuple[int, int],
) -> tuple[Edge, tuple[Point, ...]]:
    """Follow an edge through the layers it passes to its end."""
    start, end = link
    bends = []
    while end >= len(ids):
        bends.append(at[end])
        end = following[end]
    return (ids[start], ids[end]), tuple(bends)


def shelved(parts: Iterable[Component], room: float) -> Component:
    """Put components one after the other along the layers, in rows across.

    Args:
        parts: The components.
        room: Layers after which a new row begins.
    """
    placed: list[Component] = []
    along = across = row = 0.0
    for part in parts:
        if along and along + part.depth > room:
            along, across, row = 0.0, across + row, 0.0
        placed.append(part.moved(along, across))
        along, row = along + part.depth, max(row, part.breadth)
    points = {name: at for part in placed for name, at in part.points.items()}
    bends = {edge: via for part in placed for edge, via in part.bends.items()}
    return Component(points, bends)
