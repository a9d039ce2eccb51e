"""Hide secrets in text and values before they reach prompts, memory or reports (F72).

What has the form of a known key is hidden anywhere; the value beside a secret's name
(`password=…`, `"api_key": "…"`) is hidden there; all other words stay as they are.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"

_SHAPES = (
    r"sk-[A-Za-z0-9_-]{16,}",
    r"[srp]k_(?:live|test)_[A-Za-z0-9]{8,}",
    r"whsec_[A-Za-z0-9]{16,}",
    r"(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}",
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"AIza[0-9A-Za-z_-]{30,}",
    r"ya29\.[0-9A-Za-z_-]{16,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"lsv2_[a-z]{2}_[A-Za-z0-9_]{20,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*",
)
_TOKEN = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_SHAPES)})")
_PEM = re.compile(
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@'\"]*):([^\s/'\"]+)@", re.IGNORECASE)
_SCHEME = re.compile(r"(?i)\b(Bearer|Basic)(\s+)(?=\S*[\d=._~+/-])([\w.~+/=-]{8,})")

_STRONG = (
    r"pass(?:word|wd|phrase)|pwd|secret(?:[-_ ]?(?:access[-_ ]?)?key)?"
    r"|client[-_]?secret|api[-_ ]?key|apikey|access[-_]?key|private[-_]?key|密码|口令"
    r"|密钥"
    r"|(?:access|auth|refresh|bearer|session|id|api|bot)[-_]?token"
)
_NAME = rf"(?:[A-Za-z0-9]+[-_])*(?:{_STRONG}|token|authorization|set-cookie|cookie)"
_PROSE = (
    r"(?:required|missing|invalid|incorrect|wrong|must|is|are|was|not|cannot|can|should"
    r"|field|empty|none|null|true|false|the|a|an|for|of|and|or|too|has|have|expired"
    r"|unexpected|expected|given|provided|needed|authentication|failed|error|does"
    r"|value|no|yes|at|in|on|with|to|from|mismatch|unknown|str|string|int)\b"
)
_QUOTED = re.compile(
    rf"(?i)(\b{_NAME}\\?[\"']?\s*[:=]\s*b?\\?)([\"'])((?:(?!\2)[^\n\\]|\\.)+)(\\?\2)"
)
_ASSIGNED = re.compile(rf"(?i)(\b{_NAME}=)([^\s\"'&,;)}}\]]+)")
_SPOKEN = re.compile(
    rf"(?i)(\b(?:[A-Za-z0-9]+[-_])*(?:{_STRONG})(?::\s*|\s+is\s+))"
    rf"(?!{_PROSE})([^\s\"'&,;)}}\]{{\[]+)"
)
_LOOSE = re.compile(
    r"(?i)(\b(?:[A-Za-z0-9]+[-_])*(?:token|authorization|cookie):\s*)"
    r"(?!bearer\b|basic\b)(?=[^\s,;]*\d)([^\s\"'&,;)}\]{\[]{6,})"
)
_SECRET_KEY = re.compile(
    rf"(?i)(?:^|[-_. ]|(?<=[a-z])(?=[A-Z]))(?:{_STRONG}|token|authorization|cookie"
    r"|credentials?|secrets?)$"
)


def mask(text: str) -> str:
    """Return the text with every secret replaced by `***`."""
    text = _PEM.sub(rf"\1{MASK}\2", text)
    text = _URL.sub(rf"\1:{MASK}@", text)
    text = _SCHEME.sub(rf"\1\2{MASK}", text)
    text = _TOKEN.sub(MASK, text)
    text = _QUOTED.sub(rf"\1\2{MASK}\4", text)
    for pattern in (_ASSIGNED, _SPOKEN, _LOOSE):
        text = pattern.sub(rf"\1{MASK}", text)
    return text


def mask_value(value: Any, secret_names: Iterable[str] = ()) -> Any:
    """Return a copy of the same shape with secrets masked, at any depth.

    `secret_names` are further names of arguments whose values are secret whatever
    they look like; they are compared without regard to case.
    """
    return _masked(value, frozenset(name.lower() for name in secret_names))


def is_secret_name(name: str, secret_names: frozenset[str] = frozenset()) -> bool:
    """Tell whether a field of this name holds a secret."""
    return name.lower() in secret_names or _SECRET_KEY.search(name) is not None


def _masked(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: _field(key, item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, names) for item in value]
    if isinstance(value, tuple):
        return tuple(_masked(item, names) for item in value)
    return value


def _field(key: Any, item: Any, names: frozenset[str]) -> Any:
    if not (isinstance(key, str) and is_secret_name(key, names)):
        return _masked(item, names)
    return _hidden(item, names)


def _hidden(item: Any, names: frozenset[str]) -> Any:
    """Hide a secret's value, keeping the shape around it."""
    if item is None or isinstance(item, bool):
        return item
    if isinstance(item, Mapping):
        return {key: _hidden(inner, names) for key, inner in item.items()}
    if isinstance(item, list | tuple):
        return type(item)(_hidden(inner, names) for inner in item)
    return MASK
