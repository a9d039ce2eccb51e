"""How alike two lessons are, and whether they contradict each other."""

import re
from functools import lru_cache
from itertools import combinations

from mendgraph.state.lesson import Lesson
from mendgraph.tools.memory.words import kept_words

SAME_SUBJECT = 0.45
"""Overlap from which two lessons speak of the same thing."""
_NEGATIONS = re.compile(
    r"\b(?:never|not|no|avoid|stop|without|don't|do not|cannot|must not|instead of)\b"
    r"|不要|不能|不可|不应|不得|禁止|避免|切勿|别再|无需"
)
_OPPOSITES: tuple[tuple[str, str], ...] = (
    (r"\b(?:increas|rais|larger|longer|more|higher)|增大|增加|调大|提高|延长", "more"),
    (
        r"\b(?:decreas|reduc|lower|smaller|shorter|fewer|less)|减小|减少|调小|降低",
        "less",
    ),
    (r"\b(?:enabl|turn on|switch on)|启用|打开|开启", "on"),
    (r"\b(?:disabl|turn off|switch off)|禁用|关闭|停用", "off"),
)
_OPPOSED = {("more", "less"), ("less", "more"), ("on", "off"), ("off", "on")}


def overlap(first: str, second: str) -> float:
    """Return the weighted Jaccard overlap, 0..1, of two texts' words."""
    left, right = kept_words(first), kept_words(second)
    few, many = sorted((left, right), key=len)
    shared = sum(min(w, many[k]) for k, w in few.items() if k in many)
    union = sum(left.values()) + sum(right.values()) - shared
    return shared / union if union else 0.0


def opposed(first: str, second: str) -> bool:
    """Tell whether one text forbids what the other advises, or turns it round."""
    (negated, left), (other, right) = _stance(first), _stance(second)
    if negated != other:
        return True
    return any((a, b) in _OPPOSED for a in left - right for b in right - left)


def contradicts(first: Lesson, second: Lesson) -> bool:
    """Tell whether two lessons of one signature advise the opposite on one subject."""
    if first.signature != second.signature or not opposed(first.text, second.text):
        return False
    return overlap(first.text, second.text) >= SAME_SUBJECT


def contradictions(lessons: list[Lesson]) -> list[tuple[Lesson, Lesson]]:
    """Return the contradicting pairs among lessons, the older of each pair first."""
    pairs = combinations(sorted(lessons, key=lambda item: item.created_at), 2)
    return [(old, new) for old, new in pairs if contradicts(old, new)]


@lru_cache(maxsize=8_192)
def _stance(text: str) -> tuple[bool, frozenset[str]]:
    """Return whether a text forbids, and the directions it advises."""
    lowered = text.lower()
    names = (name for pattern, name in _OPPOSITES if re.search(pattern, lowered))
    return bool(_NEGATIONS.search(lowered)), frozenset(names)
