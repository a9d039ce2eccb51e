"""Read the facts that a message text alone holds: names, codes, statuses, bodies."""

import errno
import os
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from mendgraph.tools.facts_body import body_fields, embedded_object
from mendgraph.tools.facts_sql import sqlstate_of_text
from mendgraph.tools.sqlstates import SQLSTATE_OF

_SUFFIX = (
    r"Error|Exception|Timeout|TimedOut|Interrupt|Exit|Expired|Fault|Violation|Failure"
    r"|BadZipFile|Disconnected|Shutdown|Detected|Transaction|Refused|Denied|NotFound"
    r"|Unavailable|Available|Exceeded|Exhausted|Overflow|Read|Closed|Locked"
)
_DOTTED = re.compile(r"(?<![\w/.'-])((?:[a-z_]\w*\.)+_?[A-Z]\w+)(?=[:()\s,]|$)")
_NAMED = re.compile(
    rf"(?<![\w.'`-])((?:[A-Za-z_]\w*\.)*_?[A-Z]\w*(?:{_SUFFIX}))(?=:|\(|\)|\s*$|\n)"
)
_PHRASES = "|".join(re.escape(s.phrase) for s in HTTPStatus if s.value >= 300)  # noqa: PLR2004
_STATUS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"Error code:\s*(\d{3})\b",
        r"HTTP(?:S)?(?:/\d(?:\.\d)?)?(?:[ _-]?(?:status|error|code|response))*"
        r"[\"']?\s*[:=(]*\s*(\d{3})\b",
        r"(?<!exit )(?<!exit_)\bstatus(?:[ _-]?code)?[\"']?\s*(?:[:=]|is|was|of)?\s*"
        r"[\"'(\[]?(\d{3})\b",
        r"\b(\d{3})\s+(?:Client|Server) Error",
        r"(?:Client|Server|Redirect)\s+(?:error|response)\s+'(\d{3})",
        r"\b(\d{3}),\s*message=",
        rf"\b(\d{{3}})[\s:(-]+(?:{_PHRASES})\b",
        r"(?:=>|->|→|returned|returns|got|received|responded(?: with)?|response|answer\w*"
        r"|failed with|server said)\s*:?\s*(?:an?\s+)?([345]\d\d)\b(?!\s*(?:ms|s|rows))",
        r"\(([45]\d\d)\)(?!\s*,\s*b)",
        r"^\W*([345]\d\d)\b(?!\s*[-. ]\d\.\d)(?=\s*[:,-]?\s*[A-Za-z{\"'<`])",
        r":\s([345]\d\d)\s+(?=[A-Z{])",
        r"[\"'](?:code|status)[\"']\s*:\s*([345]\d\d)\b",
    )
)
_EXIT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"exit(?:ed|s)?\b(?:[ _-]?(?:with|code|status|value|non-?zero|error))*"
        r"[\"']?\s*[:=]?\s*\(?(-?\d{1,10})\b",
        r"exit_?code[\"']?\s*[:=]\s*[\"']?(-?\d{1,10})\b",
        r"(?:non-?zero )?exit (?:status|code)[\"']?\s*[:=]?\s*(-?\d{1,10})\b",
        r"return(?:ed)?[ _]?code[\"']?\s*(?:[:=]|of|is)?\s*(-?\d{1,10})\b",
        r"(?:terminated|killed) (?:by|with) (?:signal|exit code)\s*(\d{1,3})\b",
        r"\bcurl: \((\d{1,2})\)",
        r"\brc\s*=\s*(-?\d{1,3})\b",
        r"\bcode (\d{1,3}) \(?(?:exit|process)",
    )
)
_SIGNAL = re.compile(r"Signals\.SIG\w+: (\d+)>")
_DEATHS: tuple[tuple[str, int], ...] = (
    (r"\bOOMKilled\b|\bsignal: killed\b|\bKilled(?:: 9)?\s*$|\bSIGKILL\b", 137),
    (r"segmentation fault|\bSIGSEGV\b", 139),
    (r"\bSIGABRT\b|Aborted \(core dumped\)", 134),
    (r"\bSIGTERM\b", 143),
    (r"command not found|is not recognized as an internal or external", 127),
)
_COMMAND = tuple(
    re.compile(pattern)
    for pattern in (
        r"Command '\[?'?\"?([^\s'\",]+)",
        r"[\"'](?:command|cmd)[\"']\s*:\s*[\"'\[]+([^\s\"',]+)",
        r"\b(curl): \(\d",
        r"(?:^|\n)\s*[$>]\s+(\S+)",
        r"`(\w[\w.-]*)[^`]*`.{0,40}(?:exit|return|status)",
        r"(?:^|[\s(\"'])(grep|egrep|fgrep|rg|ag|diff|cmp|comm|pgrep|git|curl|wget|rsync"
        r"|ssh|scp|docker|pytest|robocopy|systemctl|timeout|test|expr|which|make|npm"
        r"|npx|pip|python3?|node|bash|sh|kubectl|terraform|psql|ffmpeg|tar|xargs)\b"
        r"(?=[^{}]*(?:exit|status|return|code|rc=))",
    )
)
_GRPC = tuple(
    re.compile(pattern)
    for pattern in (
        r"StatusCode\.([A-Z_]+)",
        r"rpc error: code = (\w+)",
        r"\bgrpc[-_ ]?status[\"']?\s*[:=]\s*[\"']?(\w+)",
        r"(?:^|Error:?\s*)\d{1,2} ([A-Z]{2,}(?:_[A-Z]+)*):",
    )
)
GRPC_CODES = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
]
"""Names by number, 0 to 16."""

