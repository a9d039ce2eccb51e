"""Where each loop goes next: pure functions of the state, targets named as literals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.types import Send

from mendgraph.nodes.stable import history_for
from mendgraph.state.algebra import lineage
from mendgraph.state.channels import MendState, StepChannels, StepState
from mendgraph.state.correction import Action
from mendgraph.state.outcome import StepStatus
from mendgraph.state.plan import Plan, Step
from mendgraph.state.schedule import runnable, status_of
from mendgraph.tools.bindings import expressions
from mendgraph.tools.cel import compile_rule

PlanTarget = Literal["clarify", "replan", "finish", "step"]
StepTarget = Literal["execute", "retry_tier", "reflect", "__end__"]

BY_KIND: dict[str, str] = {
    "clarify": "clarify",
    "local_replan": "replan",
    "global_replan": "replan",
    "signal": "replan",
    "finish": "finish",
    "stopped": "finish",
}
"""Kind of `pending` → node of the plan loop."""


def plan_route(state: MendState) -> list[Send] | str:
    """After think, settle and replan: what `pending` says, else the next round."""
    kind = (state.get("pending") or {}).get("kind")
    if kind in BY_KIND:
        return BY_KIND[kind]
    return sends(state) or "finish"


def step_route(state: StepState) -> StepTarget:
    """After monitor, reflect and retry_tier: what the decision says."""
    decision = state.get("decision") or {}
    if not decision:
        return "__end__"
    return "reflect" if decision["action"] == Action.REFLECT else "retry_tier"


def retry_route(state: StepState) -> StepTarget:
    """After retry_tier: the next attempt, a deeper look, or the end of a wait."""
    decision = state.get("decision") or {}
    if not decision:
        return "__end__"
    return "reflect" if decision.get("action") == Action.REFLECT else "execute"


def sends(state: MendState) -> list[Send]:
    """Return one Send for each step that may run, in topological order."""
    plan = Plan.model_validate(state["plan"])
    records = state.get("steps") or {}
    steps = runnable(plan, records)
    sent, shape = frozenset(step.id for step in steps), shape_of(plan)
    briefs = (payload(state, plan, records, each, sent, shape) for each in steps)
    return [Send("step", _channels(brief)) for brief in briefs]


def _channels(brief: StepState) -> StepChannels:
    """Return what a branch begins with, as the step loop's one channel for it."""
    return {"brief": dict(brief)}


@dataclass(frozen=True)
class Shape:
    """What is the same for all steps of a plan, looked up once a round."""

    known: frozenset[str]
    firsts: Mapping[str, str]
    """Step id → its lineage, where it is another id."""


def shape_of(plan: Plan) -> Shape:
    """Return the ids and lineages of a plan."""
    replacing = [step.id for step in plan.steps if step.replaces]
    return Shape(
        known=frozenset(plan.ids), firsts={i: lineage(plan, i) for i in replacing}
    )


def payload(
    state: MendState,
    plan: Plan,
    records: Mapping[str, Any],
    step: Step,
    sent: frozenset[str],
    shape: Shape | None = None,
) -> StepState:
    """Return the state a branch begins with; its size does not depend on the plan's."""
    shape = shape or shape_of(plan)
    read = _read_by(step, shape.known) | set(step.dependencies)
    done = {
        i: records[i]["output_ref"]
        for i in sorted(read)
        if status_of(records, i) is StepStatus.DONE and records[i]["output_ref"]
    }
    before = records.get(step.id) or records.get(step.replaces or "") or {}
    moved = 0 if step.id in records or not before else 1
    base: StepState = {
        "task_id": state["task_id"],
        "task": state["task"][:500],
        "step": step.plain(),
        "lineage": before.get("lineage") or shape.firsts.get(step.id, step.id),
        "plan_version": plan.version,
        "round": state["round"],
        "base": state.get("spent") or {},
        "upstream": done,
        "awaits": sorted(read & sent - {step.id}),
        "corrections_before": before.get("corrections", 0) + moved,
    }
    if moved or before.get("corrections"):
        told = history_for(state.get("reflections") or (), records, base["lineage"])
        base["looked"], base["tried"] = told["looked"], told["tried"]
    if plan.version > 1:
        base["lineages"] = sorted({shape.firsts.get(i, i) for i in shape.known})
    return base


def _read_by(step: Step, known: frozenset[str]) -> set[str]:
    fallback = step.fallback.inputs if step.fallback else {}
    rules = [r for r in (step.precondition_rule, step.validation_rule) if r]
    found = [e.step_references(known) for e in expressions([step.templates, fallback])]
    found += [compile_rule(rule).step_references(known) for rule in rules]
    return set().union(*found)
