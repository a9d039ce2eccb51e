"""The parts of prompts: tools, lessons, steps and errors in few tokens, masked."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mendgraph.nodes.context_budget import Item, Line
from mendgraph.nodes.token_cut import clip
from mendgraph.state.failure import Failure
from mendgraph.state.lesson import Found, Reflection
from mendgraph.state.masking import mask, mask_value
from mendgraph.state.outcome import Attempt, StepRecord
from mendgraph.state.plan import Plan, Step
from mendgraph.tools.bindings import expressions
from mendgraph.tools.cel import compile_rule
from mendgraph.tools.models.untrusted import neutralise
from mendgraph.tools.registry import Entry

DESCRIPTION_TOKENS = 60
VALUE_TOKENS = 60
ERROR_TOKENS = 120
STEP_TOKENS = 220
BRIEF_TOKENS = 12
WORDS_FOR_PEOPLE = frozenset({"extras", "expected_ms", "precondition"})


def compact(value: Any) -> str:
    """Return a value as JSON without blanks, masked."""
    plain = mask_value(value)
    return json.dumps(
        plain, ensure_ascii=False, separators=(",", ":"), default=str, sort_keys=False
    )


def signature(entry: Entry) -> str:
    """Return a tool as `name(required: type, optional?: type)`."""
    schema = entry.schema
    required = set(schema.get("required", ())) - {entry.policy.idempotency_arg}
    arguments = [
        f"{name}: {_type(field)}"
        if name in required
        else f"{name}?: {_type(field).removesuffix('|null')}"
        for name, field in schema.get("properties", {}).items()
        if name != entry.policy.idempotency_arg
    ]
    return f"{entry.name}({', '.join(arguments)})"


def short_signature(entry: Entry) -> str:
    """Return a tool as `name(required, …)`, without types."""
    properties = entry.schema.get("properties", {})
    own = entry.policy.idempotency_arg
    required = [name for name in entry.schema.get("required", ()) if name != own]
    optional = len(properties.keys() - {*required, own})
    return f"{entry.name}({', '.join([*required, *(['…'] if optional else [])])})"


def _type(field: Mapping[str, Any]) -> str:
    if choices := field.get("enum"):
        return "|".join(compact(choice) for choice in choices[:8])
    if options := field.get("anyOf"):
        return "|".join(dict.fromkeys(_type(option) for option in options))
    if field.get("type") == "array":
        return f"[{_type(field.get('items', {}))}]"
    return str(field.get("type", "any"))


def tool_item(entry: Entry) -> Item:
    """Return a tool's line for the planner: signature, effect, output, purpose."""
    policy = entry.policy
    fields = (policy.output_schema or {}).get("properties", policy.required_fields)
    output = f" -> {{{', '.join(fields)}}}" if fields else ""
    short = f"- {signature(entry)}{output} [{policy.effect}]"
    purpose = clip(mask(" ".join(entry.tool.description.split())), DESCRIPTION_TOKENS)
    return Item(text=f"{short} {purpose}", short=short)


def lesson_item(found: Found) -> Item:
    """Return a lesson's line, with its id."""
    lesson = found.lesson
    told = f"[{lesson.id}] {lesson.tool or 'any tool'}: {mask(lesson.text)}"
    parts = (told, lesson.issue and f"seen as: {mask(lesson.issue)}", lesson.strategy)
    text = clip("; ".join(part for part in parts if part), 2 * DESCRIPTION_TOKENS)
    return Item(text=text, short="")


def step_json(step: Step, omit: frozenset[str] = frozenset()) -> str:
    """Return a step as the JSON the model writes, defaults left out."""
    told = step.model_dump(mode="json", exclude_defaults=True)
    left_out = WORDS_FOR_PEOPLE | omit
    kept = {key: value for key, value in told.items() if key not in left_out and value}
    return clip(compact(kept), STEP_TOKENS)


def reads(step: Step, ids: frozenset[str]) -> bool:
    """Tell whether a step's inputs or rules refer to one of these steps."""
    rules = [rule for rule in (step.precondition_rule, step.validation_rule) if rule]
    found = (*expressions(step.inputs), *map(compile_rule, rules))
    return any(each.step_references(ids) for each in found)


