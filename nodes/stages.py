"""Step summaries that fit: recent and failed steps in detail, older ones as stages.

The recency of the adaptive planning document, section 3.5: what lies far back keeps
only its conclusion. Failed steps keep their details however old they are.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

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

    def need(self) -> int:
        """Tokens when every step is shown in detail."""
        return count_tokens(self._whole())

    def fit(self, allowance: int) -> tuple[str, list[str]]:
        """Return details where there is room for all, else stages and details."""
        whole = self._whole()
        if count_tokens(whole) <= allowance:
            return whole, []
        newest = range(max(0, len(self.lines) - NEWEST), len(self.lines))
        pinned = (i for i, line in enumerate(self.lines) if line.pinned)
        detailed = frozenset((*newest, *pinned))
        merged = len(self.lines) - len(detailed)
        notes = [f"{self.name}: {merged} older steps merged into stage summaries"]
        shown = {i: _detail(self.lines[i], DETAIL_TOKENS) for i in sorted(detailed)}
        for size in STAGE_SIZES:
            text = self._staged(size, shown)
            if count_tokens(text) <= allowance:
                return text, notes
        return self._squeezed(allowance, detailed), notes

    def _whole(self) -> str:
        return "\n".join(_detail(each, DETAIL_TOKENS) for each in self.lines)

    def _staged(self, size: int, shown: Mapping[int, str]) -> str:
        parts: list[str] = []
        run: list[Line] = []
        for index, line in enumerate(self.lines):
            if index in shown or len(run) == size:
                parts += [_stage(run, STAGE_TOKENS)] if run else []
                run = []
            if index in shown:
                parts.append(shown[index])
            else:
                run.append(line)
        return "\n".join((*parts, *([_stage(run, STAGE_TOKENS)] if run else [])))

    def _squeezed(self, allowance: int, detailed: frozenset[int]) -> str:
        """Keep one stage for all older steps; shorten every detail alike."""
        old = [each for i, each in enumerate(self.lines) if i not in detailed]
        tokens = min(DETAIL_TOKENS, allowance // (len(detailed) + 1))
        text = ""
        while tokens > 1:
            stages = [_stage(old, min(tokens, STAGE_TOKENS))] if old else []
            details = [_detail(self.lines[i], tokens) for i in sorted(detailed)]
            text = "\n".join((*stages, *details))
            if count_tokens(text) <= allowance:
                return text
            tokens = tokens * 3 // 4
        return clip(text, allowance)


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
