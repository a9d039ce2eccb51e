"""Read an exception chain by the attributes client libraries are known to set."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mendgraph.tools.facts_body import body_fields, embedded_object
from mendgraph.tools.facts_text import grpc_name

DEEPEST = 8
_STATUS_PATHS = ("response.status_code", "status_code", "response.status", "status")
_STATE_PATHS = ("sqlstate", "diag.sqlstate", "pgcode")
_BODY_PATHS = ("body", "response.text", "doc")
_FAMILIES: tuple[tuple[str, str], ...] = (
    ("grpc", "grpc"),
    ("botocore", "boto3"),
    ("boto3", "boto3"),
    ("redis", "redis"),
    ("kafka", "kafka"),
    ("aiokafka", "kafka"),
    ("confluent_kafka", "kafka"),
    ("smtplib", "smtp"),
    ("aiosmtplib", "smtp"),
    ("pymysql", "mysql"),
    ("MySQLdb", "mysql"),
    ("mysql", "mysql"),
    ("sqlite3", "sqlite"),
    ("aiosqlite", "sqlite"),
    ("mcp", "mcp"),
    ("playwright", "playwright"),
    ("selenium", "selenium"),
)


def chain(error: BaseException) -> list[BaseException]:
    """Return the exception and its causes, outermost first, without repeats."""
    found: list[BaseException] = []
    queue: list[BaseException | None] = [error]
    while queue and len(found) < DEEPEST:
        current = queue.pop(0)
        if current is None or any(current is seen for seen in found):
            continue
        found.append(current)
        queue.extend(_causes(current))
    return found


def _causes(error: BaseException) -> Iterator[BaseException | None]:
    if isinstance(error, BaseExceptionGroup):
        yield from error.exceptions
    original = safely(error, "orig")
    yield original if isinstance(original, BaseException) else None
    yield error.__cause__
    yield None if error.__suppress_context__ else error.__context__


def dotted(error: BaseException) -> str:
    """Return `module.Name`; built-in exceptions go by their bare name."""
    kind = type(error)
    is_builtin = kind.__module__ == "builtins"
    return kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}"


def bare(name: str) -> str:
    """Return the last part of a dotted name."""
    return name.rsplit(".", 1)[-1]


def spoken(errors: Sequence[BaseException]) -> str:
    """Return the outermost message with those of the causes that say more."""
    text = f"{bare(dotted(errors[0]))}: {words(errors[0])}"
    for cause in errors[1:]:
        said = words(cause)
        if said and said not in text:
            text += f"\ncaused by {dotted(cause)}: {said}"
    return text


def words(error: BaseException) -> str:
    """Return what the exception says; an exception that cannot speak says nothing."""
    details = _called(safely(error, "details"))
    try:
        text = str(error)
        return f"{text} {details}" if isinstance(details, str) else text
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the failure
        return ""


def safely(holder: Any, path: str) -> Any:
    """Follow attribute names (or keys) separated by dots; None when one is missing."""
    for name in path.split("."):
        try:
            holder = (
                holder[name] if isinstance(holder, Mapping) else getattr(holder, name)
            )
        except Exception:  # noqa: BLE001 - properties of foreign objects may raise anything
            return None
        if holder is None:
            return None
    return holder


def attributes(errors: Sequence[BaseException]) -> dict[str, Any]:
    """Return the fields that attributes of the exceptions give, outermost first."""
    found: dict[str, Any] = {}
    for error in errors:
        for name, value in _fields(error):
            if value is not None:
                found.setdefault(name, value)
    return found


def _fields(error: BaseException) -> Iterator[tuple[str, Any]]:
    family = _family(error)
    yield "family", family
    yield "error_code", _code(error, family)
    if family not in ("mysql", "grpc", "smtp"):
        yield "http_status", _status(error)
    yield "sqlstate", None if family == "mysql" else _state(error)
    if isinstance(error, OSError) and family != "smtp":
        yield "errno", error.errno
    yield "exit_code", _integer(safely(error, "returncode"))
    yield "command", _command(safely(error, "cmd"))
    yield from _response(error)


def _family(error: BaseException) -> str | None:
    roots = [kind.__module__.split(".")[0] for kind in type(error).__mro__]
    return next((family for prefix, family in _FAMILIES if prefix in roots), None)


def _code(error: BaseException, family: str | None) -> str | None:
    """Return the vendor's own code of the error, in words."""
    if family == "mysql":
        number = _integer(safely(error, "errno")) or _integer(
            next(iter(error.args), None)
        )
        return None if number is None else str(number)
    paths = (
        "response.Error.Code",
        "error.code",
        "sqlite_errorname",
        "smtp_code",
        "code",
    )
    for path in paths:
        if (code := _as_code(safely(error, path))) is not None:
            return code
    return _prefix(error) if family == "redis" else None


def _as_code(value: Any) -> str | None:
    if callable(value):
        value = _called(value)
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return grpc_name(name) or name
    is_plain = isinstance(value, str | int) and not isinstance(value, bool)
    return str(value) if is_plain else None


def _called(method: Any) -> Any:
    if not callable(method):
        return None
    try:
        return method()
    except Exception:  # noqa: BLE001 - a foreign method may raise anything
        return None


def _prefix(error: BaseException) -> str | None:
    match = re.match(r"[A-Z]{2,}\b", words(error))
    return match[0] if match else None


def _status(error: BaseException) -> int | None:
    paths = (*_STATUS_PATHS, "response.ResponseMetadata.HTTPStatusCode", "code")
    statuses = (_integer(safely(error, path)) for path in paths)
    return next((s for s in statuses if s is not None and 100 <= s < 600), None)  # noqa: PLR2004


def _state(error: BaseException) -> str | None:
    states = (safely(error, path) for path in _STATE_PATHS)
    return next((state for state in states if isinstance(state, str) and state), None)


def _integer(value: Any) -> int | None:
    return (
        int(value) if isinstance(value, int) and not isinstance(value, bool) else None
    )


def _command(value: Any) -> str | None:
    parts = value if isinstance(value, list | tuple) else str(value or "").split()
    return str(parts[0]) if parts else None


def _response(error: BaseException) -> Iterator[tuple[str, Any]]:
    headers = safely(error, "response.headers") or safely(error, "headers")
    headers = headers or safely(error, "response.ResponseMetadata.HTTPHeaders")
    if isinstance(headers, Mapping) or hasattr(headers, "items"):
        plain = {str(key).lower(): str(value) for key, value in headers.items()}
        yield "headers", plain
        yield "content_type", plain.get("content-type", "").split(";")[0] or None
    body = _body(error)
    yield "body_head", body if isinstance(body, str) else None
    parsed = embedded_object(body) if isinstance(body, str) else body
    yield from body_fields(parsed).items()


def _body(error: BaseException) -> Any:
    for path in _BODY_PATHS:
        value = safely(error, path)
        if isinstance(value, bytes):
            return value[:500].decode("utf-8", "replace")
        if isinstance(value, str | Mapping):
            return value
    return None
