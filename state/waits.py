"""How long to wait: what the failure itself says, else the default for its class.

Forms of Retry-After: RFC 9110 section 10.2.3 (seconds or HTTP date), the headers of
OpenAI, Azure, Anthropic and GitHub, google.rpc.RetryInfo, and plain sentences.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from mendgraph.state.failure import FailureFacts, Subclass

LONGEST_S = 86_400.0
"""A longer wait is cut to one day: no run is kept open for more."""

EPOCH_S = 1_000_000_000.0
EPOCH_MS = 1_000_000_000_000.0
"""Values from here on are moments since 1970 (s, ms), not lengths of time."""

UNIT_S = {
    "ms": 0.001,
    "毫秒": 0.001,
    "s": 1.0,
    "秒": 1.0,
    "m": 60.0,
    "分": 60.0,
    "h": 3600.0,
    "小": 3600.0,
    "d": 86_400.0,
    "天": 86_400.0,
}
_UNIT = (
    r"milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h"
    r"|days?|d|毫秒|秒钟?|分钟?|小时|天"
)
_PART = rf"(\d+(?:\.\d+)?)\s*({_UNIT})(?![a-z])"
_ONE = rf"\d+(?:\.\d+)?\s*(?:{_UNIT})"
_SPAN = rf"{_ONE}(?:(?:\s*,?\s*(?:and\s+)?){_ONE})*(?![a-z])"
_ABOUT = r"(?:about|approximately|around|another|at least|up to|~|≈)?\s*"
_CUE = (
    r"(?:(?:try|retry|retrying|request|connect)(?:\s+\w+){0,3}?\s+(?:again\s+)?"
    r"(?:in|after)|(?:wait|waiting|sleep|backing off|back off)(?:\s+for)?"
    r"|(?:available|resets?|refills?|unblocked|lifted|expires?)(?:\s+again)?\s+"
    r"(?:in|after)|cool\s?down(?:\s+of|\s+for|:)?)"
)
_SENTENCES = (
    re.compile(rf"{_CUE}\s+{_ABOUT}({_SPAN})", re.IGNORECASE),
    re.compile(
        rf"retry[-_ ]?(?:after|delay|in)(?:[-_ ]?(?:ms|s|sec|seconds))?[\"']?\s*[:=]"
        rf"\s*[\"']?({_SPAN})",
        re.IGNORECASE,
    ),
    re.compile(rf"(?:in|after)\s+({_SPAN})\W+(?:try|retry)", re.IGNORECASE),
    re.compile(rf"({_SPAN})\s*(?:之?[后後]|以后).{{0,4}}[重再]"),
    re.compile(rf"(?:等待|稍等|等)\s*({_SPAN})"),
)
_BARE_MS = re.compile(
    r"retry[-_ ]?(?:after|delay)[-_ ]?(?:ms|millis\w*)[\"']?\s*[:=]\s*[\"']?(\d+)",
    re.IGNORECASE,
)
_BARE_S = re.compile(
    r"retry[-_ ]?(?:after|delay)(?:[-_ ]?s(?:ec\w*)?)?[\"']?\s*[:=]?\s*[\"']?"
    r"(\d+(?:\.\d+)?)(?![\d.]*\s*(?:[a-z%-]|/))",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"(?:again|retry|wait|resets?|available|until)\b.{0,24}?(?:after|at|until|on|:)\s+"
    r"((?:mon|tue|wed|thu|fri|sat|sun)[a-z]*, [^\n]{10,24}? (?:gmt|utc|[+-]\d{4})"
    r"|\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:z|[+-]\d\d:?\d\d)?)",
    re.IGNORECASE,
)
_VAGUE: tuple[tuple[re.Pattern[str], float], ...] = (
    (re.compile(r"(?i)(?:wait|in|after)\s+(?:a\s+few|several)\s+minutes"), 60.0),
    (re.compile(r"(?i)(?:wait|in|after)\s+(?:a|one)\s+minute"), 60.0),
    (re.compile(r"(?i)(?:wait|in|after)\s+(?:a\s+few|several)\s+seconds"), 5.0),
    (re.compile(r"(?i)(?:wait|in|after)\s+(?:a\s+few|several)\s+hours"), 10_800.0),
    (re.compile(r"(?i)(?:wait|in|after)\s+(?:an|one)\s+hour"), 3600.0),
    (re.compile(r"(?:稍等|等待)?\s*几\s*分钟"), 60.0),
    (re.compile(r"(?:稍等|等待)?\s*几\s*秒"), 5.0),
)


def stated_wait(facts: FailureFacts, now: float) -> float | None:
    """Return the wait in seconds that headers, body or message name, or None.

    `now` is the time since 1970 in seconds; HTTP dates and reset moments need it.
    """
    texts = (facts.message, facts.body_head or "")
    found = header_wait(facts.headers, now)
    for text in texts:
        found = sentence_wait(text, now) if found is None else found
    return found


def header_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait in seconds that response headers name, or None."""
    lowered = {name.lower(): str(value).strip() for name, value in headers.items()}
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if (wait := _number(lowered.get(name))) is not None:
            return _sane(wait / 1000)
    if (wait := moment_or_span(lowered.get("retry-after"), now)) is not None:
        return wait
    return max(_resets(lowered, now), default=None)


