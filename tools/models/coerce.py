"""Fit a decoded value to a schema where that loses nothing; pydantic is the judge.

Every change answers one error that pydantic reported and is kept only if that error
is gone afterwards, so a text field that looks like JSON is never touched.
"""

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

T = TypeVar("T", bound=BaseModel)
Location = tuple[int | str, ...]
ROUNDS = 5
"""Nesting of strings in strings that is still unwrapped."""
PLACEHOLDERS: tuple[Any, ...] = (None, "", {}, [], "null", "None", "N/A")
MAX_PROBLEMS = 12
MAX_MENDED = 40
"""Errors of one answer that are looked at; each costs a copy of it."""


class _Absent:
    """Says that the key should go, so that the default holds."""


ABSENT = _Absent()
UNCHANGED = _Absent()


def fit(data: Any, schema: type[T]) -> T:
    """Return the value as an instance of the schema.

    Raises:
        ValidationError: It does not fit, even after lossless changes.
    """
    current = copy.deepcopy(data)
    for _ in range(ROUNDS):
        try:
            return schema.model_validate(current)
        except ValidationError as error:
            mended = _mend(current, error, schema)
        if mended is None:
            break
        current = mended
    return schema.model_validate(current)


def _mend(data: Any, error: ValidationError, schema: type[BaseModel]) -> Any | None:
    """Return a changed copy with fewer errors of the kinds we know, or None."""
    changed, any_change = data, False
    for detail in error.errors(include_url=False)[:MAX_MENDED]:
        candidate = _changed(changed, detail)
        if candidate is not None and _better(candidate, detail, schema):
            changed, any_change = candidate, True
    return changed if any_change else None


def _changed(data: Any, detail: ErrorDetails) -> Any | None:
    fix = FIXES.get(detail["type"])
    path = _real_path(data, detail["loc"])
    if fix is None or path is None or detail["type"] == "missing":
        return None
    value = fix(detail["input"], detail)
    if value is UNCHANGED:
        return None
    return _with(data, path, value)


def _better(data: Any, detail: ErrorDetails, schema: type[BaseModel]) -> bool:
    """Say whether the reported error is gone, and no key is missed instead."""
    try:
        schema.model_validate(data)
    except ValidationError as error:
        left = {(each["type"], each["loc"]) for each in error.errors(include_url=False)}
        where = detail["loc"]
        return (detail["type"], where) not in left and ("missing", where) not in left
    return True


def _real_path(data: Any, location: Location) -> Location | None:
    """Return the part of a pydantic location that exists in the data.

    Locations also name members of unions and kinds of key; those are left out.
    """
    path: list[int | str] = []
    for part in location:
        if isinstance(data, dict) and part in data:
            data = data[str(part)]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            continue
        path.append(part)
    return tuple(path) or None


def _with(data: Any, path: Location, value: Any) -> Any:
    changed = copy.deepcopy(data)
    holder = changed
    for part in path[:-1]:
        holder = holder[part]
    if value is not ABSENT:
        holder[path[-1]] = value
    elif isinstance(holder, dict):
        del holder[path[-1]]
    return changed


def _decoded(kinds: tuple[type, ...]) -> Callable[[Any, ErrorDetails], Any]:
    """Make a fix: text that decodes to what is expected; a placeholder is absent."""

    def fix(value: Any, _detail: ErrorDetails) -> Any:
        if isinstance(value, str):
            try:
                decoded = json.loads(value, strict=False)
            except ValueError:
                decoded = None
            if isinstance(decoded, kinds):
                return decoded
        return ABSENT if value in PLACEHOLDERS else UNCHANGED

    return fix


def _scalar(value: Any, _detail: ErrorDetails) -> Any:
    """Convert a number or truth value written as text, if nothing is lost."""
    if value in PLACEHOLDERS:
        return ABSENT
    if not isinstance(value, str):
        return UNCHANGED
    try:
        decoded = json.loads(value.strip().lower().replace(",", ""))
    except ValueError:
        return UNCHANGED
    if isinstance(decoded, float) and decoded.is_integer():
        return int(decoded)
    return decoded if isinstance(decoded, int | float) else UNCHANGED


def _text(value: Any, _detail: ErrorDetails) -> Any:
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return str(value)
    return ABSENT if value in PLACEHOLDERS else UNCHANGED


def _choice(value: Any, detail: ErrorDetails) -> Any:
    """Take the one allowed word that differs only in case, blanks or dashes."""
    if not isinstance(value, str):
        return ABSENT if value in PLACEHOLDERS else UNCHANGED
    allowed = _words(str(detail.get("ctx", {}).get("expected", "")))
    near = [word for word in allowed if _plain(word) == _plain(value)]
    if len(near) == 1:
        return near[0]
    return ABSENT if value in PLACEHOLDERS else UNCHANGED


def _words(expected: str) -> list[str]:
    """Split pydantic's `'a', 'b' or 'c'`."""
    return expected.split("'")[1::2]


def _plain(word: str) -> str:
    return word.strip().casefold().replace("-", "_").replace(" ", "_")


LISTS = _decoded((list,))
OBJECTS = _decoded((dict,))
FIXES: dict[str, Callable[[Any, ErrorDetails], Any]] = {
    "list_type": LISTS,
    "tuple_type": LISTS,
    "set_type": LISTS,
    "frozen_set_type": LISTS,
    "dict_type": OBJECTS,
    "model_type": OBJECTS,
    "model_attributes_type": OBJECTS,
    "dataclass_type": OBJECTS,
    "int_type": _scalar,
    "int_parsing": _scalar,
    "float_type": _scalar,
    "float_parsing": _scalar,
    "bool_type": _scalar,
    "bool_parsing": _scalar,
    "string_type": _text,
    "enum": _choice,
    "literal_error": _choice,
}
"""Error type of pydantic → the change that may answer it."""


def problems_of(error: ValidationError) -> tuple[str, ...]:
    """Return one short line for each misfit, fit to be shown to the model."""
    details = error.errors(include_url=False)
    lines = [_line(detail) for detail in details[:MAX_PROBLEMS]]
    more = len(details) - len(lines)
    return (*lines, f"and {more} more") if more > 0 else tuple(lines)


def _line(detail: ErrorDetails) -> str:
    where = _dotted(detail["loc"])
    if detail["type"] == "missing":
        return f"{where}: this field is required and missing"
    given = repr(detail["input"])
    shown = given if len(given) <= 60 else f"{given[:57]}..."  # noqa: PLR2004  a line
    return f"{where}: {detail['msg']}, got {shown}"


def _dotted(location: Sequence[int | str]) -> str:
    return ".".join(map(str, location)) or "the whole answer"
