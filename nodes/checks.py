"""The monitor's checks: rules on a result, no model (F19, F22).

Each check looks at one thing and says what is wrong, or nothing. The deviation is the
share of applicable checks that failed, as in the adaptive planning document (10.7).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any

from jsonschema import Draft202012Validator
from pydantic_core import to_json

from mendgraph.state.plan import Step
from mendgraph.state.policy import ToolPolicy
from mendgraph.state.record import Record
from mendgraph.tools.cel import RuleError, bounded_view, compile_rule
from mendgraph.tools.cel_view import variables_for

NULLS_ALLOWED = 0.10
"""Share of nulls in a required field from which on a result is incomplete."""
SCANNED_ROWS = 1_000
MAY_BE_MEANT = 2
"""Replacement characters up to which a text may quote them on purpose."""
FILE_KEYS = ("path", "file", "filename", "file_path")
SIZE_KEYS = ("size_bytes", "bytes", "size")
ROW_KEYS = ("rows", "row_count", "records", "items", "data", "results")


@dataclass(frozen=True)
class Seen:
    """What the checks look at."""

    step: Step
    policy: ToolPolicy
    output: Any
    arguments: Mapping[str, Any]
    upstream: Mapping[str, Any]

    @property
    def may_be_empty(self) -> bool:
        """An empty result is a legitimate answer here."""
        if self.step.may_be_empty is not None:
            return self.step.may_be_empty
        return self.policy.may_be_empty

    @property
    def required(self) -> tuple[str, ...]:
        """Fields that must be there."""
        return tuple(
            dict.fromkeys((*self.policy.required_fields, *self.step.required_fields))
        )

    @cached_property
    def null_shares(self) -> dict[str, float | None]:
        """Required field → share of rows without it, 0..1; None when no row has it.

        Looked at are the first thousand rows; results without rows have none.
        """
        rows = (row_list(self.output) or [])[:SCANNED_ROWS]
        if not rows:
            return {}
        counts = {name: nulls_of(rows, name) for name in self.required}
        return {n: None if c is None else c / len(rows) for n, c in counts.items()}


class Check(Record):
    """One applicable check and what it found."""

    name: str
    problem: str | None = None


class Verdict(Record):
    """All checks of one result."""

    checks: tuple[Check, ...]
    rows: int | None = None
    size_bytes: int | None = None
    empty: bool = False
    null_share: float = 0.0
    """Largest share of rows, 0..1, in which a required field is null."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, a sentence each."""
        return tuple(check.problem for check in self.checks if check.problem)

    @property
    def failed(self) -> frozenset[str]:
        """Names of the checks that failed."""
        return frozenset(check.name for check in self.checks if check.problem)

    @property
    def deviation(self) -> float:
        """Share of applicable checks that failed, 0..1."""
        return len(self.failed) / len(self.checks) if self.checks else 0.0


@lru_cache(maxsize=512)
def _validator(schema: bytes) -> Draft202012Validator:
    import json

    return Draft202012Validator(json.loads(schema))


def _schema(seen: Seen) -> Iterator[str | None]:
    if seen.policy.output_schema is None:
        return
    validator = _validator(to_json(seen.policy.output_schema))
    error = next(validator.iter_errors(seen.output), None)
    path = ".".join(str(p) for p in error.absolute_path) if error else ""
    yield f"schema: {path or 'output'}: {error.message[:200]}" if error else None


def _required(seen: Seen) -> Iterator[str | None]:
    for name in seen.required:
        if isinstance(seen.output, Mapping) and name in seen.output:
            missing = seen.output[name] is None
            yield f"required field {name!r} is null" if missing else None
        else:
            yield _null_share(seen.null_shares.get(name), name)


def _null_share(share: float | None, name: str) -> str | None:
    if share is None:
        return f"required field {name!r} is missing"
    if share < NULLS_ALLOWED:
        return None
    return f"required field {name!r} is null in {share:.0%} of the rows"


def nulls_of(rows: list[Any], name: str) -> int | None:
    """Return in how many rows a field is null or missing; None when no row has it."""
    try:
        return list(map(itemgetter(name), rows)).count(None)
    except (KeyError, TypeError, IndexError):  # not every row is an object with it
        held = [row for row in rows if type(row) is dict and name in row]
    found = [row[name] for row in held if row[name] is not None]
    return len(rows) - len(found) if held else None


def _rows(seen: Seen) -> Iterator[str | None]:
    count = row_count(seen.output)
    if count is not None and not seen.may_be_empty:
        yield None if count > 0 else "the result has no rows"


