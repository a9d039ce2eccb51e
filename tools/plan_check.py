"""Everything a plan is refused for before anything runs (F02), a sentence each.

Structure is judged by `mendgraph.state.algebra`; here come tools, argument schemas,
bindings and rules. Every message names the step.
"""

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial

from pydantic import ValidationError

from mendgraph.state.algebra import PlanError, ancestors, structural_problems
from mendgraph.state.limits import Limits
from mendgraph.state.plan import Plan, Risk, Step, SubTask
from mendgraph.tools.bindings import templates
from mendgraph.tools.cel import (
    Expression,
    RuleError,
    compile_rule,
    indexed,
    macro_names,
)
from mendgraph.tools.registry import Registry

ALIASES = ("depends_on", "fallback_strategy", "risk_level")
"""Names of step fields in the documents' form that a typing error may come near."""
_NUMBERED = re.compile(r"(?<![\w.])\d+(?:\.[A-Za-z_]|\[)")
"""A field read of a number, which compiles and never has a value."""
Late = Callable[[frozenset[str]], list[str]]
"""Steps that are read → those among them that do not come before the reader."""
RULE_NAMES = frozenset({"output", "args", "error", "steps", "tool", "output_count"})
"""Names a rule may use besides steps and the variables of its own macros."""


def check_plan(
    plan: Plan, registry: Registry, limits: Limits, *, strict_risk: bool = False
) -> Plan:
    """Return the plan if it may run.

    Args:
        plan: What was given or proposed.
        registry: The tools allowed for this task.
        limits: Its `steps` cap counts here.
        strict_risk: High-risk steps must have a fallback or say why not (F03).

    Raises:
        PlanError: It may not; every fault is named.
    """
    problems = plan_problems(plan, registry, limits, strict_risk=strict_risk)
    if problems:
        raise PlanError(problems)
    return plan


def plan_problems(
    plan: Plan, registry: Registry, limits: Limits, *, strict_risk: bool = False
) -> list[str]:
    """Return all faults of a plan; bindings are judged once the structure is sound."""
    problems = structural_problems(plan, limits.steps)
    problems += _misspelt("the plan", plan)
    for step in plan.steps:
        problems += _misspelt(f"step {step.id!r}", step)
        problems += _tool_problems(step, registry, limits)
        if strict_risk:
            problems += _risk_problems(step)
    if problems:
        return problems
    known = frozenset(plan.ids)
    return [p for step in plan.steps for p in _reference_problems(plan, step, known)]


def _misspelt(where: str, part: Plan | Step) -> list[str]:
    """Return unknown fields that are nearly known ones; others are kept as extras."""
    known = (*type(part).model_fields, *ALIASES)
    near = {n: get_close_matches(n, known, n=1, cutoff=0.8) for n in part.extras}
    return [
        f"{where} has a field {name!r}; did you mean {found[0]!r}?"
        for name, found in near.items()
        if found
    ]


def _subtask_problems(
    step: Step, task: SubTask, registry: Registry, limits: Limits
) -> list[str]:
    unknown = [name for name in task.tools if name not in registry]
    problems = [f"its sub-task may not use {name!r}" for name in unknown]
    if limits.depth < 1:
        problems.append("sub-tasks may not be nested any deeper")
    if task.acceptance:
        try:
            compile_rule(task.acceptance)
        except RuleError as error:
            problems.append(f"acceptance: {error}")
    if task.plan is not None and not problems:
        problems += _inner_problems(task, registry, limits)
    return [f"step {step.id!r}: {problem}" for problem in problems]


def _inner_problems(task: SubTask, registry: Registry, limits: Limits) -> list[str]:
    try:
        inner = Plan.model_validate(task.plan)
    except ValidationError as error:
        return [f"the plan of its sub-task: {error.errors()[0]['msg']}"]
    narrowed, less = (
        registry.narrowed(task.tools),
        limits.but(depth=limits.depth - 1),
    )
    return [f"in its sub-task: {each}" for each in plan_problems(inner, narrowed, less)]


