"""Finding the point on a thread's branch to go back to (F43). Pure.

Many steps finish inside one superstep, so a stable point is a checkpoint and the
records of the steps that had finished by then: what was done stays, the rest is open.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langgraph.types import StateSnapshot
from pydantic import Field

from mendgraph.state.outcome import StepStatus
from mendgraph.state.plan import Plan
from mendgraph.state.record import Record
from mendgraph.tools.errors import ThreadError

SHOWN = 12
"""Ids an error names of each kind."""

Target = int | str


class RollbackTargetError(ThreadError):
    """There is no such point on the thread; the message lists what there is."""


class StablePoint(Record):
    """Where a branch can go on from: a checkpoint and what was done by then."""

    label: str
    """`version 2`, `step s3` or `checkpoint …`."""
    checkpoint_id: str
    at: float
    """Seconds since the epoch."""
    task_id: str
    plan: Plan
    done: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Records of the finished steps, by id."""
    carried: tuple[str, ...] = ()
    """Those of them that finished after the checkpoint, in its superstep."""
    round: str = ""
    """Token of that superstep; names what the store kept of them."""


def checkpoint_id(snapshot: StateSnapshot) -> str:
    """Return the id of a snapshot's checkpoint."""
    settings = snapshot.config.get("configurable") or {}
    return str(settings.get("checkpoint_id", ""))


def branch(history: Sequence[StateSnapshot], head: str) -> list[StateSnapshot]:
    """Return the snapshots from the head back to the first, other branches left out."""
    known = {checkpoint_id(each): each for each in history}
    line: list[StateSnapshot] = []
    current = known.get(head)
    while current is not None:
        line.append(current)
        parent = (current.parent_config or {}).get("configurable") or {}
        current = known.get(str(parent.get("checkpoint_id", "")))
    return line


def find(
    history: Sequence[StateSnapshot],
    head: str,
    to: Target,
    finished: Mapping[str, Any],
) -> StablePoint:
    """Return the stable point a target names.

    Args:
        history: All snapshots of the thread.
        head: Id of the checkpoint the thread stands at.
        to: A plan version, a step id (right after its success), a checkpoint id.
        finished: Step records of the superstep the head stands before, as far as
            they have ended.

    Raises:
        RollbackTargetError: There is no such point.
    """
    line = branch(history, head)
    task = line[0].values.get("task_id") if line else None
    planned = [each for each in line if _of_task(each, task)]
    for look in LOOKS:
        point = look(
            planned, [each for each in history if _planned(each)], to, finished
        )
        if point is not None:
            return point
    raise RollbackTargetError(_unknown(to, planned, finished))


def _planned(snapshot: StateSnapshot) -> bool:
    plan = snapshot.values.get("plan") or {}
    return bool(plan.get("steps")) and "given" not in plan


def _of_task(snapshot: StateSnapshot, task: str | None) -> bool:
    return _planned(snapshot) and snapshot.values.get("task_id") == task


def _by_version(
    line: Sequence[StateSnapshot], _: Any, to: Target, finished: Mapping[str, Any]
) -> StablePoint | None:
    """The newest snapshot of that version, with all that was done under it."""
    wanted = to if isinstance(to, int) else _version_in(to)
    for index, snapshot in enumerate(line):
        if snapshot.values["plan"].get("version") == wanted:
            late = {} if index else _done(finished)
            return _point(f"version {wanted}", snapshot, late)
    return None


def _version_in(text: str) -> int | None:
    """Read `3` and `v3` as version 3."""
    number = text.removeprefix("v")
    return int(number) if number.isdecimal() else None


def _by_step(
    line: Sequence[StateSnapshot], _: Any, to: Target, finished: Mapping[str, Any]
) -> StablePoint | None:
    """The superstep in which the step last succeeded, cut at that moment."""
    after: Mapping[str, Any] = finished
    for snapshot in line:
        before = _done(snapshot.values.get("steps"))
        ended = _done(after)
        if to in ended and to not in before:
            cut = ended_at(ended[to])
            late = {i: r for i, r in ended.items() if i not in before}
            in_time = {i: r for i, r in late.items() if ended_at(r) <= cut}
            return _point(f"step {to}", snapshot, in_time, cut)
        after = snapshot.values.get("steps") or {}
    return None


def _by_checkpoint(
    line: Sequence[StateSnapshot],
    known: Sequence[StateSnapshot],
    to: Target,
    finished: Mapping[str, Any],
) -> StablePoint | None:
    for snapshot in known:
        if checkpoint_id(snapshot) == to:
            late = _done(finished) if line and snapshot is line[0] else {}
            return _point(f"checkpoint {to}", snapshot, late)
    return None


LOOKS: tuple[Callable[..., StablePoint | None], ...] = (
    _by_step,
    _by_checkpoint,
    _by_version,
)
"""How a target is read, in this order: a step may be called `v2`."""


def _point(
    label: str,
    snapshot: StateSnapshot,
    late: Mapping[str, Any],
    at: float | None = None,
) -> StablePoint:
    values = snapshot.values
    plan = Plan.model_validate(values["plan"])
    before = _done(values.get("steps"))
    done = _closed(plan, {**before, **late})
    times = [float(values.get("round_at", 0.0)), *map(ended_at, done.values())]
    return StablePoint(
        label=label,
        checkpoint_id=checkpoint_id(snapshot),
        at=max(times) if at is None else at,
        task_id=str(values.get("task_id", "")),
        plan=plan,
        done=done,
        carried=tuple(i for i in late if i in done),
        round=str(values.get("round", "")),
    )


def _closed(plan: Plan, done: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is not in the plan, and results whose inputs are missing."""
    kept = {i: done[i] for i in plan.ids if i in done}
    while True:
        whole = {
            i: r for i, r in kept.items() if set(plan.step(i).dependencies) <= set(kept)
        }
        if len(whole) == len(kept):
            return whole
        kept = whole


def _done(records: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        step_id: record
        for step_id, record in (records or {}).items()
        if record["status"] == StepStatus.DONE
    }


def ended_at(record: Mapping[str, Any]) -> float:
    """Return when a step's last attempt ended, in seconds since the epoch."""
    return max((each["ended_at"] for each in record["attempts"]), default=0.0)


def _unknown(
    to: Target, line: Sequence[StateSnapshot], finished: Mapping[str, Any]
) -> str:
    """Say what there is instead."""
    versions = {each.values["plan"]["version"] for each in line}
    records = [finished, *(each.values.get("steps") for each in line)]
    steps = dict.fromkeys(i for each in records for i in _done(each))
    return (
        f"there is no point {to!r} to go back to; "
        f"plan versions: {_listing(sorted(versions))}; "
        f"steps that succeeded: {_listing(steps)}; "
        f"checkpoints: {_listing(map(checkpoint_id, line))}"
    )


def _listing(items: Iterable[Any]) -> str:
    known = [str(each) for each in items]
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return ", ".join(known[:SHOWN]) + more if known else "none"
