"""Read proposed steps, rename what they refer to, and compare plans by shape."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from mendgraph.state.algebra import find_cycle, topological
from mendgraph.state.plan import Plan, Step

_TEMPLATE = re.compile(r"(\{\{\s*)(.+?)(\s*\}\})", re.DOTALL)
_TOKENS = re.compile(
    r"steps\s*\[\s*(?P<quote>[\"'])(?P<indexed>.*?)(?P=quote)\s*\]"
    r"|(?P<literal>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    r"|(?<![\w.])(?P<name>[^\W\d]\w*)"
)
SHAPE_FIELDS = (
    "tool",
    "precondition_rule",
    "validation_rule",
    "timeout_s",
    "required_fields",
    "min_expected_size",
    "may_be_empty",
    "subtask",
    "inputs",
    "fallback",
)
"""Fields of a step that change what happens; words for people are not among them."""


def read_steps(raw: Sequence[Any]) -> tuple[list[Step], list[str]]:
    """Validate proposed steps one by one.

    Returns:
        The steps that are sound, and what is wrong with the others.
    """
    steps: list[Step] = []
    problems: list[str] = []
    for number, fields in enumerate(raw, start=1):
        try:
            steps.append(Step.model_validate(fields))
        except ValidationError as error:
            named = fields.get("id") if isinstance(fields, dict) else None
            problems += [
                f"step {named or number!r}, field {_path(fault)}: {fault['msg']}"
                for fault in error.errors(include_url=False)[:3]
            ]
    return steps, problems


def _path(fault: Mapping[str, Any]) -> str:
    return ".".join(str(part) for part in fault["loc"]) or "(whole step)"


def rename_expression(source: str, names: Mapping[str, str]) -> str:
    """Return a CEL expression that reads other steps instead."""

    def replace(match: re.Match[str]) -> str:
        old = match["indexed"] if match["indexed"] is not None else match["name"]
        new = names.get(old) if old else None
        if new is None:
            return match.group()
        return new if new.isidentifier() and new.isascii() else f"steps[{new!r}]"

    return _TOKENS.sub(replace, source)


def rename_value(value: Any, names: Mapping[str, str]) -> Any:
    """Return input templates that bind to other steps instead, at any depth."""
    if isinstance(value, str):
        return _TEMPLATE.sub(
            lambda m: m[1] + rename_expression(m[2], names) + m[3], value
        )
    if isinstance(value, Mapping):
        return {key: rename_value(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rename_value(item, names) for item in value]
    return value


def refer_to(step: Step, successors: Mapping[str, Sequence[str]]) -> Step:
    """Return the step with every reference to a replaced step led to its successors.

    Dependencies lead to all successors, bindings and rules to the last one. A step
    never comes to refer to itself.
    """
    others = {
        old: [new for new in after if new != step.id]
        for old, after in successors.items()
    }
    others = {old: after for old, after in others.items() if after}
    needed = [new for old in step.dependencies for new in others.get(old, [old])]
    names = {old: after[-1] for old, after in others.items()}
    changes = _renamed(step, names) | {"dependencies": tuple(dict.fromkeys(needed))}
    return step.model_copy(update=changes)


def _renamed(step: Step, names: Mapping[str, str]) -> dict[str, Any]:
    changes: dict[str, Any] = {"inputs": rename_value(step.inputs, names)}
    if step.fallback:
        inputs = rename_value(step.fallback.inputs, names)
        changes["fallback"] = step.fallback.model_copy(update={"inputs": inputs})
    for field in ("precondition_rule", "validation_rule"):
        if source := getattr(step, field):
            changes[field] = rename_expression(source, names)
    return changes


def shape(plan: Plan) -> tuple[str, ...]:
    """Return what a plan does, whatever its steps are called and how they are sorted.

    Two plans have the same shape if the same tools get the same inputs, rules and
    fallbacks in the same order of dependencies. A cyclic plan is told by its ids.
    """
    if find_cycle(plan) or any(set(s.dependencies) - set(plan.ids) for s in plan.steps):
        return tuple(sorted(step.model_dump_json() for step in plan.steps))
    digests: dict[str, str] = {}
    for step in topological(plan):
        names = {i: f"d{digests[i]}" for i in step.dependencies}
        renamed = step.model_copy(update=_renamed(step, names))
        told = renamed.model_dump(mode="json", include=set(SHAPE_FIELDS))
        told["fallback"] = _without_words(told["fallback"])
        told["after"] = sorted(names.values())
        text = json.dumps(told, sort_keys=True, ensure_ascii=False, default=str)
        digests[step.id] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return tuple(sorted(digests.values()))


def _without_words(fallback: dict[str, Any] | None) -> dict[str, Any] | None:
    if fallback is None or fallback["tool"] is None:
        return None
    return {"tool": fallback["tool"], "inputs": fallback["inputs"]}


def critical_length(plan: Plan) -> int:
    """Return the number of steps on the longest chain of dependencies."""
    depth: dict[str, int] = {}
    for step in topological(plan):
        depth[step.id] = 1 + max((depth[i] for i in step.dependencies), default=0)
    return max(depth.values(), default=0)


def reused(ids: Iterable[str], plan: Plan) -> list[str]:
    """Return problems of new ids that were used in this plan or an earlier version."""
    taken = set(plan.ids) | set(plan.retired)
    return [
        f"step id {step_id!r} was used before; give the new step a new id"
        for step_id in ids
        if step_id in taken
    ]
