"""What is wrong with a policy, said before any tool is called.

A rule that does not compile would otherwise be met after the effect it judges.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import ValidationError

from mendgraph.state.policy import ToolPolicy
from mendgraph.state.record import Record
from mendgraph.tools.bindings import expressions
from mendgraph.tools.cel import RuleError, compile_rule, macro_names

if TYPE_CHECKING:
    from mendgraph.tools.registry import Entry

BY_CALL = ("confirm_with", "compensate_with")
OWN_RULES = ("final_when", "pending_when", "failed_when")
CONFIRM_RULES = ("done_when", "failed_when", "absent_when")
OUTPUT_NAMES = frozenset({"output", "args", "output_count"})
"""Names a policy's rule may use."""


def policy_problems(entry: "Entry", known: Mapping[str, "Entry"]) -> list[str]:
    """Return what is wrong with a tool's policy, a sentence each.

    Args:
        entry: The tool with its policy.
        known: All tools by name.
    """
    policy = entry.policy
    return [
        *_call_problems(policy, known),
        *_rule_problems(policy),
        *_schema_problems(policy),
        *_key_problems(entry),
    ]


def _call_problems(policy: ToolPolicy, known: Mapping[str, "Entry"]) -> Iterator[str]:
    if policy.fallback and policy.fallback not in known:
        yield f"fallback names no tool: {policy.fallback!r}"
    for role in BY_CALL:
        call = getattr(policy, role)
        if call is None:
            continue
        if call.tool not in known:
            yield f"{role} names no tool: {call.tool!r}"
            continue
        try:
            list(expressions(call.arguments))
        except RuleError as error:
            yield f"{role}.arguments: {error}"
        for problem in known[call.tool].template_problems(call.arguments):
            yield f"{role}.arguments: {problem}"


def _rule_problems(policy: ToolPolicy) -> Iterator[str]:
    for field in OWN_RULES:
        yield from rule_problems(field, getattr(policy, field), OUTPUT_NAMES)
    for field in CONFIRM_RULES if policy.confirm_with else ():
        rule = getattr(policy.confirm_with, field)
        yield from rule_problems(f"confirm_with.{field}", rule, OUTPUT_NAMES)


def rule_problems(field: str, rule: str | None, names: frozenset[str]) -> Iterator[str]:
    """Yield why a rule cannot be used: it does not compile, or uses other names."""
    if not rule:
        return
    try:
        used = compile_rule(rule).names() - macro_names(rule)
    except RuleError as error:
        yield f"{field}: {error}"
        return
    for name in sorted(used - names):
        yield f"{field}: {rule!r} uses {name!r}; there are: {', '.join(sorted(names))}"


def _schema_problems(policy: ToolPolicy) -> Iterator[str]:
    try:
        Draft202012Validator.check_schema(policy.output_schema or {})
    except SchemaError as error:
        yield f"output_schema is no JSON Schema: {error.message}"


def _key_problems(entry: "Entry") -> Iterator[str]:
    """Yield why the idempotency key cannot be passed; it would be lost silently."""
    name = entry.policy.idempotency_arg
    taken = entry.arguments
    if name and taken is not None and name not in taken:
        shown = ", ".join(sorted(taken)) or "none"
        yield f"idempotency_arg names no argument: {name!r}; there are: {shown}"


def readable(error: ValidationError, record: type[Record]) -> str:
    """Return what is wrong with the fields of a record, in one line."""
    return "; ".join(_fault(fault, record) for fault in error.errors(include_url=False))


def _fault(fault: Any, record: type[Record]) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] != "extra_forbidden":
        return f"{where}: {fault['msg']}"
    near = get_close_matches(where, record.model_fields, n=1)
    hint = f"did you mean {near[0]!r}?" if near else _listing(record)
    return f"there is no field {where!r}; {hint}"


def _listing(record: type[Record]) -> str:
    return f"there are: {', '.join(record.model_fields)}"
