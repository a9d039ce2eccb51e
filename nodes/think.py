"""think: take the task, get a plan that may run, or the question that comes first."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import ValidationError

from mendgraph.nodes.drafting import draft_for
from mendgraph.state.algebra import PlanError, Proposal
from mendgraph.state.channels import EMPTY, SCHEMA_VERSION, MendState
from mendgraph.state.effect import digest
from mendgraph.state.events import EventKind
from mendgraph.state.outcome import StepRecord, StepStatus, TaskStatus
from mendgraph.state.plan import Plan
from mendgraph.tools.errors import TaskInputError, ThreadError
from mendgraph.tools.plan_check import check_plan
from mendgraph.tools.run import Run

NO_STEPS = "The plan has no steps. What exactly should be done, and with which inputs?"
RETRY, STOP = "retry", "stop"
"""What can be answered about a failed step when there is no model to replan."""


async def think(state: MendState, run: Run) -> dict[str, Any]:
    """Begin a task, go on with one, or take a person's answer.

    Raises:
        TaskInputError: There is neither a task nor a plan.
        PlanError: The given plan may not run.
        ThreadError: The thread was written by another version.
    """
    _readable(state)
    pending = state.get("pending") or {}
    if pending.get("kind") == "stopped":
        return {}
    if pending.get("kind") == "answered":
        return await _after_answer(state, run, pending)
    task, given = _task(state), _given(state)
    if _goes_on(state, task, given):
        return {"plan": {"restore": True}, "pending": None, **_round(run)}
    return await _begin(state, run, task, given)


def _readable(state: MendState) -> None:
    version = state.get("schema_version")
    if version not in {None, SCHEMA_VERSION}:
        raise ThreadError(
            f"the thread was written with state schema {version}, this is "
            f"{SCHEMA_VERSION}; use another thread_id or the version that wrote it"
        )


def _round(run: Run) -> dict[str, Any]:
    return {"round": run.deps.new_id(), "round_at": run.now()}


def _task(state: MendState) -> str:
    """Return the task: the text given, else the newest message of a person."""
    task = str(state.get("task") or "").strip()
    messages = state.get("messages") or []
    newest = messages[-1] if messages else None
    if isinstance(newest, BaseMessage) and newest.type == "human":
        said = str(newest.text).strip()
        return said or task
    return task


def _given(state: MendState) -> dict[str, Any] | None:
    plan = state.get("plan")
    return plan["given"] if plan and "given" in plan else None


def _identity(task: str, given: Any) -> str:
    return digest("task", {"task": task, "plan": given or {}})


def _goes_on(state: MendState, task: str, given: Any) -> bool:
    """Tell whether this is the same unfinished task given once more."""
    running = state.get("status") == TaskStatus.RUNNING and bool(state.get("task_id"))
    plan = state.get("plan") or {}
    planned = bool(plan.get("before") if "given" in plan else plan)
    return running and planned and state.get("accepted") == _identity(task, given)


async def _begin(
    state: MendState, run: Run, task: str, given: dict[str, Any] | None
) -> dict[str, Any]:
    plan = _read_plan(given, run) if given is not None else None
    if not task and not (plan and (plan.goal or plan.steps)):
        raise TaskInputError('the task is empty; give {"task": "what to do"} or a plan')
    task = task or (plan.goal if plan else "") or "run the given plan"
    run.task_id = run.deps.new_id()
    await run.library.load()
    run.emit(EventKind.TASK_STARTED, task[:300])
    fresh = {
        **EMPTY,
        **_round(run),
        "task": task,
        "task_id": run.task_id,
        "accepted": _identity(_task(state), given),
        "started_at": run.now(),
    }
    if plan is not None:
        return {**fresh, **_with_plan(plan, run)}
    return {**fresh, **await _draft(state, run, task)}


def _read_plan(given: Any, run: Run) -> Plan:
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


def _with_plan(plan: Plan, run: Run) -> dict[str, Any]:
    if not plan.steps:
        return {"plan": {"fresh": plan.plain()}, "pending": _ask_for_plan()}
    run.emit(
        EventKind.PLAN_READY,
        f"{len(plan.steps)} steps",
        version=plan.version,
        steps=[
            {"id": s.id, "tool": s.tool, "needs": s.dependencies} for s in plan.steps
        ],
    )
    return {"plan": {"fresh": plan.plain()}}


def _ask_for_plan(
    question: str = NO_STEPS, options: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "kind": "clarify",
        "origin": "plan",
        "question": question,
        "options": list(options),
    }


async def _draft(state: MendState, run: Run, task: str) -> dict[str, Any]:
    """Let the model plan; without one, say what is needed.

    Raises:
        TaskInputError: There is no model and no plan.
    """
    if run.deps.reasoner is None:
        raise TaskInputError(
            "there is no model to plan with and no plan was given; pass a model to "
            'create_mend_agent, or give {"task": ..., "plan": {"steps": [...]}}'
        )
    draft = await draft_for(state, run, task)
    update: dict[str, Any] = {"notes": draft.notes}
    if draft.plan is not None:
        return {**update, **_with_plan(draft.plan, run)}
    return {
        **update,
        "plan": {"fresh": Plan(goal=task).plain()},
        "pending": draft.pending,
    }


async def _after_answer(
    state: MendState, run: Run, pending: Mapping[str, Any]
) -> dict[str, Any]:
    """Go on from a person's answer."""
    if pending.get("origin") == "signal" and _nothing_more(pending):
        return {"pending": None, **_round(run)}
    if run.deps.reasoner is not None:
        return await _replan_with_answer(state, run, pending)
    if pending.get("origin") == "plan":
        return _plan_from_answer(run, str(pending["answer"]))
    return _retry_or_stop(state, run, pending)