def moment_or_span(value: str | None, now: float) -> float | None:
    """Read seconds, a span (`1m30s`), a moment since 1970 or a date; None if absurd.

    A moment or a date tells no wait while `now` is not known (0).
    """
    if not value:
        return None
    number = _number(value)
    if number is None:
        return _span(value) if _whole_span(value) else _date(value, now)
    if number >= EPOCH_S and now <= 0:
        return None
    if number >= EPOCH_MS:
        return _sane(number / 1000 - now, past=0.0)
    if number >= EPOCH_S:
        return _sane(number - now, past=0.0)
    return _sane(number)


def sentence_wait(text: str, now: float = 0.0) -> float | None:
    """Return the wait in seconds that a sentence names, or None."""
    if not text:
        return None
    if match := _BARE_MS.search(text):
        return _sane(float(match[1]) / 1000)
    for pattern in _SENTENCES:
        if match := pattern.search(text):
            return _span(match[1])
    if match := _DATE.search(text):
        return _date(match[1], now)
    if match := _BARE_S.search(text):
        return moment_or_span(match[1], now)
    return next((wait for pattern, wait in _VAGUE if pattern.search(text)), None)


def _resets(headers: Mapping[str, str], now: float) -> Iterator[float]:
    """Yield the waits of exhausted windows: `…remaining…` is 0, `…reset…` says when."""
    for name, value in headers.items():
        if "remaining" not in name or _number(value) != 0:
            continue
        reset = headers.get(name.replace("remaining", "reset"))
        if (wait := moment_or_span(reset, now)) is not None:
            yield wait


def _span(text: str) -> float | None:
    parts = re.findall(_PART, text, re.IGNORECASE)
    total = sum(float(number) * _unit(unit) for number, unit in parts)
    return _sane(total) if parts else None


def _whole_span(text: str) -> bool:
    return re.fullmatch(_SPAN, text.strip(), re.IGNORECASE) is not None


def _unit(word: str) -> float:
    lowered = word.lower()
    is_milli = lowered.startswith(("ms", "mil"))
    return (
        UNIT_S["ms"] if is_milli else UNIT_S.get(word, UNIT_S.get(lowered[:1], 0.001))
    )


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _date(text: str, now: float) -> float | None:
    if now <= 0:
        return None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text.strip())
        except (ValueError, TypeError, IndexError):
            continue
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return _sane(aware.timestamp() - now, past=0.0)
    return None


def _sane(wait: float, past: float | None = None) -> float | None:
    """Cut to one day; a negative wait is `past` (0 for a moment gone by)."""
    if wait < 0:
        return past
    return min(wait, LONGEST_S)


def _linear(attempt: int) -> float:
    return min(15.0, 5.0 * attempt)


def _exponential(attempt: int) -> float:
    return min(30.0, 2.0 ** min(attempt - 1, 8))


def _tiers(attempt: int) -> float:
    return (1.0, 1.0, 2.0, 4.0)[min(attempt, 4) - 1]


BY_STATUS: dict[int, Callable[[int], float]] = {
    429: _linear,
    503: _exponential,
    529: _exponential,
}
BY_SUBCLASS: dict[Subclass, Callable[[int], float]] = {
    Subclass.RATE_LIMITED: _linear,
    Subclass.SERVICE_UNAVAILABLE: _exponential,
}


def backoff(subclass: Subclass, http_status: int | None, attempt: int) -> float:
    """Return the default wait in seconds before retry `attempt` (1 is the first).

    429 and rate limits wait 5, 10, 15 s; 503 and outages 1, 2, 4 … up to 30 s; all
    else follows the tiers: 1 s, 1 s (tier 1), then 2 s, 4 s (tier 2).
    """
    by_subclass = BY_SUBCLASS.get(subclass, _tiers)
    return BY_STATUS.get(http_status or 0, by_subclass)(max(1, attempt))
