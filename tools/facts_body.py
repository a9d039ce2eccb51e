"""Read the error object in a JSON body, whatever shape the vendor gave it."""

import ast
import json
from collections.abc import Mapping
from typing import Any

_LONGEST = 20_000


def embedded_object(text: str) -> Any:
    """Return the first JSON or Python literal object inside the text, or None."""
    start = text.find("{")
    if start < 0:
        return None
    tail = text[start : start + _LONGEST]
    try:
        return json.JSONDecoder().raw_decode(tail)[0]
    except ValueError:
        return _literal(tail)


def _literal(tail: str) -> Any:
    end = tail.rfind("}")
    try:
        return ast.literal_eval(tail[: end + 1])
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def body_fields(body: Any) -> dict[str, Any]:
    """Return `error_type`, `error_code` and `http_status` of an error body.

    Knows OpenAI's `{"error": {…}}`, Google's numeric `code` with `status`, AWS's
    `__type`, OAuth's `error` string and RFC 9457 problem details.
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    error = inner if isinstance(inner, Mapping) else body
    fields = {
        "error_type": _word(error.get("type") or error.get("__type")),
        "error_code": _word(error.get("code")) or _word(error.get("status")),
        "http_status": _status(error.get("code")) or _status(error.get("status")),
    }
    if isinstance(inner, str) and " " not in inner:
        fields["error_code"] = inner
    return {name: value for name, value in fields.items() if value is not None}


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _status(value: Any) -> int | None:
    is_status = isinstance(value, int) and 300 <= value < 600  # noqa: PLR2004
    return value if is_status else None