def step_brief(step: Step) -> str:
    """Return a step in one short line: what is kept by its id."""
    needs = ",".join(step.dependencies)
    words = clip(mask(step.description), BRIEF_TOKENS)
    return f"{step.id}: {step.tool or 'sub-task'} after [{needs}] {words}"


def _short(step: Step) -> str:
    return clip(mask(step.description), 24)


def history(plan: Plan, records: Mapping[str, StepRecord]) -> list[Line]:
    """Return the steps as the planner sees them: those not run, then the others."""
    lines = [_line(step, records.get(step.id)) for step in plan.steps]
    return sorted(lines, key=lambda line: line.status != "pending")


def _line(step: Step, record: StepRecord | None) -> Line:
    status = record.status.value if record else "pending"
    result = clip(_result(record), VALUE_TOKENS) if record else ""
    inputs = clip(compact(step.inputs), VALUE_TOKENS)
    return Line(
        step_id=step.id,
        status=status,
        tool=step.tool,
        detail=f"{step.tool or 'sub-task'}({inputs}) {_short(step)} => {result}",
        conclusion=result or _short(step),
    )


def _result(record: StepRecord) -> str:
    if record.failure:
        return mask(record.failure.facts.message)
    summary = record.summary
    return mask(summary.error_message or summary.output_digest) if summary else ""


def failure_text(failure: Failure) -> str:
    """Return the facts of a failure and what the rules made of it."""
    facts, judged = failure.facts, failure.classification
    told = {
        "message": clip(facts.message, ERROR_TOKENS),
        "http_status": facts.http_status,
        "sqlstate": facts.sqlstate,
        "error_code": facts.error_code,
        "exit_code": facts.exit_code,
        "exceptions": list(facts.exceptions[:3]),
        "body": clip(facts.body_head or "", ERROR_TOKENS),
        "problems": list(facts.problems[:5]),
    }
    known = compact({key: value for key, value in told.items() if value})
    return (
        f"{known}\nrules say: {judged.category}/{judged.subclass} "
        f"(confidence {judged.confidence:.2f}) because {judged.reason}"
    )


def attempt_lines(attempts: Sequence[Attempt], newest: int = 6) -> list[str]:
    """Return what was tried, a line each, the newest last."""
    return [
        f"{each.number}. {each.tier} {each.tool}: {each.status}"
        + _changed(each)
        + (f" ({clip(mask(each.why), 30)})" if each.why else "")
        + (f" -> {clip(mask(each.error), VALUE_TOKENS)}" if each.error else "")
        for each in attempts[-newest:]
    ]


def tried_text(attempts: Sequence[Attempt]) -> str:
    """Return in one line how a step was called, where that was more than once."""
    if len(attempts) < 2:  # noqa: PLR2004  one call is told by its failure
        return ""
    return f"tried: {'; '.join(each.tool + _changed(each) for each in attempts[-6:])}"


def _changed(attempt: Attempt) -> str:
    return f", changed {', '.join(attempt.changed)}" if attempt.changed else ""


def reflection_text(reflection: Reflection) -> str:
    """Return what a reflection concluded; hypotheses are called so."""
    cause = reflection.confirmed_cause
    parts = [
        f"issue: {reflection.observed_issue}",
        f"class: {reflection.category}/{reflection.subclass}",
        f"confirmed cause: {cause}" if cause else "cause: not confirmed",
        *(f"hypothesis: {guess}" for guess in reflection.hypotheses[:3]),
        f"blamed step: {reflection.cause_step}" if reflection.cause_step else "",
        f"advice: {reflection.next_action or reflection.suggested_strategy}",
    ]
    return "\n".join(clip(mask(part), ERROR_TOKENS) for part in parts if part)


def problem_lines(problems: Sequence[str]) -> list[str]:
    """Return what must be mended, bounded; what it quotes cannot end a fence."""
    told = (" ".join(neutralise(mask(each)).split()) for each in problems[:12])
    return [clip(each, 80) for each in told]


def numbered(constraints: Iterable[str], total: int) -> list[str]:
    """Return constraints with the names they are answered by, bounded together."""
    texts = list(constraints)
    each = max(20, total // max(1, len(texts)))
    return [f"c{n}: {clip(mask(t), each)}" for n, t in enumerate(texts, start=1)]
