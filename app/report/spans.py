"""What ran when: attempts and model calls as bars in seconds since the beginning."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from mendgraph.report.records import Bar, Thought
from mendgraph.report.sources import Sources, timed
from mendgraph.state.outcome import Attempt, StepRecord


def bars(sources: Sources) -> tuple[Bar, ...]:
    """Return one bar for each attempt, in order of time."""
    found = [b for record in sources.steps.values() for b in _of_step(sources, record)]
    return tuple(sorted(found, key=lambda bar: (bar.start, bar.step_id, bar.number)))


def _of_step(sources: Sources, record: StepRecord) -> Iterable[Bar]:
    failed = False
    for attempt in record.attempts:
        mends = failed and attempt.status == "ok"
        yield _bar(sources, record.step_id, attempt, mends=mends)
        failed = attempt.status == "failed"


def _bar(sources: Sources, step_id: str, attempt: Attempt, *, mends: bool) -> Bar:
    start = sources.since_origin(attempt.started_at)
    return Bar(
        step_id=step_id,
        start=start,
        end=max(start, sources.since_origin(attempt.ended_at)),
        mends=mends,
        **attempt.model_dump(
            exclude={"started_at", "ended_at", "arguments_digest"},
        ),
    )


def thoughts(sources: Sources) -> tuple[Thought, ...]:
    """Return one bar for each model call whose times are known."""
    kept = (sources.reasoning or {}).items()
    found = [
        Thought(
            key=key,
            role=str(each.get("role") or "model"),
            label=str(each.get("label") or ""),
            model=str(each.get("model") or ""),
            start=sources.since_origin(each["started_at"]),
            end=sources.since_origin(max(each["started_at"], each["ended_at"])),
            prompt_tokens=each.get("prompt_tokens") or 0,
            completion_tokens=each.get("completion_tokens") or 0,
        )
        for key, each in kept
        if timed(each)
    ]
    return tuple(sorted(found, key=lambda each: (each.start, each.key)))


def most_at_once(spans: Sequence[Bar]) -> int:
    """Return the highest number of calls in flight at one moment."""
    edges = [(bar.start, 1) for bar in spans] + [(bar.end, -1) for bar in spans]
    level = peak = 0
    for _, changes in groupby(sorted(edges), key=lambda edge: edge[0]):
        steps = [change for _, change in changes]
        level += sum(steps)
        peak = max(peak, level)
    return max(peak, 1) if spans else 0
