"""The planner's prompts: a whole plan within 8,000 tokens, or a patch of the cone."""

from collections.abc import Sequence
from typing import Any

from mendgraph.nodes.brief import Brief, MendBrief
from mendgraph.nodes.context_budget import (
    History,
    Joined,
    Listing,
    Section,
    Words,
    build,
)
from mendgraph.nodes.prompt_parts import (
    failure_text,
    history,
    lesson_item,
    numbered,
    problem_lines,
    reads,
    reflection_text,
    short_signature,
    signature,
    step_brief,
    step_json,
    tool_item,
    tried_text,
)
from mendgraph.nodes.schemas import PlanDraft
from mendgraph.nodes.templating import Prompt, data, prompt_tokens, render
from mendgraph.nodes.token_cut import clip
from mendgraph.state.masking import mask
from mendgraph.state.plan import Plan

TRIES = 6
"""Times the context is built again when fences made it longer than allowed."""
FLOOR = 200
STAGES_TOKENS = 120
CONE_TOKENS = 2_500
WORDS = frozenset({"description", "expected_output"})
"""Fields left out of steps that are shown only for what they read."""
LABELS = {
    "knowledge": "tools and domain",
    "lessons": "lessons from earlier tasks",
    "steps": "steps of the last plan",
    "failure": "why there must be another plan",
}


def plan_prompt(
    brief: Brief,
    *,
    approach: str = "",
    problems: Sequence[str] = (),
    previous: str = "",
) -> Prompt:
    """Return the planner's prompt, within the brief's context tokens.

    Args:
        brief: The facts.
        approach: What this candidate should favour (multi-path planning).
        problems: What must be mended in the last draft.
        previous: That draft, as JSON.
    """
    prompt, _ = fitted_plan_prompt(
        brief, approach=approach, problems=problems, previous=previous
    )
    return prompt


