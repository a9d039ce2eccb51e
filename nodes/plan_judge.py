"""Make a plan of what the model proposed, or say why it may not be one (F02-F04)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mendgraph.nodes.brief import Brief, MendBrief
from mendgraph.nodes.constraints import judge
from mendgraph.nodes.plan_shape import read_steps
from mendgraph.nodes.repeats import repeated_failures
from mendgraph.nodes.replanning import (
    ReplanRefused,
    global_merge,
    merge_patch,
    reset_merge,
)
from mendgraph.nodes.schemas import PlanDraft, ReplanDraft
from mendgraph.state.plan import Plan, Risk, Step
from mendgraph.state.policy import Effect
from mendgraph.tools.plan_check import plan_problems
from mendgraph.tools.registry import Registry
from mendgraph.tools.run import Run

NOT_PLANNED = "not answered: the plan was given without an answer"
"""Stands for the answer to a constraint where a given plan is mended."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A proposal after every check."""

    plan: Plan | None
    """The sound plan, None while there are problems."""
    problems: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    """Constraints the planner did not answer; their problems are among the others."""


def judge_draft(draft: PlanDraft, brief: Brief, run: Run, ref: str | None) -> Judged:
    """Hold a whole plan against structure, tools, risks and constraints.

    Args:
        draft: What the model proposed.
        brief: The facts; the goal is always the user's words.
        run: The tools and limits of the task.
        ref: Where the reasoning is kept.
    """
    steps, problems = read_steps(draft.steps)
    if problems:
        return Judged(None, tuple(problems))
    try:
        plan = _merged(steps, draft, brief, run)
    except ReplanRefused as refusal:
        return Judged(None, refusal.problems)
    problems = [] if brief.answers else _repeated(plan, brief.base, brief)
    if problems:  # a person's answer may have changed what failed
        return Judged(None, tuple(problems))
    answers, constraints = draft.constraint_answers, brief.constraints
    return _judged(plan, brief.base, constraints, answers, run, ref)


def _merged(steps: Sequence[Step], draft: PlanDraft, brief: Brief, run: Run) -> Plan:
    base, effects, goal = brief.base, brief.effects, brief.task
    if base is None:
        return Plan(id=run.task_id or "plan", goal=goal, steps=tuple(steps))
    if brief.scope == "reset":
        return reset_merge(base, steps, effects=effects, goal=goal)
    return global_merge(
        base,
        steps,
        keep=draft.keep,
        done=brief.done,
        effects=effects,
        goal=goal,
        again=bool(brief.answers),
    )


def judge_patch(
    draft: ReplanDraft, brief: MendBrief, run: Run, ref: str | None
) -> Judged:
    """Hold a patch of the cone against the same rules as a whole plan."""
    try:
        plan = merge_patch(
            brief.plan,
            draft,
            failed=brief.failed,
            done=brief.done,
            cone=brief.cone,
            effects=brief.effects,
        )
    except ReplanRefused as refusal:
        return Judged(None, refusal.problems)
    problems = _repeated(plan, brief.plan, brief)
    if problems:
        return Judged(None, tuple(problems))
    before = {
        f"c{number}": brief.plan.constraint_answers.get(text) or NOT_PLANNED
        for number, text in enumerate(brief.constraints, start=1)
    }
    answers = {**before, **draft.constraint_answers}
    return _judged(plan, brief.plan, brief.constraints, answers, run, ref)


def _repeated(plan: Plan, base: Plan | None, brief: Brief | MendBrief) -> list[str]:
    """Return the new steps that are known to fail."""
    old = base.ids if base else ()
    new = [step for step in plan.steps if step.id not in old]
    return repeated_failures(new, brief.records, brief.done)


def _judged(
    plan: Plan,
    base: Plan | None,
    constraints: Sequence[str],
    answers: Mapping[str, str],
    run: Run,
    ref: str | None,
) -> Judged:
    registry = run.deps.registry
    old = base.ids if base else ()
    problems = plan_problems(plan, registry, run.limits)
    problems += _uncovered(step for step in plan.steps if step.id not in old)
    if problems:
        return Judged(None, tuple(problems))
    kept = Plan(steps=tuple(step for step in plan.steps if step.id in old))
    said, broken, silent = judge(constraints, answers, plan, registry)
    unavoidable = set(judge(constraints, answers, kept, registry)[1])
    problems = [each for each in broken if each not in unavoidable]
    problems += [f"constraint {each!r} has no answer" for each in silent]
    if problems:
        return Judged(None, tuple(problems), tuple(silent))
    created = datetime.fromtimestamp(run.now(), UTC).isoformat(timespec="seconds")
    facts: dict[str, Any] = {"constraint_answers": said, "created_at": created}
    return Judged(plan.model_copy(update={**facts, "rationale_ref": ref}))


def _uncovered(steps: Any) -> list[str]:
    return [
        f"step {step.id!r} is of high risk; give it a fallback or a no_fallback_reason"
        for step in steps
        if step.risk is Risk.HIGH
        and not (step.fallback or step.no_fallback_reason or step.subtask)
    ]


def is_risky(plan: Plan, registry: Registry) -> bool:
    """Tell whether a plan deserves candidates and a critique.

    It does when a step is of high risk, in the planner's word or because its tool
    cannot be undone.
    """
    return any(
        step.risk is Risk.HIGH
        or (
            step.tool is not None
            and step.tool in registry
            and registry.get(step.tool).policy.effect is Effect.IRREVERSIBLE
        )
        for step in plan.steps
    )
