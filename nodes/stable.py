"""The plan loop's stable points: where it stands when a correction itself failed (F43).

A finished step stays finished through every replan, so going back means: what the
failed correction planned is void, what was done before it stands, and its failure is
evidence for the next one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mendgraph.nodes.convergence import looks_at
from mendgraph.state.masking import mask
from mendgraph.state.outcome import StepStatus
from mendgraph.state.plan import Plan
from mendgraph.state.schedule import status_of

START = "the start"
SHOWN = 3
"""Earlier tries of a lineage that prompts see."""
Records = Mapping[str, Mapping[str, Any]]


def stable_point(plan: Plan, records: Records) -> str:
    """Return the step that succeeded last, or that nothing has yet."""
    done = [i for i in plan.ids if status_of(records, i) is StepStatus.DONE]
    return max(done, key=lambda i: _ended(records[i]), default=START)


def _ended(record: Mapping[str, Any]) -> float:
    return max((each["ended_at"] for each in record["attempts"]), default=0.0)


def lineage_of(records: Records, step_id: str) -> str:
    """Return the lineage a step belongs to."""
    return str((records.get(step_id) or {}).get("lineage") or step_id)


def relatives(records: Records, lineage: str) -> list[str]:
    """Return the steps of a lineage that have been worked on, the oldest first."""
    own = [i for i in records if lineage_of(records, i) == lineage]
    return sorted(own, key=lambda i: (records[i]["plan_version"], _ended(records[i])))


def failed_corrections(
    trail: Iterable[Mapping[str, Any]], records: Records, step_id: str | None
) -> int:
    """Return how many replans of a step's lineage came before and have failed."""
    if step_id is None:
        return 0
    lineage = lineage_of(records, step_id)
    return sum(
        1
        for entry in trail
        if entry["tier"] == "plan"
        and entry["step_id"]
        and lineage_of(records, entry["step_id"]) == lineage
    )


def evidence(records: Records, step_ids: Iterable[str]) -> str:
    """Return what was tried before for these steps and how it failed, one a line."""
    lines = []
    for step_id in step_ids:
        before = relatives(records, lineage_of(records, step_id))
        lines += [
            _line(records[i]) for i in before if i != step_id and records[i]["failure"]
        ][-SHOWN:]
    return "\n".join(lines)


def _line(record: Mapping[str, Any]) -> str:
    said = mask(str(record["failure"]["facts"]["message"]))[:200]
    return f"tried before as {record['step_id']} with {record['tool']}: {said}"


def history_for(
    reflections: Iterable[Mapping[str, Any]], records: Records, lineage: str
) -> dict[str, Any]:
    """Return what a branch is told of its lineage; bounded whatever the plan's size."""
    own = relatives(records, lineage)
    attempts = [each for i in own for each in records[i]["attempts"]]
    looks = looks_at(reflections, set(own))
    return {
        "looked": [look.plain() for look in looks],
        "tried": [each for each in attempts if each["status"] != "ok"][-SHOWN:],
    }
