"""The words each role of the model gets: data fenced and bounded, rules in few words.

A role's system prompt names it in the line `ROLE: <name>`. Text from tools, memory and
the run stands in data fences; only the task, constraints and answers are the user's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mendgraph.nodes.plan_prompts import plan_prompt, replan_prompt
from mendgraph.nodes.prompt_parts import (
    attempt_lines,
    compact,
    failure_text,
    lesson_item,
    numbered,
    signature,
    step_brief,
    step_json,
)
from mendgraph.nodes.templating import Prompt, data, prompt_tokens, render
from mendgraph.nodes.token_cut import clip
from mendgraph.state.failure import Failure
from mendgraph.state.lesson import Found, NextAction
from mendgraph.state.masking import mask, mask_value
from mendgraph.state.outcome import Attempt
from mendgraph.state.plan import Plan, Step
from mendgraph.tools.registry import Entry

__all__ = [
    "critique_prompt",
    "patch_prompt",
    "plan_prompt",
    "plan_text",
    "prompt_tokens",
    "reflect_prompt",
    "replan_prompt",
    "score_prompt",
    "signal_prompt",
]

GOOD = 0.85
"""Score at which self-evaluation stops (F06)."""


def patch_prompt(
    step: Step,
    entry: Entry,
    arguments: Mapping[str, Any],
    failure: Failure,
    *,
    attempts: Sequence[Attempt] = (),
    snapshots: Sequence[str] = (),
) -> Prompt:
    """Return the prompt that asks for other arguments (about 800 tokens).

    Args:
        step: The step of the plan.
        entry: Its tool.
        arguments: The rendered arguments of the last call.
        failure: Facts and class of the last failure.
        attempts: Earlier calls of this step.
        snapshots: What was learned from failures already mended in this task.
    """
    known = mask_value(dict(arguments), entry.policy.secret_args)
    purpose = clip(mask(step.description), 60)
    call = f"step {step.id}: {purpose}\narguments: {clip(compact(known), 250)}"
    user = {
        "tool": signature(entry),
        "call": data(call, "the call"),
        "failure": data(failure_text(failure), "the error"),
        "attempts": data("\n".join(attempt_lines(attempts)), "earlier attempts"),
        "snapshots": data(_bounded(snapshots, 3), "mended in this task"),
    }
    return render("patch", {}, user)


def _bounded(texts: Sequence[str], count: int) -> str:
    return "\n".join(clip(mask(text), 60) for text in texts[-count:])


def reflect_prompt(
    goal: str,
    step: Step,
    failure: Failure,
    *,
    attempts: Sequence[Attempt] = (),
    upstream: Mapping[str, str] | None = None,
    lessons: Sequence[Found] = (),
    decisions: Sequence[NextAction] = tuple(NextAction),
    light: bool = False,
) -> Prompt:
    """Return the prompt that asks why a step failed.

    Args:
        goal: The task.
        step: The failed step.
        failure: Facts and class of its last failure.
        attempts: All its attempts.
        upstream: Direct upstream step → digest of its output.
        lessons: What memory found for this failure.
        decisions: The fixes still open.
        light: Ask for less (budget ladder).
    """
    above = [f"{i}: {clip(mask(t), 150)}" for i, t in (upstream or {}).items()]
    told = [lesson_item(each).text for each in lessons[:5]]
    user = {
        "goal": clip(mask(goal), 300),
        "failure": data(f"{step_json(step)}\n{failure_text(failure)}", "failed step"),
        "attempts": data("\n".join(attempt_lines(attempts, 10)), "attempts"),
        "upstream": data("\n".join(above[:10]), "outputs of direct upstream steps"),
        "lessons": data("\n".join(told), "lessons from earlier tasks"),
        "decisions": ", ".join(decisions),
    }
    return render("reflect", {"light": light}, user)


def critique_prompt(
    subject: str, criteria: Sequence[str], content: str, *, task: str
) -> Prompt:
    """Return the prompt that asks for a score and issues of a plan, result or cause."""
    system = {"subject": subject, "criteria": criteria, "good": GOOD}
    shown = data(clip(content, 3_000), subject)
    return render("critique", system, {"task": clip(mask(task), 600), "content": shown})


def score_prompt(
    task: str, candidates: Sequence[Plan], *, constraints: Sequence[str] = ()
) -> Prompt:
    """Return the prompt that asks to score candidate plans side by side."""
    each = 6_000 // max(1, len(candidates))
    shown = [
        data(clip(plan_text(plan), each), f"candidate {index}")
        for index, plan in enumerate(candidates)
    ]
    user = {
        "task": clip(mask(task), 600),
        "constraints": numbered(constraints, 600),
        "candidates": shown,
    }
    return render("score", {}, user)


def plan_text(plan: Plan) -> str:
    """Return a plan as prompts show it: a JSON step a line."""
    return "\n".join(step_json(step) for step in plan.steps)


def signal_prompt(
    task: str, message: str, plan: Plan | None, constraints: Sequence[str] = ()
) -> Prompt:
    """Return the prompt that asks what a message means for the running task."""
    steps = "; ".join(step_brief(step) for step in plan.steps) if plan else "none yet"
    user = {
        "task": clip(mask(task), 600),
        "constraints": numbered(constraints, 600),
        "steps": data(clip(steps, 600), "steps of the plan"),
        "message": data(clip(message, 600), "message"),
    }
    return render("signal", {}, user)
