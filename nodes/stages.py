"""Step summaries that fit: recent and failed steps in detail, older ones as stages.

The recency of the adaptive planning document, section 3.5: what lies far back keeps
only its conclusion. Failed steps keep their details however old they are.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import ceil

from mendgraph.nodes.token_cut import clip
from mendgraph.state.record import Record
from mendgraph.state.tokens import count_tokens

NEWEST = 5
STAGE_SIZES = (4, 8, 16, 32, 64)
"""Steps that one stage summary stands for, tried in this order."""
DETAIL_TOKENS = 120
"""Tokens of one detailed step; less when very many steps have failed."""
STAGE_TOKENS = 40
NAME_CHARS = 32
LINE_COST = 1.5
"""Tokens of a line's end and of what rounding its count may hide."""


class Line(Record):
    """One step as the planner sees it."""

    step_id: str
    status: str
    detail: str = ""
    """Description, tool, result or error in a few words, masked."""
    tool: str | None = None
    conclusion: str = ""
    """The result alone, for the stage summary."""

    @property
    def pinned(self) -> bool:
        """Its details stay, however old it is."""
        return self.status in {"failed", "blocked", "waiting"}


class History:
    """The step summaries of a run, oldest first."""

    def __init__(self, lines: Sequence[Line], name: str = "steps") -> None:
        self.name = name
        self.lines = tuple(lines)

    @cached_property
    def _details(self) -> list[str]:
        return [_detail(each, DETAIL_TOKENS) for each in self.lines]

    def need(self) -> int:
        """Tokens when every step is shown in detail."""
        return _cost(self._details)

    def fit(self, allowance: int) -> tuple[str, list[str]]:
        """Return details where there is room for all, else stages and details."""
        if self.need() <= allowance:
            return "\n".join(self._details), []
        pinned = frozenset(i for i, line in enumerate(self.lines) if line.pinned)
        needed = self._newest(NEWEST) | pinned
        for size in STAGE_SIZES:
            if _cost(self._parts(size, needed)) <= allowance:
                shown = self._most(size, pinned, allowance)
                return "\n".join(self._parts(size, shown)), self._note(shown)
        return self._squeezed(allowance, needed), self._note(needed)

    def stages(self, allowance: int) -> str:
        """Return stage summaries only: the conclusions of all steps."""
        for size in STAGE_SIZES[2:]:
            parts = self._parts(size, frozenset())
            if _cost(parts) <= allowance:
                return "\n".join(parts)
        return clip(_stage(self.lines, STAGE_TOKENS), allowance)

    def _newest(self, count: int) -> frozenset[int]:
        return frozenset(range(max(0, len(self.lines) - count), len(self.lines)))

    def _note(self, shown: frozenset[int]) -> list[str]:
        merged = len(self.lines) - len(shown)
        return [f"{self.name}: {merged} older steps merged into stage summaries"]

    def _most(
        self, size: int, pinned: frozenset[int], allowance: int
    ) -> frozenset[int]:
        """Return as many of the newest steps as fit in detail beside the pinned."""
        low, high = NEWEST, len(self.lines)
        while high - low > 1:
            middle = (low + high) // 2
            parts = self._parts(size, self._newest(middle) | pinned)
            low, high = (middle, high) if _cost(parts) <= allowance else (low, middle)
        return self._newest(low) | pinned

    def _parts(self, size: int, shown: frozenset[int]) -> list[str]:
        """Return the shown steps in detail and the others in stages of a size."""
        parts: list[str] = []
        run: list[Line] = []
        for index, line in enumerate(self.lines):
            if index in shown or len(run) == size:
                parts += [_stage(run, STAGE_TOKENS)] if run else []
                run = []
            if index in shown:
                parts.append(self._details[index])
            else:
                run.append(line)
        return [*parts, _stage(run, STAGE_TOKENS)] if run else parts

    def _squeezed(self, allowance: int, needed: frozenset[int]) -> str:
        """Keep one stage for all older steps; shorten every detail alike."""
        old = [each for i, each in enumerate(self.lines) if i not in needed]
        tokens = min(DETAIL_TOKENS, allowance // (len(needed) + 1))
        parts: list[str] = []
        while tokens > 1:
            stages = [_stage(old, min(tokens, STAGE_TOKENS))] if old else []
            parts = [*stages, *(_detail(self.lines[i], tokens) for i in sorted(needed))]
            if _cost(parts) <= allowance:
                return "\n".join(parts)
            tokens = tokens * 3 // 4
        return clip("\n".join(parts), allowance)


@lru_cache(maxsize=4_096)
def _measure(part: str) -> float:
    return count_tokens(part) + LINE_COST


def _cost(parts: Sequence[str]) -> int:
    """Return what lines come to at most, each with its end."""
    return ceil(sum(map(_measure, parts)))


@lru_cache(maxsize=4_096)
def _detail(line: Line, tokens: int) -> str:
    head = f"{line.step_id[:NAME_CHARS]} [{line.status}]"
    return f"{head} {clip(line.detail, tokens - count_tokens(head))}".rstrip()


def _stage(run: Sequence[Line], tokens: int) -> str:
    first, last = run[0].step_id[:NAME_CHARS], run[-1].step_id[:NAME_CHARS]
    counts = Counter(line.status for line in run)
    said = ", ".join(f"{count} {status}" for status, count in counts.items())
    tools = ", ".join(dict.fromkeys(line.tool for line in run if line.tool))
    rest = f"with {tools}; last: {run[-1].conclusion}" if tools else run[-1].conclusion
    name = first if first == last else f"{first}..{last}"
    return f"stage {name}: {said}; {clip(rest, tokens)}".rstrip("; ")
