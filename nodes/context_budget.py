"""The planner's context in 8,000 tokens: shares, and what flows on (F58).

Shares are those of the adaptive planning document, section 3.5. What a section does not
need flows on to the others in proportion to their shares.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from mendgraph.nodes.stages import History, Line
from mendgraph.nodes.token_cut import clip
from mendgraph.state.record import Record
from mendgraph.state.tokens import count_tokens

__all__ = [
    "SHARES",
    "Built",
    "History",
    "Item",
    "Joined",
    "Line",
    "Listing",
    "Words",
    "build",
]

SHARES: Mapping[str, float] = {
    "task": 0.15,
    "knowledge": 0.20,
    "lessons": 0.25,
    "steps": 0.30,
    "failure": 0.10,
}
"""Section → its share of the context, 0..1."""
OTHER_SHARE = 0.1
"""Share of a section that is not in the table."""


class Section(Protocol):
    """One part of the context."""

    name: str

    def need(self) -> int:
        """Tokens of the section when nothing is left out."""
        ...

    def fit(self, allowance: int) -> tuple[str, list[str]]:
        """Return the text in at most that many tokens, and what was left out."""
        ...


class Words:
    """A text that is cut in the middle when it is too long."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def need(self) -> int:
        """Tokens of the whole text."""
        return count_tokens(self.text)

    def fit(self, allowance: int) -> tuple[str, list[str]]:
        """Return the text, cut in the middle if need be."""
        if self.need() <= allowance:
            return self.text, []
        left_out = self.need() - allowance
        return clip(self.text, allowance), [f"{self.name}: about {left_out} tokens cut"]


class Item(Record):
    """One line of a listing."""

    text: str
    short: str = ""
    """What stands for it when there is no room; empty means it is left out."""


class Listing:
    """Items in order of worth; those that find no room are shortened or left out."""

    def __init__(self, name: str, items: Sequence[Item]) -> None:
        self.name = name
        self.items = tuple(items)

    def need(self) -> int:
        """Tokens of all items in full."""
        return sum(count_tokens(item.text) + 1 for item in self.items)

    def fit(self, allowance: int) -> tuple[str, list[str]]:
        """Return as many items in full as there is room for, best first."""
        costs = [(count_tokens(i.text) + 1, _cost(i.short)) for i in self.items]
        spare = allowance - sum(short for _, short in costs)
        lines: list[str] = []
        cut = 0
        for item, (full, short) in zip(self.items, costs, strict=True):
            fits = full - short <= spare
            spare -= full - short if fits else 0
            cut += not fits
            lines.append(item.text if fits else item.short)
        text = clip("\n".join(line for line in lines if line), allowance)
        return text, [f"{self.name}: {cut} of {len(lines)} shortened"] if cut else []


def _cost(text: str) -> int:
    return count_tokens(text) + 1 if text else 0


class Joined:
    """Two sections that share one allowance: the first is served first."""

    def __init__(self, name: str, first: Section, second: Section) -> None:
        self.name = name
        self.parts = (first, second)

    def need(self) -> int:
        """Tokens of both in full."""
        return sum(part.need() for part in self.parts)

    def fit(self, allowance: int) -> tuple[str, list[str]]:
        """Return both within the allowance."""
        first, second = self.parts
        text, notes = first.fit(allowance)
        more, others = second.fit(max(0, allowance - count_tokens(text) - 1))
        return "\n".join(part for part in (text, more) if part), [*notes, *others]


class Built(Record):
    """The context: a text for each section, within the total."""

    texts: dict[str, str]
    tokens: int
    dropped: tuple[str, ...] = ()
    """What was cut, shortened or left out, a sentence each."""


def allot(needs: Mapping[str, int], total: int) -> dict[str, int]:
    """Return the tokens each section gets: its share, and what others do not need.

    Sections that need less than their part are served first; the rest share what is
    left in proportion, until nothing is left or nobody is in need.
    """
    given: dict[str, int] = {}
    open_, left = dict(needs), total
    while open_:
        weights = {name: round(100 * SHARES.get(name, OTHER_SHARE)) for name in open_}
        whole = sum(weights.values())
        parts = {name: left * weight // whole for name, weight in weights.items()}
        modest = {n: need for n, need in open_.items() if need <= parts[n]}
        if not modest:
            return {**given, **parts}
        given |= modest
        left -= sum(modest.values())
        open_ = {n: need for n, need in open_.items() if n not in modest}
    return given


def build(sections: Iterable[Section], total: int) -> Built:
    """Fit sections into a total of tokens.

    Args:
        sections: In any order; one with an empty name or no text costs nothing.
        total: Tokens for all of them together.
    """
    known = {section.name: section for section in sections}
    needs = {name: section.need() for name, section in known.items()}
    given = allot(needs, total)
    texts: dict[str, str] = {}
    dropped: list[str] = []
    for name, section in known.items():
        texts[name], notes = section.fit(given[name])
        dropped += notes
    tokens = sum(map(count_tokens, texts.values()))
    return Built(texts=texts, tokens=tokens, dropped=tuple(dropped))
