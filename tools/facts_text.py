"""Read the facts that a message text alone holds: names, codes, statuses, bodies."""

import errno
import re
from collections.abc import Callable
from typing import Any

from mendgraph.tools.facts_body import body_fields, embedded_object
from mendgraph.tools.facts_patterns import (
    BODY,
    BOTO,
    COMMAND,
    CONTENT_TYPE,
    DEATHS,
    DOTTED,
    ERRNO,
    EXIT,
    FINISH,
    GRPC,
    GRPC_CODES,
    HEADERS,
    MCP,
    MYSQL,
    NAMED,
    SIGNAL,
    SMTP,
    SQLSTATE,
    STATUS,
    STRERROR,
    SYMBOL,
    WINDOWS,
    WINERROR,
)
from mendgraph.tools.facts_sql import sqlstate_of_text
from mendgraph.tools.sqlstates import SQLSTATE_OF


def mine(text: str) -> dict[str, Any]:
    """Return the `FailureFacts` fields that the text states, without the message."""
    found: dict[str, Any] = {}
    for read in READERS:
        _keep_first(found, read(text))
    for read_with in DEPENDENT_READERS:
        _keep_first(found, read_with(text, found))
    _keep_first(found, _json(text))
    return found


def _keep_first(found: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        found.setdefault(name, value)


def _exceptions(text: str) -> dict[str, Any]:
    hits = [*NAMED.finditer(text), *DOTTED.finditer(text)]
    names = [hit[1] for hit in sorted(hits, key=lambda hit: hit.start())]
    return {"exceptions": tuple(dict.fromkeys(names))} if names else {}


def _grpc(text: str) -> dict[str, Any]:
    for pattern in GRPC:
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


def _boto(text: str) -> dict[str, Any]:
    match = BOTO.search(text)
    return {"family": "boto3", "error_code": match[1]} if match else {}


def _mcp(text: str) -> dict[str, Any]:
    if match := MCP.search(text):
        return {"family": "mcp", "error_code": first(match)}
    return {"family": "mcp"} if re.search(r"[\"']isError[\"']", text) else {}


def _mysql(text: str) -> dict[str, Any]:
    match = MYSQL.search(text)
    return {"family": "mysql", "error_code": first(match)} if match else {}


def _smtp(text: str) -> dict[str, Any]:
    match = SMTP.search(text)
    return {"family": "smtp", "error_code": first(match)} if match else {}


def _sqlstate(text: str, found: dict[str, Any]) -> dict[str, Any]:
    if match := SQLSTATE.search(text):
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
    matches = (pattern.search(text) for pattern in STATUS)
    codes = [int(match[1]) for match in matches if match]
    status = next((code for code in codes if 100 <= code < 600), None)  # noqa: PLR2004
    return {"http_status": status} if status else {}


def _exit(text: str) -> dict[str, Any]:
    if match := SIGNAL.search(text):
        return {"exit_code": -int(match[1])}
    for pattern in EXIT:
        if match := pattern.search(text):
            return {"exit_code": int(match[1])}
    deaths = (code for words, code in DEATHS if re.search(words, text, re.IGNORECASE))
    code = next(deaths, None)
    return {} if code is None else {"exit_code": code}


def _command(text: str, found: dict[str, Any]) -> dict[str, Any]:
    if "exit_code" not in found:
        return {}
    matches = (pattern.search(text) for pattern in COMMAND)
    command = next((match[1] for match in matches if match), None)
    return {"command": command} if command else {}


def _errno(text: str, found: dict[str, Any]) -> dict[str, Any]:
    if found.keys() & {"sqlstate", "http_status", "family"}:
        return {}
    lowered = text.lower()
    spoken = next((number for words, number in STRERROR if words in lowered), None)
    if spoken is not None:
        return {"errno": spoken}
    if match := WINERROR.search(text):
        return {"errno": WINDOWS.get(int(match[1]), int(match[1]))}
    if match := ERRNO.search(text):
        return {"errno": int(first(match))}
    symbols = (getattr(errno, name, None) for name in SYMBOL.findall(text))
    number = next((number for number in symbols if number is not None), None)
    return {} if number is None else {"errno": number}


def _finish(text: str) -> dict[str, Any]:
    match = FINISH.search(text)
    return {"finish_reason": match[1].lower()} if match else {}


def _body(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if match := BODY.search(text):
        body = re.sub(r"\\[nrt]", "\n", match[1].strip("'\""))
        fields["body_head"] = body[:500]
    if match := CONTENT_TYPE.search(text):
        fields["content_type"] = match[1].lower()
    headers = {name.lower(): value for name, value in HEADERS.findall(text)}
    return {**fields, **({"headers": headers} if headers else {})}


def _json(text: str) -> dict[str, Any]:
    fields = body_fields(embedded_object(text))
    return {k: v for k, v in fields.items() if k != "http_status" or v >= 300}  # noqa: PLR2004


def first(match: re.Match[str]) -> str:
    """Return the first group that took part in the match."""
    return next(group for group in match.groups() if group is not None)


READERS: tuple[Callable[[str], dict[str, Any]], ...] = (
    _exceptions,
    _boto,
    _grpc,
    _mcp,
    _mysql,
    _smtp,
    _exit,
    _finish,
    _body,
)
DEPENDENT_READERS: tuple[Callable[[str, dict[str, Any]], dict[str, Any]], ...] = (
    _sqlstate,
    _status,
    _command,
    _errno,
)
