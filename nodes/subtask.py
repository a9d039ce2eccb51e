"""A step that is a task of its own: the same graph with less of everything (F09).

It gets a subset of the tools, a slice of every remaining budget, its parent's rules and
one level less of depth. Its slice is set aside on the parent's board, so the parent's
totals hold whatever its children do.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.errors import GraphBubbleUp

from mendgraph.nodes.checks import condition
from mendgraph.nodes.exploring import explore
from mendgraph.nodes.prepare import Prepared
from mendgraph.nodes.work import Work
from mendgraph.state.failure import FailureFacts, Layer
from mendgraph.state.limits import Spent, slice_of
from mendgraph.state.outcome import TaskStatus
from mendgraph.state.plan import SubTask
from mendgraph.tools.board import Boards
from mendgraph.tools.call import Called
from mendgraph.tools.run import Deps, Run

FAILED = "the sub-task did not reach its goal"


async def run_subtask(
    work: Work, prepared: Prepared, run: Run, *, timeout_s: float
) -> Called:
    """Run the sub-task of a step; its interrupts pass, its faults become facts."""
    task = work.step.subtask
    started = run.now()
    if task is None or run.limits.depth < 1:
        return _failed(run, started, "sub-tasks may not be nested any deeper")
    limits, aside = slice_of(run.limits, run.board.spent, task.share)
    child = replace(
        run.deps,
        registry=run.deps.registry.narrowed(task.tools),
        limits=limits,
        depth=run.deps.depth + 1,
        boards=Boards(),
    )
    try:
        with run.board.held(aside):
            output = await asyncio.wait_for(
                _carry_out(task, prepared, child, run), timeout_s
            )
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001  a child's fault is this step's failure
        return _failed(run, started, f"{type(error).__name__}: {error}")
    run.charge(Spent.model_validate(output.pop("spent", {})))
    return _judged(task, output, prepared, run, started)


async def _carry_out(
    task: SubTask, prepared: Prepared, child: Deps, run: Run
) -> dict[str, Any]:
    goal = str(prepared.arguments["goal"])
    if task.exploring:
        return await explore(goal, child, run)
    if run.deps.spawn is None:
        raise RuntimeError("this graph cannot run sub-tasks")
    given: dict[str, Any] = {"task": goal}
    if task.plan is not None:
        given["plan"] = task.plan
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
    output: Mapping[str, Any],
    prepared: Prepared,
    run: Run,
    started: float,
) -> Called:
    """Apply the acceptance rule; only a done and accepted sub-task counts."""
    if output["status"] != TaskStatus.DONE:
        return _failed(run, started, f"{FAILED}: {output['answer'][:400]}")
    if task.acceptance and not condition(task.acceptance, output, prepared.arguments):
        return _failed(run, started, f"{FAILED}: acceptance rule: {task.acceptance}")
    return Called(value=dict(output), started_at=started, ended_at=run.now())


def _failed(run: Run, started: float, message: str) -> Called:
    facts = FailureFacts(message=message, layer=Layer.PLAN, tool="subtask")
    return Called(facts=facts, started_at=started, ended_at=run.now())
