"""Tell whether two demands of one text exclude each other."""

import re

from mendgraph.nodes.classify.opposites import ANTONYM_PAIRS, PAIRS, SHORT
from mendgraph.nodes.classify.rule import Seen

JOIN = re.compile(
    r"\s+[+|]\s+|\s*[;\uff1b,\uff0c。]\s*|\.\s+|\s+(?:but|and|yet|while|also|however"
    r"|though"
    r"|although"
    r"|plus|as well as|at the same time)\s+|但是?|同时|而且|又要|并且?",
    re.IGNORECASE,
)
NOT = re.compile(
    r"\b(?:don't|do not|never|no|not|without|must not|mustn't|avoid|keep)\b",
    re.IGNORECASE,
)
STRONG_JOIN = re.compile(
    r"\s[+|]\s|\bbut\b|\byet\b|\bat the same time\b|\bhowever\b|但|同时|又要",
    re.IGNORECASE,
)
LEAST = re.compile(
    r"(?:at least|more than|minimum(?: of)?|over|>=?|至少|不少于)\s*\$?(\d+)",
    re.IGNORECASE,
)
MOST = re.compile(
    r"(?:at most|less than|maximum(?: of)?|under|within|no more than|up to|<=?|不超过"
    r"|最多)"
    r"\s*\$?(\d+)",
    re.IGNORECASE,
)
WORD = re.compile(r"[a-z]{3,}")

COMMON = frozenset(
    [
        "with",
        "that",
        "this",
        "have",
        "must",
        "keep",
        "the",
        "and",
        "for",
        "use",
        "any",
        "all",
        "not",
        "don",
        "ever",
        "from",
        "make",
        "into",
        "each",
        "only",
        "them",
        "they",
        "will",
        "your",
        "every",
        "ask",
        "add",
        "new",
    ]
)
ALL_OF_IT = re.compile(
    r"\b(?:all|every|any|entire|everything)\b|所有|全部", re.IGNORECASE
)
MOST_CLAUSES = 12


def _stems(text: str) -> set[str]:
    return {w.rstrip("s")[:4] for w in WORD.findall(text.lower())} - {
        w.rstrip("s")[:4] for w in COMMON
    }


def _clauses(seen: Seen) -> list[str]:
    parts = JOIN.split(seen.facts.message)
    return [part for part in parts if part and part.strip()][:MOST_CLAUSES]


def _in_two_clauses(
    left: re.Pattern[str], right: re.Pattern[str], clauses: list[str]
) -> tuple[str, str] | None:
    """Return two different clauses, one with each side; None when there are none."""
    ones = [clause for clause in clauses if left.search(clause)]
    twos = [clause for clause in clauses if right.search(clause)]
    pairs = ((one, two) for one in ones for two in twos if one is not two)
    return next(pairs, None)


def opposite_verbs_on_one_thing(seen: Seen) -> bool:
    """Tell whether two clauses want the opposite of all of one and the same thing."""
    clauses = _clauses(seen)
    found = (_in_two_clauses(*sides, clauses) for sides in ANTONYM_PAIRS)
    return any(
        ALL_OF_IT.search(" ".join(pair)) and _stems(pair[0]) & _stems(pair[1])
        for pair in found
        if pair
    )


def opposed_clauses(seen: Seen) -> bool:
    """Tell whether two clauses hold the two sides of a known opposition."""
    clauses = _clauses(seen)
    return any(_in_two_clauses(left, right, clauses) for left, right in PAIRS)


def short_and_complete(seen: Seen) -> bool:
    """Tell whether one sentence wants the short form of the whole."""
    left, right = PAIRS[SHORT]
    found = left.search(seen.facts.message), right.search(seen.facts.message)
    return bool(found[0] and found[1]) and "one" in seen.facts.message.lower()


def impossible_range(seen: Seen) -> bool:
    """Tell whether the least asked for is more than the most allowed."""
    least, most = LEAST.search(seen.facts.message), MOST.search(seen.facts.message)
    return bool(least and most) and int(least[1]) > int(most[1])  # type: ignore[index]


def forbids_and_demands_one_thing(seen: Seen) -> bool:
    """Tell whether a joined demand names what another one forbids to touch."""
    text = seen.facts.message.lower()
    if not STRONG_JOIN.search(text):
        return False
    clauses = _clauses(seen)
    stems = [(_stems(c), bool(NOT.search(c))) for c in clauses]
    return any(
        mine & theirs - COMMON
        for mine, forbidden in stems
        for theirs, other in stems
        if forbidden and not other
    )
