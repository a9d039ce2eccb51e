"""Seconds to pixels, with long stretches in which nothing ran cut short."""

import bisect
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from mendgraph.state.record import Record

CUT_PX = 84.0
"""Pixels a cut takes, however long it was."""
CUT_SHARE = 0.5
"""A pause is cut when it is longer than this share of all the time in use."""
CUT_MIN_S = 5.0
TICK_PX = 90.0
NICE = (1.0, 2.0, 5.0, 10.0)
NICE_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400)

Span = tuple[float, float]


class Cut(Record):
    """A pause that is not drawn to scale."""

    x: float
    seconds: float


class Tick(Record):
    """A mark on the axis."""

    x: float
    seconds: float


class Axis:
    """A piecewise linear map from seconds to pixels."""

    def __init__(self, busy: Iterable[Span], *, least: float, most: float) -> None:
        """Fit the spans into `least` pixels, or into up to `most` if bars get tiny.

        Args:
            busy: When something ran, in seconds; in any order, overlaps allowed.
            least: Pixels of the whole axis.
            most: Pixels it may grow to.
        """
        spans = sorted(busy) or [(0.0, 1.0)]
        self.pieces = _pieces(_merged(spans))
        seen = max(1e-3, sum(end - start for start, end in self.pieces))
        cuts = CUT_PX * (len(self.pieces) - 1)
        self.scale = _scale(spans, seen, least - cuts, max(least, most) - cuts)
        self._starts = [start for start, _ in self.pieces]
        self._xs = self._offsets()
        start, end = self.pieces[-1]
        self.width = max(least, self._xs[-1] + (end - start) * self.scale)

    def _offsets(self) -> list[float]:
        at = [0.0]
        for start, end in self.pieces[:-1]:
            at.append(at[-1] + (end - start) * self.scale + CUT_PX)
        return at

    def x(self, seconds: float) -> float:
        """Return where a moment is; inside a cut, in proportion."""
        number = max(0, bisect.bisect_right(self._starts, seconds) - 1)
        start, end = self.pieces[number]
        inside = max(0.0, min(seconds, end) - start) * self.scale
        return self._xs[number] + inside + self._within_cut(number, seconds)

    def _within_cut(self, number: int, seconds: float) -> float:
        end = self.pieces[number][1]
        if seconds <= end or number + 1 == len(self.pieces):
            return 0.0
        return CUT_PX * (seconds - end) / (self.pieces[number + 1][0] - end)

    def cuts(self) -> list[Cut]:
        """Return the pauses that are not to scale."""
        return [
            Cut(x=self.x(end), seconds=start - end)
            for (_, end), (start, _) in pairwise(self.pieces)
        ]

    def ticks(self) -> list[Tick]:
        """Return marks at round moments, never closer than they can be read."""
        every = _round_step(TICK_PX / self.scale)
        marks: list[Tick] = []
        for start, end in self.pieces:
            number = -(-start // every)
            while number * every <= end + 1e-9:
                x = self.x(number * every)
                if not marks or x - marks[-1].x >= TICK_PX * 0.9:
                    marks.append(Tick(x=x, seconds=number * every))
                number += 1
        return marks


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _pieces(merged: Sequence[Span]) -> list[Span]:
    """Join what is close together; the pauses left between pieces are cut."""
    used = sum(end - start for start, end in merged)
    longest = max(CUT_MIN_S, CUT_SHARE * used)
    pieces = [(min(0.0, merged[0][0]), merged[0][1])]
    if merged[0][0] > longest:
        pieces = [merged[0]]
    for start, end in merged[1:]:
        if start - pieces[-1][1] > longest:
            pieces.append((start, end))
        else:
            pieces[-1] = (pieces[-1][0], end)
    return pieces


def _scale(spans: Sequence[Span], seen: float, least: float, most: float) -> float:
    lengths = sorted(end - start for start, end in spans)
    median = max(1e-3, lengths[len(lengths) // 2])
    wished = 16.0 / median * seen
    return max(least, min(wished, most), 200.0) / seen


def _round_step(seconds: float) -> float:
    """Return the next round length of time that is not shorter."""
    if seconds > NICE_S[-1]:
        return math.ceil(seconds / NICE_S[-1]) * float(NICE_S[-1])
    if seconds > 1:
        return next(float(each) for each in NICE_S if each >= seconds)
    power = 10.0 ** math.floor(math.log10(max(seconds, 1e-6)))
    return next(power * nice for nice in NICE if power * nice >= seconds * 0.999)
