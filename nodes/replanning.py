"""Merge a proposal into a new version of the plan, or refuse it (F41, F44).

Pure. Local: only the cone (failed steps and all downstream of them) may change, ids are
stable, finished results stay. Global: what has had an effect and what the new plan
uses stays. Effects that happened are never planned away.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mendgraph.nodes.plan_shape import read_steps, refer_to, reused, shape
from mendgraph.nodes.schemas import ReplanDraft
from mendgraph.state.algebra import ancestors, structural_problems
from mendgraph.state.plan import Plan, Step


class ReplanRefused(ValueError):
    """A proposal that must not become the plan; `problems` has a sentence for each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("The new plan was refused:\n- " + "\n- ".join(self.problems))


def merge_patch(
    plan: Plan,
    draft: ReplanDraft,
    *,
    failed: Collection[str],
    done: Collection[str],
    cone: Collection[str],
    effects: Collection[str] = (),
) -> Plan:
    """Return the next version of a plan, changed only inside the cone.

    Cone steps the draft does not name are kept. Whoever depended on a replaced step
    depends on its replacement; bindings and rules follow.

    Args:
        plan: The current version.
        draft: What the model proposed.
        failed: Steps to mend; a finished one is here when its output is to blame.
        done: Steps with a finished result.
        cone: The steps that may change.
        effects: Steps whose effect stands in the ledger.

    Raises:
        ReplanRefused: It reuses an id, touches what is outside the cone, plans an
            effect or a finished result away, keeps what failed, or changes nothing.
    """
    replacing, problems = read_steps(_with_inherited(plan, draft.replace))
    added, more = read_steps(draft.add)
    problems += more
    gone = {step.replaces for step in replacing if step.replaces} | set(draft.drop)
    problems += _nameless(replacing)
    problems += reused([step.id for step in (*replacing, *added)], plan)
    problems += _untouchable(plan, gone, frozenset(cone), effects=effects)
    problems += _finished(gone, done=done, failed=failed)
    problems += _still_failing(gone, failed=set(failed) - set(done) - set(effects))
    _refuse(problems)
    steps = _substituted(plan, replacing, added, gone)
    return _next_version(plan, steps, gone)


def _with_inherited(plan: Plan, raw: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give replacements that name no dependencies those of the step they replace."""
    known = {step.id: step for step in plan.steps}
    told = {"dependencies", "depends_on"}
    return [
        fields
        if told & fields.keys() or str(fields.get("replaces")) not in known
        else {
            **fields,
            "dependencies": list(known[str(fields["replaces"])].dependencies),
        }
        for fields in raw
    ]


def _nameless(replacing: Sequence[Step]) -> list[str]:
    return [
        f"step {step.id!r} is under `replace` but does not say which step it replaces"
        for step in replacing
        if not step.replaces
    ]


def _untouchable(
    plan: Plan, gone: Iterable[str], cone: frozenset[str], *, effects: Collection[str]
) -> list[str]:
    problems = []
    for step_id in sorted(gone):
        if step_id not in plan.ids:
            problems.append(f"there is no step {step_id!r} to drop or replace")
        elif step_id not in cone:
            problems.append(f"step {step_id!r} is not affected and must stay as it is")
        elif step_id in effects:
            problems.append(
                f"step {step_id!r} has had an effect; keep it and add steps after it"
            )
    return problems


def _finished(
    gone: Iterable[str], *, done: Collection[str], failed: Collection[str]
) -> list[str]:
    return [
        f"step {step_id!r} is finished; its result stays"
        for step_id in sorted(gone)
        if step_id in done and step_id not in failed
    ]


def _still_failing(gone: Collection[str], *, failed: Collection[str]) -> list[str]:
    return [
        f"step {step_id!r} failed; replace it under a new id or drop it"
        for step_id in sorted(failed)
        if step_id not in gone
    ]


def _substituted(
    plan: Plan, replacing: Sequence[Step], added: Sequence[Step], gone: Collection[str]
) -> list[Step]:
    """Put replacements where the replaced steps were, and added steps at the end."""
    successors: dict[str, list[str]] = {}
    for step in replacing:
        successors.setdefault(str(step.replaces), []).append(step.id)
    by_old = {
        old: [step for step in replacing if step.replaces == old] for old in successors
    }
    steps: list[Step] = []
    for step in plan.steps:
        steps += by_old.get(step.id, []) if step.id in gone else [step]
    return [refer_to(step, successors) for step in (*steps, *added)]


def global_merge(
    plan: Plan,
    steps: Sequence[Step],
    *,
    keep: Collection[str] = (),
    done: Collection[str],
    effects: Collection[str] = (),
    goal: str | None = None,
    again: bool = False,
) -> Plan:
    """Return the next version of a plan with new steps and what must or may stay.

    Kept are finished steps that had an effect, that `keep` names or that a new step
    depends on, and what those depend on themselves.

    Args:
        plan: The current version.
        steps: The new steps; one that repeats a finished step word for word keeps it.
        keep: Finished steps to keep.
        done: Steps with a finished result.
        effects: Steps whose effect stands in the ledger.
        goal: Another goal, when the requirement changed.
        again: The same plan may be tried once more, as a person has answered.

    Raises:
        ReplanRefused: It reuses an id for something else or changes nothing.
    """
    repeated = {step.id for step in steps if _repeats(plan, step, done)}
    new = [step for step in steps if step.id not in repeated]
    wanted = {*keep, *repeated, *(i for step in new for i in step.dependencies)}
    kept = _with_ancestors(plan, (wanted & set(done)) | (set(effects) & set(plan.ids)))
    _refuse(reused([step.id for step in new], plan))
    stay = [step for step in plan.steps if step.id in kept]
    gone = set(plan.ids) - kept
    return _next_version(plan, [*stay, *new], gone, goal=goal, again=again)


def reset_merge(
    plan: Plan,
    steps: Sequence[Step],
    *,
    effects: Collection[str] = (),
    goal: str | None = None,
) -> Plan:
    """Return the next version after a changed requirement: only effects stay.

    Raises:
        ReplanRefused: It reuses an id or changes nothing.
    """
    return global_merge(plan, steps, done=effects, effects=effects, goal=goal)


def _repeats(plan: Plan, step: Step, done: Collection[str]) -> bool:
    if step.id not in done or step.id not in plan.ids:
        return False
    before = plan.step(step.id)
    return (before.tool, before.inputs) == (step.tool, step.inputs)


def _with_ancestors(plan: Plan, ids: Iterable[str]) -> set[str]:
    wanted = set(ids)
    return wanted.union(*(ancestors(plan, step_id) for step_id in wanted))


def _next_version(
    plan: Plan,
    steps: Sequence[Step],
    gone: Iterable[str],
    goal: str | None = None,
    *,
    again: bool = False,
) -> Plan:
    retired = tuple(dict.fromkeys((*plan.retired, *sorted(gone))))
    changes: Mapping[str, Any] = {
        "version": plan.version + 1,
        "steps": tuple(steps),
        "retired": retired,
        "goal": goal or plan.goal,
    }
    after = plan.model_copy(update=changes)
    _refuse(structural_problems(after, max_steps=max(len(steps), 1)))
    if not again and shape(after) == shape(plan):
        _refuse(["it is the plan that failed: the same tools with the same inputs"])
    return after


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise ReplanRefused(problems)
