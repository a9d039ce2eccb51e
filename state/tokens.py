"""Token counting offline: word pieces are cut as byte-pair tokenizers cut them.

The cut is the pre-tokenizer of DeepSeek's published `tokenizer.json`; inside a piece
the vocabulary is replaced by the mean token count of pieces of that kind and length,
measured on English prose, Chinese prose, JSON and Python. It answers within 15 % of
the real tokenizer on such texts, where the rule of thumb (0.3 a character, 0.6 for
Chinese) is up to 50 % off.
"""

import re
from collections.abc import Callable

CJK = "\u4e00-\u9fa5\u3040-\u30ff"
PIECE = re.compile(
    rf"(?P<digest>(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{{12,}})"
    rf"|(?P<number>\d{{1,3}})"
    rf"|(?P<cjk>[{CJK}]+)"
    rf"|(?P<joined>[!-/:-@\[-`{{-~][A-Za-z]+)"
    rf"|(?P<word> ?[^\W\d_{CJK}]+)"
    rf"|(?P<marks> ?(?:[^\w\s]|_)+[\r\n]*)"
    rf"|(?P<lines>\s*[\r\n]+)"
    rf"|(?P<space>\s+)"
    rf"|(?P<other>.)",
    re.DOTALL,
)
WORD = (1.0, 1.0, 1.0, 1.03, 1.06, 1.12, 1.14, 1.25, 1.38, 1.45, 1.45, 1.5, 1.8, 1.8)
"""Mean tokens of a plain word by its number of letters."""
JOINED = (1.0, 1.0, 1.02, 1.35, 1.4, 1.5, 1.8, 1.88, 2.05, 2.35, 2.75, 2.8, 3.1, 3.2)
"""Mean tokens of a mark joined to letters (`.name`, `_id`) by its length."""
HAN = (1.0, 1.0, 1.09, 1.92)
"""Mean tokens of a short run of Chinese or Japanese characters by its length."""
HAN_LONG = 0.54
LONG_WORD = 6.5
"""Letters a token in words longer than the table."""
BYTES_A_TOKEN = 5.5
"""UTF-8 bytes a token in words of other alphabets."""
DIGEST_COST = 0.6
"""Tokens a character in hexadecimal digests and random ids."""
SHORT_MARKS = 3
RUN_COST = 0.15


def _by_length(table: tuple[float, ...], length: int) -> float:
    """Look a length up, or go on in proportion past the end of the table."""
    if length < len(table):
        return table[length]
    return table[-1] + (length - len(table) + 1) / LONG_WORD


def _word(piece: str) -> float:
    letters = piece.strip()
    if letters.isascii():
        return _by_length(WORD, len(letters))
    return max(1.0, len(letters.encode()) / BYTES_A_TOKEN)


def _joined(piece: str) -> float:
    return _by_length(JOINED, len(piece))


def _han(piece: str) -> float:
    return HAN[len(piece)] if len(piece) < len(HAN) else len(piece) * HAN_LONG


def _marks(piece: str) -> float:
    if any(ord(char) > 0xFFFF for char in piece):  # noqa: PLR2004  emoji and beyond
        return 2.0 * len(piece.strip())
    return 1.0 + max(0, len(piece) - SHORT_MARKS) * RUN_COST


def _digest(piece: str) -> float:
    return len(piece) * DIGEST_COST


def _one(_piece: str) -> float:
    return 1.0


COSTS: dict[str, Callable[[str], float]] = {
    "digest": _digest,
    "number": _one,
    "cjk": _han,
    "joined": _joined,
    "word": _word,
    "marks": _marks,
    "lines": _one,
    "space": _one,
    "other": _one,
}


def count_tokens(text: str) -> int:
    """Return about how many tokens a model reads in `text`; 0 for no text."""
    total = sum(
        COSTS[match.lastgroup or "other"](match.group())
        for match in PIECE.finditer(text)
    )
    return round(total)
