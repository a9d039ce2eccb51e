"""Ask for a plan or a patch until it is sound: at most two re-asks, problems only."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from mendgraph.nodes.brief import Brief, MendBrief
from mendgraph.nodes.draft import Draft, note
from mendgraph.nodes.plan_judge import Judged, judge_draft, judge_patch
from mendgraph.nodes.plan_prompts import fitted_plan_prompt, replan_prompt
from mendgraph.nodes.prompt_parts import compact
from mendgraph.nodes.schemas import PlanDraft, ReplanDraft
from mendgraph.tools.run import Run
from mendgraph.tools.thinker import Thought, think_about

Answer = TypeVar("Answer", bound=BaseModel)
RE_ASKS = 2
SHOWN_PROBLEMS = 3


async def ask_for_plan(
    brief: Brief,
    run: Run,
    *,
    approach: str = "",
    problems: Sequence[str] = (),
    previous: str = "",
    re_asks: int = RE_ASKS,
) -> Draft:
    """Return a sound plan, a question, or the reason why there is neither.

    Args:
        brief: The facts.
        run: The node's view of the world.
        approach: What this candidate should favour.
        problems: What must be mended in `previous`.
        previous: An earlier draft as JSON.
        re_asks: How often a refused draft may be mended.
    """
    role = "plan" if brief.base is None else "replan"
    version = brief.base.version + 1 if brief.base else 1
    judged = Judged(None, tuple(problems))
    for _ in range(1 + re_asks):
        prompt, cut = fitted_plan_prompt(
            brief, approach=approach, problems=judged.problems, previous=previous
        )
        label = f"v{version}:plan"
        thought = await think_about(run, role, prompt, PlanDraft, label=label)
        if thought.value is None:
            return _unanswered(thought, judged)
        if asked := _question(thought.value):
            return asked.noted(reasoning_ref=thought.reasoning_ref)
        judged = judge_draft(thought.value, brief, run, thought.reasoning_ref)
        if judged.plan:
            notes = [note("context", each, run.now()) for each in cut]
            shown = tuple(found.lesson.id for found in brief.lessons)
            return Draft(
                plan=judged.plan,
                notes=tuple(notes),
                shown=shown,
                reasoning_ref=thought.reasoning_ref,
            )
        previous = compact(thought.value.steps)
    return _refused(judged, 1 + re_asks)


def _question(draft: PlanDraft) -> Draft | None:
    asked = draft.needs_clarification
    if asked:
        return Draft(question=asked.question, options=tuple(asked.options))
    if not draft.steps:
        why = draft.rationale or "the planner found no step that serves the task"
        return Draft(question=f"There is no plan yet: {why}. What exactly is wanted?")
    return None


def _unanswered(thought: Thought[Answer], judged: Judged) -> Draft:
    before = "; ".join(judged.problems[:SHOWN_PROBLEMS])
    problem = thought.problem or "the model gave no answer"
    return Draft(
        problem=f"{problem}; before that: {before}" if before else problem,
        unavailable=thought.in_vain,
    )


def _refused(judged: Judged, times: int) -> Draft:
    if judged.silent and len(judged.silent) == len(judged.problems):
        named = "; ".join(judged.silent)
        return Draft(
            question=f"The planner does not say how these are met: {named}. "
            "May it go on without?"
        )
    why = "; ".join(judged.problems[:SHOWN_PROBLEMS])
    return Draft(problem=f"the plan was refused {times} times: {why}")


async def ask_for_patch(brief: MendBrief, run: Run) -> Draft:
    """Return the next version with the cone mended, or a question, or the reason."""
    judged = Judged(None)
    label = f"v{brief.plan.version + 1}:replan"
    for _ in range(1 + RE_ASKS):
        prompt = replan_prompt(brief, problems=judged.problems)
        thought = await think_about(run, "replan", prompt, ReplanDraft, label=label)
        if thought.value is None:
            return _unanswered(thought, judged)
        if reason := (thought.value.impossible or "").strip():
            return Draft(
                question=f"The plan cannot be mended: {reason}. What should be done?",
                impossible=reason,
                reasoning_ref=thought.reasoning_ref,
            )
        if not brief.failed and _empty(thought.value):
            return Draft(unchanged=True, reasoning_ref=thought.reasoning_ref)
        judged = judge_patch(thought.value, brief, run, thought.reasoning_ref)
        if judged.plan:
            return Draft(plan=judged.plan, reasoning_ref=thought.reasoning_ref)
    return _refused(judged, 1 + RE_ASKS)


def _empty(patch: ReplanDraft) -> bool:
    return not (patch.replace or patch.add or patch.drop)
