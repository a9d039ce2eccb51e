"""Cut text of any language into weighted search words, with a bilingual glossary.

English words are stemmed lightly, identifiers give their parts, Chinese gives pairs of
characters. Words of the glossary add their concept, shared by both languages, and, with
little weight, the concept's topic.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from itertools import pairwise

WORD, PAIR, CHARACTER, CONCEPT, TOPIC = 1.0, 0.6, 0.3, 1.2, 0.3
"""Weights of a word, of two Chinese characters and of one, of a concept, of a topic."""
LONGEST_PHRASE = 4
"""Most words or characters of one glossary phrase that are looked up."""


_DATA = resources.files("mendgraph.tools.memory")
_SPLIT_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PIECES = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*|[\u3400-\u9fff]+")
_SUFFIXES = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("ing", ""),
    ("edly", ""),
    ("ed", ""),
    ("ly", ""),
    ("s", ""),
)
_SHORTEST_STEM = 3


def stem(word: str) -> str:
    """Return the word without its commonest English ending."""
    if word.endswith("ss") or not word.isascii() or not word.isalpha():
        return word
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return _tidy(word[: len(word) - len(suffix)] + instead, suffix)
    return _tidy(word, "")


def _tidy(base: str, suffix: str) -> str:
    """Undo a doubled consonant (`stopp`) and drop a final e, so forms meet."""
    doubled = suffix in ("ing", "ed") and base[-1:] == base[-2:-1]
    if doubled and base[-1] not in "ls":
        base = base[:-1]
    return base[:-1] if base.endswith("e") and len(base) > _SHORTEST_STEM else base


def weighted_words(text: str) -> dict[str, float]:
    """Return search word → weight, summed over the text.

    Concepts carry the prefix `~` and topics `#`, so they never meet a plain word.
    """
    words: dict[str, float] = {}
    for word, weight in _words(text):
        words[word] = words.get(word, 0.0) + weight
    return words


@lru_cache(maxsize=8_192)
def kept_words(text: str) -> dict[str, float]:
    """Return the weighted words of a text, topics left out, from a cache."""
    words = weighted_words(text)
    return {word: weight for word, weight in words.items() if word[0] != "#"}


def _words(text: str) -> Iterator[tuple[str, float]]:
    plain = unicodedata.normalize("NFKC", _SPLIT_CAMEL.sub(" ", text)).lower()
    run: list[str] = []
    stops = _stops()[0]
    for piece in _PIECES.findall(plain):
        if not piece.isascii():
            yield from _chinese(piece)
            continue
        parts = piece.split("_")
        if len(parts) > 1:
            yield piece, WORD
        run.extend(stem(part) for part in parts)
        yield from ((stem(p), WORD) for p in parts if p not in stops)
    yield from _concepts(run, " ")


def _chinese(run: str) -> Iterator[tuple[str, float]]:
    yield from _concepts(list(run), "")
    stops = _stops()[1]
    yield from ((character, CHARACTER) for character in run if character not in stops)
    for first, second in pairwise(run):
        if first not in stops and second not in stops:
            yield first + second, PAIR


def _concepts(units: list[str], joiner: str) -> Iterator[tuple[str, float]]:
    """Yield concept and topic of each glossary phrase, the longest first."""
    phrases, start = _phrases(), 0
    while start < len(units):
        for size in range(min(LONGEST_PHRASE, len(units) - start), 0, -1):
            found = phrases.get(joiner.join(units[start : start + size]))
            if found:
                yield from ((f"~{name}", CONCEPT) for name in found[0])
                yield from ((f"#{name}", TOPIC) for name in found[1])
                start += size - 1
                break
        start += 1


@lru_cache(maxsize=1)
def _stops() -> tuple[frozenset[str], frozenset[str]]:
    """Return the English words and the Chinese characters that say nothing."""
    held = json.loads((_DATA / "stop_words.json").read_text("utf-8"))
    return frozenset(held["words"].split()), frozenset(held["characters"])


@lru_cache(maxsize=1)
def _phrases() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return glossary phrase → its concepts and topics."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for topic, concepts in json.loads(
        (_DATA / "glossary.json").read_text("utf-8")
    ).items():
        for concept, phrases in concepts.items():
            for phrase in phrases:
                names, topics = found.setdefault(_as_looked_up(phrase), (set(), set()))
                names.add(concept)
                topics.add(topic)
    return {
        phrase: (tuple(sorted(names)), tuple(sorted(topics)))
        for phrase, (names, topics) in found.items()
    }


def _as_looked_up(phrase: str) -> str:
    words = phrase.lower().split()
    return " ".join(stem(word) for word in words) if phrase.isascii() else phrase
