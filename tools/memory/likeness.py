"""How alike two lessons are, and whether they contradict each other."""

import re
from functools import lru_cache
from itertools import combinations

from mendgraph.state.lesson import Lesson
from mendgraph.tools.memory.words import weighted_words

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
    left, right = _words(first), _words(second)
    keys = {word for word in left.keys() | right.keys() if not word.startswith("#")}
    shared = sum(min(left.get(k, 0.0), right.get(k, 0.0)) for k in keys)
    union = sum(max(left.get(k, 0.0), right.get(k, 0.0)) for k in keys)
    return shared / union if union else 0.0


def opposed(first: str, second: str) -> bool:
    """Tell whether one text forbids what the other advises, or turns it round."""
    if bool(_NEGATIONS.search(first.lower())) != bool(
        _NEGATIONS.search(second.lower())
    ):
        return True
    left, right = _directions(first), _directions(second)
    return any((a, b) in _OPPOSED for a in left - right for b in right - left)


def contradicts(first: Lesson, second: Lesson) -> bool:
    """Tell whether two lessons of one signature advise the opposite on one subject."""
    if first.signature != second.signature:
        return False
    alike = overlap(first.text, second.text) >= SAME_SUBJECT
    return alike and opposed(first.text, second.text)


def contradictions(lessons: list[Lesson]) -> list[tuple[Lesson, Lesson]]:
    """Return the contradicting pairs among lessons, the older of each pair first."""
    pairs = combinations(sorted(lessons, key=lambda item: item.created_at), 2)
    return [(old, new) for old, new in pairs if contradicts(old, new)]


@lru_cache(maxsize=4_096)
def _words(text: str) -> dict[str, float]:
    return weighted_words(text)


def _directions(text: str) -> set[str]:
    lowered = text.lower()
    return {name for pattern, name in _OPPOSITES if re.search(pattern, lowered)}