def _file(seen: Seen) -> Iterator[str | None]:
    size = file_size(seen.output)
    if size is None:
        return
    least = max(seen.step.min_expected_size or 0, 0 if seen.may_be_empty else 1)
    if size >= least:
        yield None
    else:
        yield f"the file has {size} bytes; at least {least} were expected"


def _nothing(seen: Seen) -> Iterator[str | None]:
    measured = row_count(seen.output) is not None or file_size(seen.output) is not None
    if measured or seen.may_be_empty or seen.policy.has_effect:
        return
    blank = seen.output is None or seen.output in ("", [], {})
    yield "the tool returned nothing" if blank else None


def _error_text(seen: Seen) -> Iterator[str | None]:
    """Find a tool that says success and means an error (MCP without isError)."""
    found = error_inside(seen.output)
    if found:
        yield f"the result carries an error: {found[:300]}"


def _encoding(seen: Seen) -> Iterator[str | None]:
    if isinstance(seen.output, str):
        bad = seen.output.count("�")
        yield f"{bad} characters could not be decoded" if bad > MAY_BE_MEANT else None


def _rule(seen: Seen) -> Iterator[str | None]:
    if not seen.step.validation_rule:
        return
    known = {
        **{k: v for k, v in seen.upstream.items() if k.isidentifier()},
        "args": dict(seen.arguments),
        "output": seen.output,
    }
    try:
        variables = variables_for(seen.step.validation_rule, known)
    except RuleError as error:
        yield f"validation_rule: {error}"
        return
    if "steps" in compile_rule(seen.step.validation_rule).names():
        steps = {k: bounded_view(v) for k, v in seen.upstream.items()}
        variables = {**variables, "steps": steps}
    yield _holds(seen.step.validation_rule, variables)


def _holds(source: str, variables: Mapping[str, Any]) -> str | None:
    try:
        held = compile_rule(source).holds(variables)
    except RuleError as error:
        return f"validation_rule: {error}"
    return None if held else f"validation_rule does not hold: {source}"


def _business(seen: Seen) -> Iterator[str | None]:
    rule = seen.policy.failed_when
    if rule and condition(rule, seen.output, seen.arguments):
        yield f"the business status is a failure ({rule})"


CHECKS: tuple[tuple[str, Callable[[Seen], Iterator[str | None]]], ...] = (
    ("schema", _schema),
    ("required", _required),
    ("rows", _rows),
    ("file", _file),
    ("nothing", _nothing),
    ("error_text", _error_text),
    ("encoding", _encoding),
    ("rule", _rule),
    ("business", _business),
)
"""All checks, in the order they are made."""

HARD = frozenset({"schema", "required", "error_text", "business"})
"""Checks whose failure is a hard trigger (5.1); the others are completeness."""


def inspect(seen: Seen) -> Verdict:
    """Make every check that applies to a result."""
    checks = tuple(
        Check(name=name, problem=problem)
        for name, check in CHECKS
        for problem in check(seen)
    )
    count, size = row_count(seen.output), file_size(seen.output)
    return Verdict(
        checks=checks,
        rows=count,
        size_bytes=size,
        empty=count == 0 or size == 0,
        null_share=max((s or 0.0 for s in seen.null_shares.values()), default=0.0),
    )


def condition(source: str, output: Any, arguments: Mapping[str, Any]) -> bool:
    """Tell whether a policy condition holds; one that cannot be judged does not."""
    known = {"output": output, "args": dict(arguments)}
    try:
        return compile_rule(source).holds(variables_for(source, known))
    except RuleError:
        return False


def row_list(output: Any) -> list[Any] | None:
    """Return the rows of a result, where it has a list of them."""
    if isinstance(output, list):
        return output
    if isinstance(output, Mapping):
        for key in ROW_KEYS:
            if isinstance(output.get(key), list):
                return list(output[key])
    return None


def row_count(output: Any) -> int | None:
    """Return the number of rows a result has or says it has."""
    if isinstance(output, Mapping):
        for key in ("row_count", "rows"):
            value = output.get(key)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    rows = row_list(output)
    return None if rows is None else len(rows)


def file_size(output: Any) -> int | None:
    """Return the size in bytes of the file a result tells of."""
    if not isinstance(output, Mapping) or not any(k in output for k in FILE_KEYS):
        return None
    for key in SIZE_KEYS:
        value = output.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def error_inside(output: Any) -> str | None:
    """Return the error a result carries although the call returned."""
    if not isinstance(output, Mapping):
        return None
    if output.get("isError") is True or output.get("is_error") is True:
        return str(output.get("content") or output.get("message") or output)
    error = output.get("error")
    if error and not any(output.get(key) for key in ("result", "data", "rows")):
        return str(error.get("message", error) if isinstance(error, Mapping) else error)
    return None
