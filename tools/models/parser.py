"""Turn a model's text into a record, or say why it cannot be one.

The faults of model output are handled here and nowhere else: fences, reasoning that
leaks, prose around JSON, wrong scalar types, strings in place of lists, placeholders,
bad escapes, tool-call markup. What was cut off is never repaired or accepted.
"""

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mendgraph.state.wellformed import well_formed
from mendgraph.tools.models.coerce import fit, problems_of
from mendgraph.tools.models.errors import (
    ModelBlank,
    ModelError,
    ModelOutputInvalid,
    ModelTruncated,
)
from mendgraph.tools.models.extract import Found, find_json
from mendgraph.tools.models.markup import calls_in, has_markup

T = TypeVar("T", bound=BaseModel)

THINK = re.compile(
    r"\s*<(think|thinking|reasoning)>(.*?)</\1>", re.DOTALL | re.IGNORECASE
)
THINK_OPEN = re.compile(r"\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)
THINK_CLOSE = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
AFTER_JSON = re.compile(r"[\s`]*\Z")
CUT_OFF = "the JSON ends before it is complete"


def split_reasoning(text: str) -> tuple[str, str]:
    """Return (reasoning, answer) of a text whose reasoning leaked in front.

    Only leading blocks count: the same tag inside a JSON string stays where it is.
    A block that never closes is all reasoning.
    """
    thoughts: list[str] = []
    while block := THINK.match(text):
        thoughts.append(block[2].strip())
        text = text[block.end() :]
    if opened := THINK_OPEN.match(text):
        return "\n".join([*thoughts, text[opened.end() :].strip()]), ""
    closed = None if text.lstrip()[:1] in {"{", "[", "`"} else THINK_CLOSE.search(text)
    if closed and find_json(text[closed.end() :]).values:
        thoughts.append(text[: closed.start()].strip())
        text = text[closed.end() :]
    return "\n".join(thoughts), text


def parse(text: str, schema: type[T], *, finish_reason: str | None = None) -> T:
    """Return the one record that the text holds.

    Args:
        text: What the model wrote.
        schema: The record expected; it decides which changes are lossless.
        finish_reason: As the provider gave it; `length` refuses the text unread.

    Raises:
        ModelTruncated: The text was cut off.
        ModelBlank: There is no text.
        ModelOutputInvalid: No part of it, or more than one, fits the schema.
    """
    if finish_reason in {"length", "max_tokens", "MAX_TOKENS"}:
        raise ModelTruncated(f"finish_reason is {finish_reason}")
    reasoning, answer = split_reasoning(well_formed(text))
    if not answer.strip():
        return _from_reasoning(reasoning, schema)
    found = find_json(answer)
    fitting, refusals = _fitting(found.values, schema)
    if not found.cut_off and len(fitting) == 1:
        return fitting[0]
    if found.cut_off:
        raise ModelTruncated(CUT_OFF)
    if len(fitting) > 1:
        raise _invalid("several different JSON objects; give exactly one")
    if has_markup(answer):
        return _from_markup(answer, schema)
    raise _refusal(found, refusals, schema)


def _fitting(
    values: tuple[Any, ...], schema: type[T]
) -> tuple[list[T], list[ValidationError]]:
    """Sort values into different records that fit and reasons why others do not."""
    records: list[T] = []
    refusals: list[ValidationError] = []
    for value in values:
        try:
            record = fit(value, schema)
        except ValidationError as error:
            refusals.append(error)
        else:
            records += [] if record in records else [record]
    return records, refusals


def _from_reasoning(reasoning: str, schema: type[T]) -> T:
    """Take an answer only if the reasoning that never closed ends with it."""
    if not reasoning.strip():
        raise ModelBlank("the answer is blank")
    found = find_json(reasoning)
    if found.cut_off:
        raise ModelTruncated(CUT_OFF)
    if not found.values or not AFTER_JSON.match(reasoning, found.end):
        raise ModelBlank("the answer is reasoning only")
    fitting, refusals = _fitting(found.values[-1:], schema)
    if fitting:
        return fitting[0]
    raise _refusal(found, refusals, schema)


def _from_markup(text: str, schema: type[T]) -> T:
    """Take the arguments of the one call in the text, judged like any answer."""
    fitting, _ = _fitting(tuple(args for _, args in calls_in(text)), schema)
    if len(fitting) == 1:
        return fitting[0]
    raise _invalid("tool-call markup instead of a JSON object; call no tool")


def _refusal(
    found: Found, refusals: list[ValidationError], schema: type[BaseModel]
) -> ModelError:
    if not refusals:
        return _invalid(*found.broken, "there is no JSON object in the answer")
    problems = problems_of(refusals[-1])
    keys = ", ".join(field.alias or name for name, field in schema.model_fields.items())
    return _invalid(*problems, f"expected keys: {keys}")


def _invalid(*problems: str) -> ModelOutputInvalid:
    return ModelOutputInvalid("; ".join(problems)[:600], problems=tuple(problems))


def parse_arguments(raw: str | None, schema: type[T]) -> T:
    """Return tool arguments as a record; nothing at all stands for an empty object.

    Text after the first object is dropped only if it repeats it or is no JSON.

    Raises:
        ModelTruncated: The arguments were cut off.
        ModelOutputInvalid: They are no object, or one that does not fit.
    """
    text = (raw or "").strip()
    if not text:
        text = "{}"
    try:
        whole = json.loads(text, strict=False)
    except ValueError:
        return parse(text, schema)
    if not isinstance(whole, dict):
        kind = type(whole).__name__
        raise _invalid(f"arguments must be one JSON object, got {kind}")
    return parse(text, schema)