_BOTO = re.compile(r"An error occurred \(([\w.]+)\) when calling the")
_MCP = re.compile(r"MCP error (-?\d+)|[\"']code[\"']\s*:\s*(-32\d{3})\b|\((-32\d{3})\)")
_SMTP = re.compile(
    r"\((\d{3}), b?['\"]|\b([245]\d\d)[ -]#?[245]\.\d{1,3}\.\d{1,3}\b"
    r"|SMTP\w*:?\D{0,20}?([45]\d\d)\b"
)
_MYSQL = re.compile(
    r"\((\d{4}), ?[\"']|ERROR (\d{4})(?: \(\w{5}\))?|\b(\d{4}) \(\w{5}\):|errno: (\d{4})"
)
_SQLSTATE = re.compile(
    r"SQLSTATE\W{0,4}([0-9A-Z]{5})\b|ERROR:\s+([0-9A-Z]{5}):|\bpgcode\W+([0-9A-Z]{5})\b"
    r"|[\"']?code[\"']?\s*[:=]\s*[\"']((?=[0-9A-Z]*\d)[0-9A-Z]{5})[\"']"
)
_ERRNO = re.compile(
    r"\[Errno (-?\d+)\]|\berrno\W{1,3}(-?\d+)|\(os error (\d+)\)", re.IGNORECASE
)
_WINERROR = re.compile(r"\[?WinError (\d+)\]?")
_WINDOWS: dict[int, int] = {
    2: errno.ENOENT,
    3: errno.ENOENT,
    5: errno.EACCES,
    8: errno.ENOMEM,
    32: errno.EBUSY,
    33: errno.EBUSY,
    112: errno.ENOSPC,
    183: errno.EEXIST,
    206: errno.ENAMETOOLONG,
    10013: errno.EACCES,
    10048: errno.EADDRINUSE,
    10051: errno.ENETUNREACH,
    10053: errno.ECONNABORTED,
    10054: errno.ECONNRESET,
    10060: errno.ETIMEDOUT,
    10061: errno.ECONNREFUSED,
    11001: -2,
    1225: errno.ECONNREFUSED,
}
_SYMBOL = re.compile(r"\b(E[A-Z][A-Z0-9]{2,14})\b")
_SPOKEN = [
    "ENOSPC",
    "EDQUOT",
    "EMFILE",
    "ENFILE",
    "ENOMEM",
    "EACCES",
    "EPERM",
    "EROFS",
    "ENOENT",
    "ENOTDIR",
    "EISDIR",
    "EEXIST",
    "ENOTEMPTY",
    "EBUSY",
    "ETXTBSY",
    "EAGAIN",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "EPIPE",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENETDOWN",
    "EHOSTDOWN",
    "ENOTCONN",
    "ENAMETOOLONG",
    "E2BIG",
    "EFBIG",
    "ELOOP",
    "EXDEV",
    "ENODEV",
    "EIO",
    "ESTALE",
    "ENOEXEC",
    "EOPNOTSUPP",
]
_STRERROR = tuple(
    (os.strerror(getattr(errno, name)).lower(), getattr(errno, name))
    for name in _SPOKEN
    if hasattr(errno, name)
)
_FINISH = re.compile(r"(?:finish|stop)_?[rR]eason[\"']?\s*[:=]\s*[\"']?(\w+)")
_BODY = re.compile(
    r"\[(?:[^\[\]]*?\b)?(?:body|page(?: says)?|response|content)\W+(.*?)'?\]", re.DOTALL
)
_CONTENT_TYPE = re.compile(
    r"content-?type[\"']?\s*[:=]\s*[\"']?([\w.+-]+/[\w.+-]+)", re.IGNORECASE
)
_HEADERS = re.compile(
    r"\b((?:x-[\w-]*)?(?:retry-after(?:-ms)?|ratelimit-[\w-]+))[\"']?\s*[:=]\s*[\"']?"
    r"([^\s\"',;\])}]+(?:, \d\d \w{3} \d{4} [\d:]+ GMT)?)",
    re.IGNORECASE,
)


def mine(text: str) -> dict[str, Any]:
    """Return the `FailureFacts` fields that the text states, without the message."""
    found: dict[str, Any] = {}
    for read in _READERS:
        for name, value in read(text, found).items():
            found.setdefault(name, value)
    return found


Reader = Callable[[str, dict[str, Any]], dict[str, Any]]


def _exceptions(text: str, found: dict[str, Any]) -> dict[str, Any]:
    hits = [*_NAMED.finditer(text), *_DOTTED.finditer(text)]
    names = [hit[1] for hit in sorted(hits, key=lambda hit: hit.start())]
    return {"exceptions": tuple(dict.fromkeys(names))} if names else {}


