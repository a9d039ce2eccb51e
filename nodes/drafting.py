"""From a state to the planner's brief, from its draft to what the plan loop needs."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from mendgraph.nodes.brief import Brief
from mendgraph.nodes.draft import Draft
from mendgraph.nodes.nested import affected, standing
from mendgraph.nodes.planning import draft_plan
from mendgraph.nodes.recalling import knowledge_text, recall
from mendgraph.state.channels import MendState
from mendgraph.state.interrupts import Kind
from mendgraph.state.lesson import Reflection
from mendgraph.state.outcome import StepRecord, StepStatus
from mendgraph.state.plan import Plan
from mendgraph.state.record import Record
from mendgraph.state.schedule import status_of
from mendgraph.tools.memory.protocol import Query
from mendgraph.tools.run import Run


class Drafted(Record):
    """A plan that may run, or what has to happen first."""

    plan: Plan | None = None
    pending: dict[str, Any] | None = None
    notes: list[dict[str, Any]] = Field(default_factory=list)


async def draft_for(
    state: MendState,
    run: Run,
    task: str,
    *,
    scope: Literal["keep", "reset"] = "keep",
    reason: str = "",
    reflection: Reflection | None = None,
    constraints: tuple[str, ...] = (),
    again: Mapping[str, Any] | None = None,
) -> Drafted:
    """Let the model plan, or plan anew with what there is.

    Args:
        state: The thread.
        run: The node's view of the world.
        task: What is wanted.
        scope: Keep finished results, or only effects.
        reason: Why there must be another plan.
        reflection: The look at the failure that led here.
        constraints: Further constraints.
        again: The decision to come back to when no model answers now.
    """
    brief = await brief_of(state, run, task, scope, reason, reflection, constraints)
    return await _drafted(await draft_plan(brief, run), brief, run, again)


async def brief_of(
    state: MendState,
    run: Run,
    task: str,
    scope: Literal["keep", "reset"],
    reason: str,
    reflection: Reflection | None,
    constraints: tuple[str, ...],
) -> Brief:
    """Return everything the planner is told."""
    base = base_plan(state)
    records = read_records(state)
    lessons = await recall(run, Query(text=task, tools=run.deps.registry.names[:20]))
    return Brief(
        task=task,
        tools=tuple(run.deps.registry),
        constraints=(*(state.get("constraints") or ()), *constraints),
        answers=tuple(state.get("answers") or ()),
        lessons=lessons,
        knowledge=knowledge_text(run),
        base=base,
        records=records,
        done=done_steps(base, records),
        effects=await effect_steps(run, base, records),
        scope=scope,
        reason=reason,
        reflection=reflection,
        context_tokens=run.limits.context_tokens,
    )


def base_plan(state: MendState) -> Plan | None:
    """Return the plan to change, None where there is none yet."""
    plan = state.get("plan")
    if not plan or "given" in plan:
        return None
    read = Plan.model_validate(plan)
    return read if read.steps or read.retired else None


def read_records(state: MendState) -> dict[str, StepRecord]:
    """Return all step records."""
    records = state.get("steps") or {}
    return {key: StepRecord.model_validate(value) for key, value in records.items()}


def done_steps(plan: Plan | None, records: Mapping[str, StepRecord]) -> frozenset[str]:
    """Return ids of the plan's finished steps."""
    plain = {key: {"status": record.status} for key, record in records.items()}
    ids = plan.ids if plan else ()
    return frozenset(i for i in ids if status_of(plain, i) is StepStatus.DONE)


async def effect_steps(
    run: Run, plan: Plan | None, records: Mapping[str, StepRecord]
) -> frozenset[str]:
    """Return ids of steps whose effect, or a sub-task's, stands in the ledger."""
    own = frozenset(entry.step_id for entry in await standing(run, run.task_id))
    return own | (await affected(run, plan, records) if plan else frozenset())


async def _drafted(
    draft: Draft, brief: Brief, run: Run, again: Mapping[str, Any] | None
) -> Drafted:
    notes = [*draft.notes, *_shown(draft, brief, run)]
    if draft.candidates:
        key = f"candidates:{run.deps.new_id()}"
        kept = {"role": "candidates", "candidates": list(draft.candidates)}
        await run.vault.put_reasoning(key, kept)
    if draft.plan is not None:
        return Drafted(plan=draft.plan, notes=notes)
    return Drafted(pending=pending_of(draft, again), notes=notes)


def _shown(draft: Draft, brief: Brief, run: Run) -> list[dict[str, Any]]:
    """Say which lessons the planner saw, so that it can be told if they helped."""
    seen = [f.lesson for f in brief.lessons if f.lesson.id in draft.shown]
    if not seen:
        return []
    text = "lessons used: " + " | ".join(lesson.text[:120] for lesson in seen)
    return [
        {
            "kind": "lessons",
            "text": text[:600],
            "signatures": {lesson.id: lesson.signature for lesson in seen},
            "at": run.now(),
        }
    ]


def pending_of(draft: Draft, again: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what has to happen before there can be a plan.

    Args:
        draft: What planning gave.
        again: The decision to come back to when a model answers again.
    """
    if draft.unavailable:
        return {
            "kind": "clarify",
            "interrupt": Kind.MODEL_UNAVAILABLE.value,
            "origin": "model",
            "again": dict(again) if again else None,
            "reason": f"no model answers: {draft.problem}",
            "question": (
                f"No model answers: {draft.problem}. Nothing done so far is lost. "
                "Resume with approve to try again, or reject to stop here."
            ),
        }
    if draft.question:
        return {
            "kind": "clarify",
            "origin": "plan",
            "question": draft.question,
            "options": list(draft.options),
            "reason": draft.question,
        }
    return {"kind": "stopped", "reason": f"there is no plan: {draft.problem}"}
