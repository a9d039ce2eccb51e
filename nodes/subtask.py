"""A step that is a task of its own: the same graph with less of everything (F09).

It gets a subset of the tools, a slice of every remaining budget, its parent's rules
and one level less of depth. Its slice is set aside on the parent's board until it has
ended, a wait for a person included, so the parent's totals hold whatever its children
do.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.errors import GraphBubbleUp

from mendgraph.nodes.checks import condition
from mendgraph.nodes.exploring import explore
from mendgraph.nodes.nested import mark_effects, plan_to_go_on, subtask_id
from mendgraph.nodes.prepare import Prepared
from mendgraph.nodes.work import Work
from mendgraph.state.failure import FailureFacts, Layer
from mendgraph.state.limits import Spent, narrowed, slice_of
from mendgraph.state.outcome import TaskStatus
from mendgraph.state.plan import SubTask
from mendgraph.tools.board import Boards
from mendgraph.tools.call import Called
from mendgraph.tools.run import Deps, Run

FAILED = "the sub-task did not reach its goal"
OWN = {"rounds": 0, "seconds": 0.0}
"""Meters a sub-task does not hand up: its rounds are its own, its time has passed."""


async def run_subtask(
    work: Work, prepared: Prepared, run: Run, *, timeout_s: float
) -> Called:
    """Run the sub-task of a step; its interrupts pass, its faults become facts."""
    task, started = work.step.subtask, run.now()
    if task is None or run.limits.depth < 1:
        return _failed(run, started, "sub-tasks may not be nested any deeper")
    spent = run.board.spent
    aside = await _set_aside(work, run, task.share)
    if aside.executions < 1:
        run.board.give_back(work.step.id)
        return _failed(run, started, "no calls are left for a sub-task")
    child = replace(
        run.deps,
        registry=run.deps.registry.narrowed(task.tools),
        limits=narrowed(run.limits, spent, aside, task.share),
        depth=run.deps.depth + 1,
        task_id=subtask_id(run.task_id, work.lineage),
        boards=Boards(),
    )
    ended = await _within(task, prepared, child, run, timeout_s)
    run.board.give_back(work.step.id)
    run.charge(ended.spent)
    await mark_effects(run, str(child.task_id))
    return _judged(task, ended.output, prepared, run, started)


async def _set_aside(work: Work, run: Run, share: float) -> Spent:
    """Return the step's slice; one that waited for a person has it already."""
    step_id = work.step.id
    if kept := run.board.asides.get(step_id):
        return kept
    aside = slice_of(run.limits, run.board.spent, share)
    run.board.set_aside(step_id, aside)
    await run.vault.put_aside(work.state["round"], step_id, aside.plain())
    return aside


class _Ended:
    """What a sub-task gave and what it cost."""

    def __init__(self, output: Mapping[str, Any] | str, spent: Spent) -> None:
        self.output = output
        self.spent = spent.but(**OWN)


async def _within(
    task: SubTask, prepared: Prepared, child: Deps, run: Run, timeout_s: float
) -> _Ended:
    """Carry it out within the time; a fault is a sentence, and its cost is counted."""
    try:
        async with asyncio.timeout(timeout_s):
            output = await _carry_out(task, prepared, child, run)
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001  a child's fault is this step's failure
        board = child.boards.newest
        said = str(error) or f"no end within {timeout_s:g} s"
        return _Ended(
            f"{type(error).__name__}: {said}", board.spent if board else Spent()
        )
    return _Ended(output, Spent.model_validate(output.pop("spent", {})))


async def _carry_out(
    task: SubTask, prepared: Prepared, child: Deps, run: Run
) -> dict[str, Any]:
    goal = str(prepared.arguments["goal"])
    if task.exploring:
        return await explore(goal, child, run)
    if run.deps.spawn is None:
        raise RuntimeError("this graph cannot run sub-tasks")
    given: dict[str, Any] = {"task": goal}
    earlier = await plan_to_go_on(run, str(child.task_id))
    if plan := earlier or task.plan:
        given["plan"] = plan
    state = await run.deps.spawn(child).ainvoke(given, run.config)
    report = state["report"]
    return {
        "status": state["status"],
        "answer": state["answer"],
        "done": report["done"],
        "not_done": report["not_done"],
        "spent": report["spent"],
    }


def _judged(
    task: SubTask,
    output: Mapping[str, Any] | str,
    prepared: Prepared,
    run: Run,
    started: float,
) -> Called:
    """Apply the acceptance rule; only a done and accepted sub-task counts."""
    if isinstance(output, str):
        return _failed(run, started, output)
    if output["status"] != TaskStatus.DONE:
        return _failed(run, started, f"{FAILED}: {output['answer'][:400]}")
    if task.acceptance and not condition(task.acceptance, output, prepared.arguments):
        return _failed(run, started, f"{FAILED}: acceptance rule: {task.acceptance}")
    return Called(value=dict(output), started_at=started, ended_at=run.now())


def _failed(run: Run, started: float, message: str) -> Called:
    facts = FailureFacts(message=message, layer=Layer.PLAN, tool="subtask")
    return Called(facts=facts, started_at=started, ended_at=run.now())