def _tool_problems(step: Step, registry: Registry, limits: Limits) -> list[str]:
    if step.subtask is not None:
        return _subtask_problems(step, step.subtask, registry, limits)
    if step.tool is None:
        return [f"step {step.id!r} names no tool and has no sub-task"]
    if step.tool not in registry:
        known = ", ".join(sorted(registry.names)) or "none"
        return [
            f"step {step.id!r}: no tool is called {step.tool!r}; there are: {known}"
        ]
    problems = registry.get(step.tool).template_problems(step.inputs)
    fallback = step.fallback
    if fallback and fallback.tool and fallback.tool not in registry:
        problems.append(f"its fallback names no tool: {fallback.tool!r}")
    return [f"step {step.id!r}: {problem}" for problem in problems]


def _risk_problems(step: Step) -> list[str]:
    covered = step.fallback or step.no_fallback_reason or step.subtask
    if step.risk is not Risk.HIGH or covered:
        return []
    return [
        f"step {step.id!r} is of high risk; give it a fallback or a no_fallback_reason"
    ]


def _reference_problems(plan: Plan, step: Step, known: frozenset[str]) -> list[str]:
    fallback = step.fallback.inputs if step.fallback else {}
    late = partial(_not_before, plan, step)
    problems: list[str] = []
    for what, sources in (
        ("input", templates(step.templates)),
        ("fallback input", templates(fallback)),
        ("precondition_rule", filter(None, [step.precondition_rule])),
        ("validation_rule", filter(None, [step.validation_rule])),
    ):
        problems += [
            f"step {step.id!r}, {what}: {problem}"
            for source in sources
            for problem in _judge(source, step.id, late, known, rule="rule" in what)
        ]
    return problems


def _not_before(plan: Plan, step: Step, read: frozenset[str]) -> list[str]:
    """Return which of these steps do not come before one; most are next to it."""
    far = read - frozenset(step.dependencies)
    return sorted(far - ancestors(plan, step.id)) if far else []


def _judge(
    source: str, own: str, late: Late, known: frozenset[str], *, rule: bool
) -> list[str]:
    try:
        expression = compile_rule(source)
    except RuleError as error:
        return [f"{error}{_remedy(source, known, rule=rule)}"]
    return _judge_one(expression, own, late, known, rule=rule)


def _remedy(source: str, known: frozenset[str], *, rule: bool) -> str:
    """Return how to write steps whose ids are no names to CEL; empty without any."""
    written = indexed(source, known)
    if written is None:
        return ""
    return f"; write {written}" if rule else f"; write {{{{ {written} }}}}"


def _judge_one(
    expression: Expression,
    own: str,
    late: Late,
    known: frozenset[str],
    *,
    rule: bool,
) -> list[str]:
    read = expression.step_references(known)
    source = expression.source
    problems = [
        f"{source!r} reads step {i!r}, which does not come before {own!r}; "
        "add it to the dependencies"
        for i in late(read)
    ]
    if expression.reads_steps_dynamically():
        problems.append(f'{source!r} must name steps literally, as steps["id"]')
    free = expression.names() - known - RULE_NAMES - macro_names(source)
    if not rule:
        free |= expression.names() & (RULE_NAMES - {"steps"}) - known
    remedy = _remedy(source, known, rule=rule) if free else ""
    problems += [
        f"{source!r} uses {n!r}, which is no step{remedy}" for n in sorted(free)
    ]
    return problems + _of_numbers(source, known, rule=rule)


def _of_numbers(source: str, known: frozenset[str], *, rule: bool) -> list[str]:
    """Return what is wrong where a field of a number is read that is a step's id."""
    if not _NUMBERED.search(source):
        return []
    numbers = frozenset(filter(str.isdecimal, known))
    remedy = _remedy(source, numbers, rule=rule)
    return [f"{source!r} reads a field of a number{remedy}"] if remedy else []