def _nothing_more(pending: Mapping[str, Any]) -> bool:
    """Tell whether a person, asked about a message, says to go on as planned."""
    return str(pending.get("answer", "")).strip().lower() in {"", "go on"}


async def _replan_with_answer(
    state: MendState, run: Run, pending: Mapping[str, Any]
) -> dict[str, Any]:
    task = str(state.get("task") or "")
    draft = await draft_for(state, run, task)
    before = Plan.model_validate(state["plan"])
    update: dict[str, Any] = {"notes": draft.notes, **_round(run), "pending": None}
    if draft.plan is None and pending.get("origin") == "signal":
        why = (draft.pending or {}).get("reason", "no other plan was found")
        told = {"kind": "signal", "text": f"the plan stays: {why}", "at": run.now()}
        return {**update, "notes": [*draft.notes, told]}
    if draft.plan is None:
        return {**update, "pending": draft.pending}
    proposal = Proposal(base_version=before.version, plan=draft.plan, author="think")
    return {**update, "plan": proposal.plain(), "steps": _reopened(state, draft.plan)}


def _plan_from_answer(run: Run, answer: str) -> dict[str, Any]:
    """Take a plan typed as JSON; without a model nothing else can become one."""
    import json

    try:
        plan = _read_plan(json.loads(answer), run)
    except ValueError as error:
        problem = (
            f"{NO_STEPS} Without a model the answer must be a plan as JSON: {error}"
        )
        return {"pending": _ask_for_plan(problem)}
    return {**_with_plan(plan, run), "pending": None, **_round(run)}


def _retry_or_stop(
    state: MendState, run: Run, pending: Mapping[str, Any]
) -> dict[str, Any]:
    if str(pending.get("answer", "")).strip().lower() != RETRY:
        reason = f"a person answered {pending.get('answer')!r}"
        return {"pending": {"kind": "stopped", "reason": reason}}
    plan = Plan.model_validate(state["plan"])
    return {"pending": None, "steps": _reopened(state, plan), **_round(run)}


def _reopened(state: MendState, plan: Plan) -> dict[str, Any]:
    """Return records that make failed steps of a plan pending again."""
    records = state.get("steps") or {}
    return {
        step_id: StepRecord(
            step_id=step_id,
            status=StepStatus.PENDING,
            lineage=records[step_id]["lineage"],
            corrections=records[step_id]["corrections"],
        ).plain()
        for step_id in plan.ids
        if step_id in records and records[step_id]["status"] == StepStatus.FAILED
    }