def fitted_plan_prompt(
    brief: Brief, *, approach: str, problems: Sequence[str], previous: str
) -> tuple[Prompt, tuple[str, ...]]:
    """Return the planner's prompt and what was cut to make it fit."""
    fixed: dict[str, Any] = {
        "constraints": numbered(brief.constraints, brief.context_tokens // 4),
        "answers": _answers(brief),
        "resources": brief.resources,
        "approach": approach,
        "retired": _used_ids(brief.base),
        "problems": problem_lines(problems),
    }
    system = {
        "replanning": brief.base is not None,
        "constrained": bool(brief.constraints),
    }
    empty = render("plan", system, {**fixed, **dict.fromkeys(("task", *LABELS), "")})
    room = brief.context_tokens - prompt_tokens(empty, PlanDraft)
    sections = _sections(brief, previous)
    for _ in range(TRIES):
        built = build(sections, max(FLOOR, room))
        told = {n: data(built.texts.get(n, ""), label) for n, label in LABELS.items()}
        prompt = render("plan", system, {**fixed, **told, "task": built.texts["task"]})
        over = prompt_tokens(prompt, PlanDraft) - brief.context_tokens
        if over <= 0:
            break
        room -= 2 * over + 8  # cuts fall on word borders: aim below
    return prompt, built.dropped


def _answers(brief: Brief) -> list[str]:
    return [
        clip(mask(f"- {each.get('question', '')} => {each.get('answer', '')}"), 150)
        for each in brief.answers[-10:]
    ]


def _used_ids(plan: Plan | None) -> str:
    return clip(", ".join((*plan.ids, *plan.retired)), 600) if plan else ""


def _sections(brief: Brief, previous: str) -> list[Section]:
    tools = [tool_item(entry) for entry in brief.tools]
    known = brief.knowledge.strip()
    sections: list[Section] = [
        Words("task", mask(brief.task)),
        Joined("knowledge", Listing("tools", tools), Words("knowledge", mask(known))),
    ]
    if brief.lessons:
        sections.append(
            Listing("lessons", [lesson_item(each) for each in brief.lessons])
        )
    if brief.base:
        sections.append(History(history(brief.base, brief.records)))
    why = [brief.reason, previous and f"your last draft: {previous}"]
    if brief.reflection:
        why.insert(1, reflection_text(brief.reflection))
    failure = "\n".join(mask(part) for part in why if part)
    return [*sections, Words("failure", failure)] if failure else sections


def replan_prompt(brief: MendBrief, *, problems: Sequence[str] = ()) -> Prompt:
    """Return the prompt of a local replan: goal, failure, reflection, stages, cone.

    Args:
        brief: The facts.
        problems: Why the last patch was refused.
    """
    plan, total = brief.plan, brief.context_tokens
    parts = {
        f"FAILED {', '.join(sorted(brief.failed))}": _what_failed(brief),
        "BEFORE": _stages(brief),
        "AFFECTED STEPS": _cone(brief),
        "TOOLS": _tools(brief),
    }
    facts = "\n".join(f"{name}:\n{text}" for name, text in parts.items() if text)
    user = {
        "goal": clip(mask(brief.task), total // 8),
        "constraints": numbered(brief.constraints, total // 8),
        "facts": data(clip(facts, total * 5 // 8), "facts of the run"),
        "used": clip(_id_ranges((*plan.ids, *plan.retired)), 300),
        "problems": problem_lines(problems),
    }
    return render("replan", {}, user)


def _what_failed(brief: MendBrief) -> str:
    records = [brief.records.get(step_id) for step_id in sorted(brief.failed)]
    facts = [
        part
        for record in records
        if record and record.failure
        for part in (failure_text(record.failure), tried_text(record.attempts))
    ]
    looked = reflection_text(brief.reflection) if brief.reflection else ""
    return "\n".join(part for part in (*facts, looked, mask(brief.reason)) if part)


def _stages(brief: MendBrief) -> str:
    """Summarise what is outside the cone; show what the failed steps read from."""
    outside = [s for s in brief.plan.steps if s.id not in brief.cone]
    failed = [s for s in brief.plan.steps if s.id in brief.failed]
    near = {needed for step in failed for needed in step.dependencies}
    lines = history(brief.plan.model_copy(update={"steps": outside}), brief.records)
    far = History([line for line in lines if line.step_id not in near])
    read = History([line for line in lines if line.step_id in near])
    told = (far.stages(STAGES_TOKENS), read.fit(STAGES_TOKENS)[0])
    return "\n".join(part for part in told if part)


def _cone(brief: MendBrief) -> str:
    """Show failed steps in full, those who read them by what they do, others by id."""
    lines = []
    for step in brief.plan.steps:
        if step.id in brief.failed:
            lines.append(step_json(step))
        elif step.id in brief.cone:
            near = reads(step, brief.failed)
            lines.append(step_json(step, WORDS) if near else step_brief(step))
    return clip("\n".join(lines), CONE_TOKENS)


def _tools(brief: MendBrief) -> str:
    """Show the tools of failed steps with their purpose, others in the cone by form.

    Of all other tools the names and the required arguments are shown.
    """
    steps = [step for step in brief.plan.steps if step.id in brief.cone]
    failed = {step.tool for step in steps if step.id in brief.failed}
    affected = {step.tool for step in steps}
    lines, others = [], []
    for entry in brief.tools:
        if entry.name in failed:
            lines.append(tool_item(entry).text)
        elif entry.name in affected:
            lines.append(f"- {signature(entry)}")
        else:
            others.append(short_signature(entry))
    rest = [f"- also: {', '.join(others)}"] if others else []
    return clip("\n".join((*lines, *rest)), CONE_TOKENS)


def _id_ranges(ids: Sequence[str]) -> str:
    """Return ids, runs of numbered ones as `s1..s20`."""
    shown: list[str] = []
    run: list[str] = []
    for step_id in (*ids, ""):
        if run and step_id == _following(run[-1]):
            run.append(step_id)
            continue
        shown += run if len(run) < 3 else [f"{run[0]}..{run[-1]}"]  # noqa: PLR2004  a run
        run = [step_id] if step_id else []
    return ", ".join(shown)


def _following(step_id: str) -> str | None:
    stem = step_id.rstrip("0123456789")
    number = step_id[len(stem) :]
    return f"{stem}{int(number) + 1}" if number and number[0] != "0" else None
