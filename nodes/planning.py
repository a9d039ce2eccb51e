"""From a brief to a plan that may run: draft, lessons, candidates, critique (F03-F07).

The usual task costs one model call. What is risky gets candidates and a critique as
long as the budget ladder allows; every luxury that is left out is noted.
"""

from dataclasses import replace

from mendgraph.nodes.asking_plan import ask_for_patch, ask_for_plan
from mendgraph.nodes.brief import Brief, MendBrief
from mendgraph.nodes.critique import Refined, critique, refine
from mendgraph.nodes.draft import Draft, note
from mendgraph.nodes.economy import Luxury, allows, drop_note, ladder
from mendgraph.nodes.paths import best_of_paths
from mendgraph.nodes.plan_judge import is_risky
from mendgraph.nodes.prompts import plan_text
from mendgraph.nodes.schemas import Critique
from mendgraph.state.lesson import Found
from mendgraph.state.plan import Plan, Step
from mendgraph.tools.memory.protocol import Query
from mendgraph.tools.run import Run

__all__ = ["Brief", "Draft", "MendBrief", "draft_patch", "draft_plan"]

PULLED_TOOLS = 5
"""Tools of a draft that memory is asked about."""
PULLED_LESSONS = 3
"""Lessons asked for each of them."""
FRESH_LESSONS = 5
MIN_PATHS = 2


async def draft_plan(brief: Brief, run: Run) -> Draft:
    """Return a plan that passed every check, a question, or the reason for neither.

    Args:
        brief: The facts; with a `base` it is a global replan.
        run: The node's view of the world.
    """
    brief = replace(brief, resources=brief.resources or resources(run))
    brief = replace(brief, tools=brief.tools or tuple(run.deps.registry))
    draft = await ask_for_plan(brief, run)
    if draft.plan is None:
        return draft
    draft, brief = await _with_fresh_lessons(draft, brief, run)
    if not (brief.risky or is_risky(draft.plan or Plan(), run.deps.registry)):
        return draft
    draft = await _best(draft, brief, run)
    return await _refined(draft, brief, run) if draft.plan else draft


async def draft_patch(brief: MendBrief, run: Run) -> Draft:
    """Return the next version with only the cone changed, a question, or the reason.

    Args:
        brief: The facts of a local replan.
        run: The node's view of the world.
    """
    brief = replace(brief, tools=brief.tools or tuple(run.deps.registry))
    return await ask_for_patch(brief, run)


def resources(run: Run) -> str:
    """Return what is left for a plan, in words."""
    limits, spent = run.limits, run.board.spent
    calls = max(0, limits.executions - spent.executions)
    seconds = max(0, round(limits.seconds - spent.seconds))
    return (
        f"{limits.steps} steps, {calls} tool calls, {seconds} s, "
        f"{limits.concurrency} calls at once"
    )


def _luxury(luxury: Luxury, run: Run) -> dict[str, object] | None:
    """Return None if the budget allows a luxury, else the note that it was dropped."""
    spent = run.board.spent
    if allows(ladder(spent, run.limits), luxury):
        return None
    return drop_note(luxury, spent, run.limits, run.now())


async def _with_fresh_lessons(
    draft: Draft, brief: Brief, run: Run
) -> tuple[Draft, Brief]:
    """Pull lessons for the draft's tools; revise once if it had not seen some."""
    fresh = await _fresh_lessons(draft.plan or Plan(), brief, run)
    if not fresh:
        return draft, brief
    if dropped := _luxury(Luxury.CRITIQUE, run):
        what = {"what": "revision for lessons found late"}
        return draft.noted({**dropped, **what}), brief
    wider = replace(brief, lessons=(*fresh, *brief.lessons))
    ids = ", ".join(found.lesson.id for found in fresh)
    revised = await ask_for_plan(
        wider,
        run,
        problems=[f"heed the lessons it had not seen, where they apply: {ids}"],
        previous=plan_text(draft.plan or Plan()),
        re_asks=1,
    )
    if revised.plan is None:
        why = revised.problem or revised.question or ""
        return draft.noted(note("lessons", f"not revised: {why}", run.now())), brief
    told = note("lessons", f"revised for lessons {ids}", run.now())
    return revised.noted(*draft.notes, told), wider


async def _fresh_lessons(plan: Plan, brief: Brief, run: Run) -> list[Found]:
    if run.deps.memory is None:
        return []
    by_tool: dict[str, Step] = {}
    for step in plan.steps:
        if step.tool:
            by_tool.setdefault(step.tool, step)
    seen = {found.lesson.id for found in brief.lessons}
    fresh: list[Found] = []
    for tool, step in list(by_tool.items())[:PULLED_TOOLS]:
        kind = run.deps.registry.get(tool).tool_class
        query = Query(
            text=step.description,
            tools=(tool,),
            tool_classes=(kind,) if kind else (),
        )
        for found in await run.deps.memory.recall(query, PULLED_LESSONS):
            lesson = found.lesson
            fits = lesson.tool == tool or (kind and lesson.tool_class == kind)
            if fits and lesson.id not in seen:
                seen.add(lesson.id)
                fresh.append(found)
    return fresh[:FRESH_LESSONS]


async def _best(draft: Draft, brief: Brief, run: Run) -> Draft:
    if run.deps.paths < MIN_PATHS:
        return draft
    dropped = _luxury(Luxury.PATHS, run)
    return draft.noted(dropped) if dropped else await best_of_paths(draft, brief, run)


async def _refined(draft: Draft, brief: Brief, run: Run) -> Draft:
    """Criticise and revise the plan while the budget allows (at most three rounds)."""
    if dropped := _luxury(Luxury.CRITIQUE, run):
        return draft.noted(dropped)
    version = draft.plan.version if draft.plan else 1

    async def judge(current: Draft) -> Critique | None:
        if _luxury(Luxury.CRITIQUE, run):
            return None
        text, label = plan_text(current.plan or Plan()), f"v{version}:critique"
        return await critique(run, "plan", text, task=brief.task, label=label)

    async def revise(current: Draft, verdict: Critique) -> Draft | None:
        text = plan_text(current.plan or Plan())
        revised = await ask_for_plan(
            brief, run, problems=verdict.issues, previous=text, re_asks=0
        )
        return revised if revised.plan else None

    refined: Refined[Draft] = await refine(draft, judge, revise)
    scores = ", ".join(f"{score:.2f}" for score in refined.scores) or "not judged"
    told = note("critique", f"self-evaluation of the plan: {scores}", run.now())
    kept = {"candidates": draft.candidates, "score": refined.score}
    before = draft.notes if refined.content is not draft else ()
    return refined.content.noted(*before, told, **kept)
