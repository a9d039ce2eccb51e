"""think: take the task, get a plan that may run, or the question that comes first."""

from typing import Any

from langchain_core.messages import BaseMessage

from mendgraph.nodes.answering import after_answer
from mendgraph.nodes.first_plan import drafted, read_plan, with_plan
from mendgraph.nodes.nested import keep_plan
from mendgraph.nodes.reopening import reopened_steps
from mendgraph.state.channels import EMPTY, SCHEMA_VERSION, MendState
from mendgraph.state.effect import digest
from mendgraph.state.events import EventKind
from mendgraph.state.limits import Spent
from mendgraph.state.outcome import TaskStatus
from mendgraph.tools.errors import TaskInputError, ThreadError
from mendgraph.tools.run import Run


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
        return {**await after_answer(state, run, pending), **_round(run)}
    task, given = _task(state), _given(state)
    if _same_task(state, task, given) and state.get("status") != TaskStatus.DONE:
        return _taken_up(state, run)
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


def _same_task(state: MendState, task: str, given: Any) -> bool:
    """Tell whether this is the task the thread has a plan for, given once more."""
    plan = state.get("plan") or {}
    plan = plan.get("before") or {} if "given" in plan else plan
    planned = bool(plan.get("steps")) and bool(state.get("task_id"))
    return planned and state.get("accepted") == _identity(task, given)


def _taken_up(state: MendState, run: Run) -> dict[str, Any]:
    """Go on with an unfinished task: what is done stays, its effects are known.

    One that had ended gets fresh budgets and its open steps are tried again.
    """
    on = {"plan": {"restore": True}, "pending": None, **_round(run)}
    if state.get("status") == TaskStatus.RUNNING:
        return on
    run.board.spent = Spent()
    run.emit(EventKind.TASK_STARTED, f"taken up again: {state.get('task', '')}"[:300])
    again: dict[str, Any] = {"spent": {"fresh": {}}, "corrections": None, "notes": None}
    ended = {"status": TaskStatus.RUNNING.value, "answer": "", "report": {}}
    return {**on, **again, **ended, "steps": reopened_steps(state)}


async def _begin(
    state: MendState, run: Run, task: str, given: dict[str, Any] | None
) -> dict[str, Any]:
    plan = read_plan(given, run) if given is not None else None
    if not task and not (plan and (plan.goal or plan.steps)):
        raise TaskInputError('the task is empty; give {"task": "what to do"} or a plan')
    task = task or (plan.goal if plan else "") or "run the given plan"
    run.task_id = run.deps.task_id or run.deps.new_id()
    run.board.spent = Spent()
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
        return {**fresh, **with_plan(plan, run)}
    begun: MendState = {**state, "plan": {}, "steps": {}, "answers": []}
    update = await drafted(begun, run, task)
    await keep_plan(run, update["plan"]["fresh"])
    return {**fresh, **update}
