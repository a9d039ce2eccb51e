"""Functions that rules may call beside plain CEL: pure, total, and only on text.

The CEL library has no string editing of its own. Each function returns its text
unchanged when there is nothing to do, so a rule that does not fit changes nothing.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

_NAMED = re.compile(
    r"(?:near|column|field|relation|table|key|parameter|argument|keyword|identifier"
    r"|字段|参数|列|关键字)\s*[:=]?\s*[\"'`“]?([A-Za-z_][\w$]*)[\"'`”]?",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'|`([^`]*)`|“([^”]*)”")
_SUGGESTED = re.compile(
    r"(?:did you mean|perhaps you meant|maybe you meant|instead use|use instead"
    r"|你是不是想|您是不是要)[^\"'`“\w]*(?:to reference )?(?:the )?(?:column |field )?"
    r"[\"'`“]?([\w.$]+)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")
_FENCE = re.compile(r"\s*```[\w+-]*[ \t]*\n(.*?)\n?\s*```\s*", re.DOTALL)
_PROTECTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]")
_STRUCTURE = frozenset(
    {"select", "from", "where", "by", "on", "join", "as", "and", "or", "having"}
    | {"insert", "into", "values", "set", "limit", "union", "with", "create", "delete"}
)
"""Words that build a statement; an error near one is not about its name."""


def named(text: str) -> str:
    """Return the name an error message speaks of, else its first quoted text."""
    found = _NAMED.search(text)
    return found.group(1) if found else quoted_in(text, 0)


def suggested(text: str) -> str:
    """Return the name an error message suggests instead, or nothing."""
    found = _SUGGESTED.search(text)
    return found.group(1).rsplit(".", 1)[-1] if found else ""


def quoted_in(text: str, position: int) -> str:
    """Return the quoted text at a position, counted from 0, or nothing."""
    found = ["".join(groups) for groups in _QUOTED.findall(text)]
    return found[position] if position < len(found) else ""


def number_in(text: str, position: int) -> int | float | None:
    """Return the number at a position in a text, counted from 0, or null."""
    found = _NUMBER.findall(text.replace(",", ""))
    if position >= len(found):
        return None
    return float(found[position]) if "." in found[position] else int(found[position])


def quote_name(statement: str, name: str, mark: str) -> str:
    """Put marks round each bare use of a name in a SQL statement.

    Literals, names that are quoted already, and `order by` or `group by` stay.
    """
    if not name or name.lower() in _STRUCTURE:
        return statement
    word = re.compile(
        rf"(?<![\w.$]){re.escape(name)}(?![\w$(])(?!\s+by\b)", re.IGNORECASE
    )
    close = "]" if mark == "[" else mark
    return _outside(statement, lambda part: word.sub(rf"{mark}\g<0>{close}", part))


def replace_name(statement: str, name: str, instead: str) -> str:
    """Replace each whole-word use of a name outside literals."""
    if not name or not instead:
        return statement
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    return _outside(statement, lambda part: word.sub(lambda _: instead, part))


def _outside(statement: str, change: Callable[[str], str]) -> str:
    """Apply a change to the parts of a statement that are not quoted."""
    out, start = [], 0
    for found in _PROTECTED.finditer(statement):
        out += [change(statement[start : found.start()]), found.group()]
        start = found.end()
    return "".join([*out, change(statement[start:])])


def strip_fences(text: str) -> str:
    """Return the content of a text that is one Markdown code block."""
    found = _FENCE.fullmatch(text)
    return found.group(1) if found else text


def strip_bom(text: str) -> str:
    """Return the text without a byte order mark."""
    return text.removeprefix("\ufeff")


def replace_text(text: str, old: str, new: str) -> str:
    """Return the text with each `old` replaced."""
    return text.replace(old, new) if old else text


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "named": named,
    "suggested": suggested,
    "quotedIn": quoted_in,
    "numberIn": number_in,
    "quoteName": quote_name,
    "replaceName": replace_name,
    "stripFences": strip_fences,
    "stripBom": strip_bom,
    "replaceText": replace_text,
    "trimmed": str.strip,
    "lowered": str.lower,
    "uppered": str.upper,
    "splitAt": lambda text, mark: [part.strip() for part in text.split(mark)],
}
"""Name in CEL → function."""
