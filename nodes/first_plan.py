"""The first plan of a task: given, typed as an answer, or drafted by the model."""

import json
from typing import Any

from pydantic import ValidationError

from mendgraph.nodes.drafting import draft_for
from mendgraph.state.algebra import PlanError
from mendgraph.state.channels import MendState
from mendgraph.state.events import EventKind
from mendgraph.state.plan import Plan
from mendgraph.tools.errors import TaskInputError
from mendgraph.tools.plan_check import check_plan
from mendgraph.tools.run import Run

NO_STEPS = "The plan has no steps. What exactly should be done, and with which inputs?"
NO_MODEL = (
    "there is no model to plan with and no plan was given; pass a model to "
    'create_mend_agent, or give {"task": ..., "plan": {"steps": [...]}}'
)


def read_plan(given: Any, run: Run) -> Plan:
    """Read and judge a given plan.

    Raises:
        PlanError: It cannot be read or may not run.
    """
    try:
        plan = Plan.model_validate(given)
    except ValidationError as error:
        raise PlanError(_readable_problems(error)) from error
    return check_plan(plan, run.deps.registry, run.limits)


def _readable_problems(error: ValidationError) -> list[str]:
    return [
        ".".join(str(part) for part in fault["loc"]) + f": {fault['msg']}"
        for fault in error.errors(include_url=False)
    ]


def with_plan(plan: Plan, run: Run) -> dict[str, Any]:
    """Return the update that begins with a plan; one without steps is asked about."""
    fresh = {"plan": {"fresh": plan.plain()}}
    if not plan.steps:
        return {**fresh, "pending": ask_for_plan(NO_STEPS)}
    run.emit(
        EventKind.PLAN_READY,
        f"{len(plan.steps)} steps",
        version=plan.version,
        steps=[
            {"id": s.id, "tool": s.tool, "needs": s.dependencies} for s in plan.steps
        ],
    )
    return fresh


def ask_for_plan(question: str) -> dict[str, Any]:
    """Return the decision to ask a person what the plan should be."""
    return {"kind": "clarify", "origin": "plan", "question": question, "options": []}


async def drafted(state: MendState, run: Run, task: str) -> dict[str, Any]:
    """Let the model plan; without one, say what is needed.

    Raises:
        TaskInputError: There is no model and no plan.
    """
    if run.deps.reasoner is None:
        raise TaskInputError(NO_MODEL)
    draft = await draft_for(state, run, task)
    if draft.plan is not None:
        return {"notes": draft.notes, **with_plan(draft.plan, run)}
    empty = Plan(goal=task).plain()
    return {"notes": draft.notes, "plan": {"fresh": empty}, "pending": draft.pending}


def typed(run: Run, answer: str) -> dict[str, Any]:
    """Take a plan typed as JSON; without a model nothing else can become one."""
    try:
        plan = read_plan(json.loads(answer), run)
    except ValueError as error:
        told = f"{NO_STEPS} Without a model the answer must be a plan as JSON: {error}"
        return {"pending": ask_for_plan(told)}
    return {"pending": None, **with_plan(plan, run)}
