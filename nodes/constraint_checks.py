"""What a plan violates of the constraints that code understands (F04)."""

from collections.abc import Callable, Iterable
from enum import StrEnum

from mendgraph.state.algebra import ancestors, topological
from mendgraph.state.plan import Plan, Step
from mendgraph.state.policy import Effect
from mendgraph.state.record import Record
from mendgraph.tools.registry import Registry


class Kind(StrEnum):
    """The constraints that code can check."""

    MAX_STEPS = "max_steps"
    FORBIDDEN = "forbidden_tools"
    ONLY = "only_tools"
    MAX_PARALLEL = "max_parallel"
    DEADLINE = "deadline_s"
    BEFORE = "tool_before"
    READ_ONLY = "read_only"
    REVERSIBLE = "no_irreversible"


class Rule(Record):
    """One recognised constraint."""

    kind: Kind
    text: str
    """The user's words."""
    number: float = 0.0
    """Steps, branches or seconds."""
    tools: tuple[str, ...] = ()
    """For an order: the earlier tool, the later tool."""


def tools_of(step: Step) -> frozenset[str]:
    """Return every tool a step may call: its own, its fallback's, its sub-task's."""
    named = [step.tool, step.fallback.tool if step.fallback else None]
    inner = step.subtask.tools if step.subtask else ()
    return frozenset(name for name in (*named, *inner) if name)


def width(plan: Plan) -> int:
    """Return how many steps can at most be under way at once.

    That is the largest antichain: by Dilworth's theorem (1950) the number of steps
    less a maximum matching of the transitive order.
    """
    above = {step.id: ancestors(plan, step.id) for step in plan.steps}
    partner: dict[str, str] = {}
    matched = sum(_augment(step_id, above, partner, set()) for step_id in above)
    return len(above) - matched


def _augment(
    step_id: str,
    above: dict[str, frozenset[str]],
    partner: dict[str, str],
    seen: set[str],
) -> bool:
    for earlier in sorted(above[step_id] - seen):
        seen.add(earlier)
        if earlier not in partner or _augment(partner[earlier], above, partner, seen):
            partner[earlier] = step_id
            return True
    return False


def expected_seconds(plan: Plan, registry: Registry) -> float:
    """Return the known part of the critical path in seconds; unknown steps count 0."""
    finish: dict[str, float] = {}
    for step in topological(plan):
        begin = max((finish.get(i, 0.0) for i in step.dependencies), default=0.0)
        known = step.expected_ms
        if known is None and step.tool and step.tool in registry:
            known = registry.get(step.tool).policy.expected_ms
        finish[step.id] = begin + (known or 0.0) / 1_000
    return max(finish.values(), default=0.0)


def _max_steps(rule: Rule, plan: Plan, _registry: Registry) -> Iterable[str]:
    if len(plan.steps) > rule.number:
        yield f"the plan has {len(plan.steps)} steps, {rule.number:g} are allowed"


def _forbidden(rule: Rule, plan: Plan, _registry: Registry) -> Iterable[str]:
    for step in plan.steps:
        for name in sorted(tools_of(step) & set(rule.tools)):
            yield f"step {step.id!r} uses {name!r}, which is forbidden"


def _only(rule: Rule, plan: Plan, _registry: Registry) -> Iterable[str]:
    for step in plan.steps:
        for name in sorted(tools_of(step) - set(rule.tools)):
            allowed = ", ".join(rule.tools)
            yield f"step {step.id!r} uses {name!r}; only {allowed} may be used"


def _max_parallel(rule: Rule, plan: Plan, _registry: Registry) -> Iterable[str]:
    if (wide := width(plan)) > rule.number:
        yield (
            f"{wide} steps could run at once, {rule.number:g} may; "
            "add dependencies between them"
        )


def _deadline(rule: Rule, plan: Plan, registry: Registry) -> Iterable[str]:
    if (needed := expected_seconds(plan, registry)) > rule.number:
        yield f"the plan needs about {needed:g} s, {rule.number:g} s are allowed"


def _before(rule: Rule, plan: Plan, _registry: Registry) -> Iterable[str]:
    earlier, later = rule.tools
    firsts = {step.id for step in plan.steps if step.tool == earlier}
    for step in plan.steps:
        if later in tools_of(step) and not firsts & ancestors(plan, step.id):
            yield (
                f"step {step.id!r} uses {later!r} and depends on no step "
                f"that uses {earlier!r}"
            )


def _effects(*banned: Effect) -> Callable[[Rule, Plan, Registry], Iterable[str]]:
    def check(_rule: Rule, plan: Plan, registry: Registry) -> Iterable[str]:
        for step in plan.steps:
            for name in sorted(tools_of(step)):
                effect = registry.get(name).policy.effect if name in registry else None
                if effect in banned:
                    yield f"step {step.id!r} uses {name!r}, whose effect is {effect}"

    return check


CHECKS: dict[Kind, Callable[[Rule, Plan, Registry], Iterable[str]]] = {
    Kind.MAX_STEPS: _max_steps,
    Kind.FORBIDDEN: _forbidden,
    Kind.ONLY: _only,
    Kind.MAX_PARALLEL: _max_parallel,
    Kind.DEADLINE: _deadline,
    Kind.BEFORE: _before,
    Kind.READ_ONLY: _effects(Effect.WRITE, Effect.IRREVERSIBLE),
    Kind.REVERSIBLE: _effects(Effect.IRREVERSIBLE),
}
"""Kind → what a plan does against it, a sentence each."""
