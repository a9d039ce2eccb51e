"""The steps of all plan versions as nodes: status, versions, replacements, reasons."""

from collections.abc import Callable, Mapping
from typing import Any

from mendgraph.report.records import Node
from mendgraph.report.sources import Sources
from mendgraph.state.outcome import Attempt, StepRecord, StepStatus, TaskStatus
from mendgraph.state.plan import Plan, Step


def nodes(sources: Sources) -> tuple[Node, ...]:
    """Return a node for every step of every known version, the newest text of each."""
    planned = {s.id: s for version in sources.versions for s in version.steps}
    unplanned = [each for each in sources.steps if each not in planned]
    made = [_planned(sources, step) for step in planned.values()]
    made += [_bare(sources.steps[each], sources.plan) for each in unplanned]
    heirs = _heirs(made)
    named = [n.model_copy(update={"replaced_by": heirs.get(n.id, ())}) for n in made]
    return tuple(n.model_copy(update={"why": _why(sources, n)}) for n in named)


def _planned(sources: Sources, step: Step) -> Node:
    having = [v.version for v in sources.versions if step.id in v.ids]
    current = sources.plan is not None and step.id in sources.plan.ids
    record = sources.steps.get(step.id)
    return Node(
        id=step.id,
        title=step.description,
        tool=step.tool,
        status=_status(record, current=current),
        risk=step.risk,
        dependencies=tuple(d for d in step.dependencies if d != step.id),
        since=_since(sources.versions, min(having)),
        until=None if current else max(having),
        replaces=step.replaces,
        **_measures(record),
    )


def _since(versions: tuple[Plan, ...], earliest: int) -> int | None:
    oldest = versions[0].version
    return earliest if oldest == 1 or earliest > oldest else None


def _bare(record: StepRecord, plan: Plan | None) -> Node:
    """A record whose step is in no known version."""
    return Node(
        id=record.step_id,
        title=record.description,
        tool=record.tool,
        status=record.status,
        until=record.plan_version if plan else None,
        **_measures(record),
    )


def _status(record: StepRecord | None, *, current: bool) -> StepStatus:
    if record:
        return record.status
    return StepStatus.PENDING if current else StepStatus.VOID


def _measures(record: StepRecord | None) -> dict[str, Any]:
    if record is None:
        return {}
    failures = sum(1 for attempt in record.attempts if attempt.status == "failed")
    return {
        "attempts": len(record.attempts),
        "failures": failures,
        "corrections": record.corrections,
        "seconds": _seconds(record.attempts),
        "result": record.summary.output_digest if record.summary else "",
        "notes": record.summary.notes if record.summary else (),
        "mended": record.status is StepStatus.DONE and failures > 0,
        "reused": record.reused,
    }


def _seconds(attempts: tuple[Attempt, ...]) -> float | None:
    if not attempts:
        return None
    first = min(each.started_at - each.waited_s for each in attempts)
    return max(0.0, max(each.ended_at for each in attempts) - first)


def _heirs(made: list[Node]) -> dict[str, tuple[str, ...]]:
    heirs: dict[str, tuple[str, ...]] = {}
    for node in made:
        if node.replaces:
            heirs[node.replaces] = (*heirs.get(node.replaces, ()), node.id)
    return heirs


def _why(sources: Sources, node: Node) -> str:
    record = sources.steps.get(node.id)
    if node.retired:
        return _gone(node, record)
    if node.id in sources.asked and node.status is not StepStatus.DONE:
        return f"waits for an answer: {sources.asked[node.id]}"
    if node.status is StepStatus.PENDING and sources.status is TaskStatus.RUNNING:
        return "no result yet"
    return REASONS[node.status](node, record)


def _gone(node: Node, record: StepRecord | None) -> str:
    to = ", ".join(node.replaced_by)
    fate = f"replaced by {to}" if to else f"not in the plan after version {node.until}"
    if node.status is StepStatus.DONE:
        return f"{fate}; its result stays known"
    symptom = _symptom(record) if record else ""
    return f"{fate}; {symptom}" if symptom else fate


def _done(node: Node, record: StepRecord | None) -> str:
    if node.reused:
        return "the effect had happened before and was not repeated"
    if not (node.mended and record):
        return ""
    worked = [each for each in record.attempts if each.status == "ok"]
    how = worked[-1] if worked else None
    return f"mended by {how.tier.value}: {how.why or how.tool}" if how else ""


def _failed(_node: Node, record: StepRecord | None) -> str:
    if record is None:
        return ""
    parts = [_symptom(record)]
    if record.failure:
        verdict = record.failure.classification
        parts.append(f"{verdict.category.value}: {verdict.subclass.value}")
    if record.escalation:
        parts.append(record.escalation.reason)
    return "; ".join(part for part in parts if part)


def _symptom(record: StepRecord) -> str:
    if record.failure and record.failure.facts.message:
        return record.failure.facts.message
    if record.summary and record.summary.error_message:
        return record.summary.error_message
    errors = [each.error for each in record.attempts if each.error]
    return errors[-1] if errors else ""


def _blocked(_node: Node, record: StepRecord | None) -> str:
    by = ", ".join(record.blocked_by) if record else ""
    return f"waits for {by}" if by else "waits for a step before it"


def _waiting(_node: Node, record: StepRecord | None) -> str:
    told = _failed(_node, record)
    return f"accepted, not final; {told}" if told else "accepted, not final"


def _pending(_node: Node, _record: StepRecord | None) -> str:
    return "never started"


def _void(_node: Node, _record: StepRecord | None) -> str:
    return "taken out of the plan"


REASONS: Mapping[StepStatus, Callable[[Node, StepRecord | None], str]] = {
    StepStatus.DONE: _done,
    StepStatus.FAILED: _failed,
    StepStatus.BLOCKED: _blocked,
    StepStatus.WAITING: _waiting,
    StepStatus.PENDING: _pending,
    StepStatus.VOID: _void,
}
"""Who can say why a step stands where it stands."""