def _grpc(text: str, found: dict[str, Any]) -> dict[str, Any]:
    for pattern in _GRPC:
        if (match := pattern.search(text)) and (code := grpc_name(match[1])):
            return {"family": "grpc", "error_code": code}
    return {}


def grpc_name(word: str) -> str | None:
    """Return the upper-case gRPC code for a name in any spelling or a number."""
    if word.isdigit():
        return GRPC_CODES[int(word)] if int(word) < len(GRPC_CODES) else None
    snake = (
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word)
        .upper()
        .replace("CANCELED", "CANCELLED")
    )
    return snake if snake in GRPC_CODES else None


def _boto(text: str, found: dict[str, Any]) -> dict[str, Any]:
    match = _BOTO.search(text)
    return {"family": "boto3", "error_code": match[1]} if match else {}


def _mcp(text: str, found: dict[str, Any]) -> dict[str, Any]:
    if match := _MCP.search(text):
        return {"family": "mcp", "error_code": first(match)}
    return {"family": "mcp"} if re.search(r"[\"']isError[\"']", text) else {}


def _mysql(text: str, found: dict[str, Any]) -> dict[str, Any]:
    match = _MYSQL.search(text)
    return {"family": "mysql", "error_code": first(match)} if match else {}


def _smtp(text: str, found: dict[str, Any]) -> dict[str, Any]:
    match = _SMTP.search(text)
    return {"family": "smtp", "error_code": first(match)} if match else {}


def _sqlstate(text: str, found: dict[str, Any]) -> dict[str, Any]:
    if match := _SQLSTATE.search(text):
        return {"sqlstate": first(match)}
    if found.get("family") or "sqlite" in text.lower():
        return {}
    names = (name.rsplit(".", 1)[-1] for name in found.get("exceptions", ()))
    code = next((SQLSTATE_OF[name] for name in names if name in SQLSTATE_OF), None)
    code = code or sqlstate_of_text(text)
    return {"sqlstate": code} if code else {}


def _status(text: str, found: dict[str, Any]) -> dict[str, Any]:
    if found.get("family") in ("smtp", "mysql") or "sqlstate" in found:
        return {}
    matches = (pattern.search(text) for pattern in _STATUS)
    codes = [int(match[1]) for match in matches if match]
    status = next((code for code in codes if 100 <= code < 600), None)  # noqa: PLR2004
    return {"http_status": status} if status else {}


def _exit(text: str, found: dict[str, Any]) -> dict[str, Any]:
    if match := _SIGNAL.search(text):
        return {"exit_code": -int(match[1])}
    for pattern in _EXIT:
        if match := pattern.search(text):
            return {"exit_code": int(match[1])}
    deaths = (code for words, code in _DEATHS if re.search(words, text, re.IGNORECASE))
    code = next(deaths, None)
    return {} if code is None else {"exit_code": code}


def _command(text: str, found: dict[str, Any]) -> dict[str, Any]:
    if "exit_code" not in found:
        return {}
    matches = (pattern.search(text) for pattern in _COMMAND)
    command = next((match[1] for match in matches if match), None)
    return {"command": command} if command else {}


def _errno(text: str, found: dict[str, Any]) -> dict[str, Any]:
    if found.keys() & {"sqlstate", "http_status", "family"}:
        return {}
    lowered = text.lower()
    spoken = next((number for words, number in _STRERROR if words in lowered), None)
    if spoken is not None:
        return {"errno": spoken}
    if match := _WINERROR.search(text):
        return {"errno": _WINDOWS.get(int(match[1]), int(match[1]))}
    if match := _ERRNO.search(text):
        return {"errno": int(first(match))}
    symbols = (getattr(errno, name, None) for name in _SYMBOL.findall(text))
    number = next((number for number in symbols if number is not None), None)
    return {} if number is None else {"errno": number}


def _finish(text: str, found: dict[str, Any]) -> dict[str, Any]:
    match = _FINISH.search(text)
    return {"finish_reason": match[1].lower()} if match else {}


def _body(text: str, found: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if match := _BODY.search(text):
        body = re.sub(r"\\[nrt]", "\n", match[1].strip("'\""))
        fields["body_head"] = body[:500]
    if match := _CONTENT_TYPE.search(text):
        fields["content_type"] = match[1].lower()
    headers = {name.lower(): value for name, value in _HEADERS.findall(text)}
    return {**fields, **({"headers": headers} if headers else {})}


def _json(text: str, found: dict[str, Any]) -> dict[str, Any]:
    fields = body_fields(embedded_object(text))
    return {k: v for k, v in fields.items() if k != "http_status" or v >= 300}  # noqa: PLR2004


def first(match: re.Match[str]) -> str:
    """Return the first group that took part in the match."""
    return next(group for group in match.groups() if group is not None)


_READERS: tuple[Reader, ...] = (
    _exceptions,
    _boto,
    _grpc,
    _mcp,
    _mysql,
    _smtp,
    _sqlstate,
    _status,
    _exit,
    _command,
    _errno,
    _finish,
    _body,
    _json,
)
