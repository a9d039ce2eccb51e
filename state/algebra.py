"""Pure arithmetic on plans: order, ancestors, cone, diff and compare-and-set.

The topological order is Kahn's algorithm (1962) from the standard library, stable in
plan order. A proposal is accepted only against the version it was made for (F42).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pydantic import Field

from mendgraph.state.plan import Plan, Step
from mendgraph.state.record import Record


class PlanError(ValueError):
    """A plan that must not run; `problems` has one sentence for each fault."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            "The plan was refused before anything ran:\n- " + "\n- ".join(self.problems)
        )


def structural_problems(plan: Plan, max_steps: int) -> list[str]:
    """Return what is wrong with ids, dependencies and size, naming the steps."""
    known = set(plan.ids)
    problems = [
        f"step {step_id!r} is there twice; give each step its own id"
        for step_id in sorted(i for i, count in Counter(plan.ids).items() if count > 1)
    ]
    for step in plan.steps:
        problems += _dependency_problems(step, known)
    if len(plan.steps) > max_steps:
        problems.append(f"{len(plan.steps)} steps, but the limit is {max_steps}")
    reused = sorted(known & set(plan.retired))
    problems += [f"step id {i!r} was retired earlier; use a new id" for i in reused]
    cycle = None if problems else find_cycle(plan)
    if cycle:
        problems.append("the dependencies form a cycle: " + " -> ".join(cycle))
    return problems


def _dependency_problems(step: Step, known: set[str]) -> list[str]:
    problems = []
    for needed in step.dependencies:
        if needed == step.id:
            problems.append(f"step {step.id!r} depends on itself")
        elif needed not in known:
            problems.append(f"step {step.id!r} depends on {needed!r}, which is no step")
    return problems


def _graph(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {step.id: step.dependencies for step in plan.steps}


def find_cycle(plan: Plan) -> tuple[str, ...] | None:
    """Return the ids along one cycle, in order of execution, or None."""
    try:
        TopologicalSorter(_graph(plan)).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return None


def topological(plan: Plan) -> tuple[Step, ...]:
    """Return the steps so that each follows all it depends on, stable in plan order.

    Raises:
        PlanError: The dependencies form a cycle.
    """
    position = {step_id: index for index, step_id in enumerate(plan.ids)}
    sorter = TopologicalSorter(_graph(plan))
    try:
        sorter.prepare()
    except CycleError as error:
        raise PlanError(["cycle: " + " -> ".join(error.args[1])]) from error
    order: list[Step] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=position.__getitem__)
        order += [plan.steps[position[step_id]] for step_id in ready]
        sorter.done(*ready)
    return tuple(order)


def _reach(links: Mapping[str, Iterable[str]], start: Iterable[str]) -> frozenset[str]:
    seen: set[str] = set()
    waiting = list(start)
    while waiting:
        for following in links.get(waiting.pop(), ()):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return frozenset(seen)


def ancestors(plan: Plan, step_id: str) -> frozenset[str]:
    """Return the ids of all steps this one depends on, directly or not."""
    return _reach(_graph(plan), [step_id])


def downstream(plan: Plan, step_id: str) -> frozenset[str]:
    """Return the ids of all steps that depend on this one, directly or not."""
    following: dict[str, list[str]] = {}
    for step in plan.steps:
        for needed in step.dependencies:
            following.setdefault(needed, []).append(step.id)
    return _reach(following, [step_id])


def cone(plan: Plan, *step_ids: str) -> frozenset[str]:
    """Return the given steps and everything downstream of them (F41)."""
    return frozenset(step_ids).union(*(downstream(plan, i) for i in step_ids))


def lineage(plan: Plan, step_id: str, history: Mapping[str, str] | None = None) -> str:
    """Return the first id in the chain of `replaces` that led to this step."""
    replaced = dict(history or {})
    replaced |= {step.id: step.replaces for step in plan.steps if step.replaces}
    seen = {step_id}
    while (before := replaced.get(step_id)) and before not in seen:
        seen.add(before)
        step_id = before
    return step_id


class PlanDiff(Record):
    """What changed between two versions, by step id."""

    kept: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    replaced: dict[str, str] = Field(default_factory=dict)
    """New id → the id it replaces."""


def diff(before: Plan, after: Plan) -> PlanDiff:
    """Compare two versions step by step."""
    old = {step.id: step for step in before.steps}
    new = {step.id: step for step in after.steps}
    shared = [step_id for step_id in new if step_id in old]
    return PlanDiff(
        kept=tuple(i for i in shared if old[i] == new[i]),
        changed=tuple(i for i in shared if old[i] != new[i]),
        dropped=tuple(i for i in old if i not in new),
        added=tuple(i for i in new if i not in old),
        replaced={s.id: s.replaces for s in after.steps if s.replaces in old},
    )


class Proposal(Record):
    """A new version and the version it was made against."""

    base_version: int
    plan: Plan
    author: str = ""
    """Which node proposed it, for the record of conflicts."""


def accept(current: Plan | None, proposal: Proposal) -> Plan:
    """Compare and set: take the proposal if its base is current, else keep and record.

    A plan given when there is none yet is always taken.
    """
    if current is None or current.version == proposal.base_version:
        return proposal.plan
    conflict = {
        "base_version": proposal.base_version,
        "current_version": current.version,
        "proposed_version": proposal.plan.version,
        "author": proposal.author,
        "steps": list(proposal.plan.ids),
    }
    return current.model_copy(update={"conflicts": (*current.conflicts, conflict)})


def reduce_plan(left: dict[str, Any] | None, right: dict[str, Any] | None) -> Any:
    """Reduce the plan channel by the kind of update.

    `{"fresh": plan}` begins a task, `{"restore": true}` goes on with the plan before,
    a `Proposal` is compared and set. Anything else is a plan given from outside: it is
    held as it came until `think` has validated it, the one it displaced beside it.
    """
    if right is None:
        return None
    if "fresh" in right:
        return right["fresh"]
    before = left.get("before") if left and "given" in left else left
    if "restore" in right:
        return before
    if "base_version" not in right:
        return {"given": right, "before": before}
    current = Plan.model_validate(before) if before else None
    return accept(current, Proposal.model_validate(right)).plain()
