"""What the events of a run add up to, and how each reads as one plain line.

All text is untrusted: control characters and direction marks, which could rewrite what
a reader sees, are taken out (CWE-150).
"""

import unicodedata
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from mendgraph.report.words import duration, fit, number
from mendgraph.state.events import Event, EventKind
from mendgraph.state.record import Record

NEWS = 6
"""Lines of news that are kept."""
CELLS = 240
"""Columns of the text of a plain line."""

STATES: dict[EventKind, str] = {
    EventKind.STEP_STARTED: "running",
    EventKind.STEP_FINISHED: "done",
    EventKind.STEP_FAILED: "failed",
    EventKind.STEP_BLOCKED: "blocked",
    EventKind.WAITING: "waiting",
    EventKind.CORRECTION: "mending",
    EventKind.REFLECTION: "mending",
}
"""What an event makes of its step."""
UNSAID = frozenset({EventKind.STEP_STARTED, EventKind.STEP_FINISHED})
"""Not news: the table shows them."""


class Row(Record):
    """One step on the live table."""

    state: str = "pending"
    tool: str = ""
    attempt: int = 0
    text: str = ""


class Progress(Record):
    """Everything the live view knows, folded from the events."""

    task: str = ""
    version: int = 0
    began: float | None = None
    now: float = 0.0
    rows: dict[str, Row] = Field(default_factory=dict)
    news: tuple[str, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
    """Model calls, corrections and calls as the events tell them."""
    budgets: tuple[str, ...] = ()
    status: str = "running"
    seen: frozenset[tuple[str, int]] = frozenset()


def clean(text: object) -> str:
    """Return text on one line without control characters and direction marks."""
    kept = (c if unicodedata.category(c)[0] != "C" else " " for c in str(text))
    return " ".join("".join(kept).split())


def read(raw: object) -> Event | None:
    """Return the event, or None when it is none of ours."""
    if isinstance(raw, Event):
        return raw
    if not isinstance(raw, Mapping):
        return None
    known = {name: raw[name] for name in Event.model_fields if name in raw}
    try:
        return Event.model_validate(known)
    except ValidationError:
        return None


def line(event: Event, began: float | None = None) -> str:
    """Return an event as one plain line, such as `  3.2 s  step_failed  s4 #2  …`."""
    past = duration(max(0.0, event.at - (event.at if began is None else began)))
    step = clean(event.step_id or "")
    tries = f" #{event.attempt}" if step and event.attempt > 1 else ""
    words = event.event.value.replace("_", " ")
    head = f"{past:>9}  {words:<13}  {step + tries:<14}  "
    return (head + fit(clean(event.text), CELLS)).rstrip()


def fold(progress: Progress, event: Event) -> Progress:
    """Return the progress after one more event; one told twice changes nothing."""
    key = (event.id, event.attempt)
    if key in progress.seen:
        return progress
    began = event.at if progress.began is None else progress.began
    changes = {
        "began": began,
        "now": max(progress.now, event.at),
        "seen": progress.seen | {key},
        "rows": _rows(progress.rows, event),
        "counts": _counts(progress.counts, event),
        "budgets": _budgets(event.data) or progress.budgets,
        "news": _news(progress.news, event, began),
        **_task(event, progress),
    }
    return progress.model_copy(update=changes)


def _news(news: tuple[str, ...], event: Event, began: float) -> tuple[str, ...]:
    """Keep what the table does not show; a step that worked at last is news."""
    mended = event.event is EventKind.STEP_FINISHED and event.attempt > 1
    told = mended or event.event not in UNSAID
    return (*news, line(event, began))[-NEWS:] if told else news


def _task(event: Event, progress: Progress) -> dict[str, Any]:
    if event.event is EventKind.TASK_STARTED:
        return {"task": clean(event.text), "status": "running"}
    if event.event is EventKind.TASK_FINISHED:
        return {"status": clean(event.data.get("status") or "finished")}
    version = event.data.get("version")
    return {"version": version if isinstance(version, int) else progress.version}


def _rows(rows: Mapping[str, Row], event: Event) -> dict[str, Row]:
    planned = _planned(event.data.get("steps"))
    replanned = event.data if event.event is EventKind.REPLANNED else {}
    added = dict.fromkeys(_names(replanned.get("added")), Row())
    kept = {**planned, **added, **rows}
    for name in _names(replanned.get("dropped")):
        kept[name] = Row(state="void", tool=kept.get(name, Row()).tool)
    state = STATES.get(event.event)
    if event.step_id is None or state is None:
        return kept
    tool = event.data.get("tool")
    old = kept.get(event.step_id, Row())
    kept[event.step_id] = Row(
        state=state,
        tool=clean(tool) if tool else old.tool,
        attempt=max(event.attempt, old.attempt),
        text=clean(event.text),
    )
    return kept


def _planned(steps: Any) -> dict[str, Row]:
    listed = steps if isinstance(steps, list | tuple) else ()
    found = [each for each in listed if isinstance(each, Mapping)]
    return {
        str(each["id"]): Row(tool=clean(each.get("tool") or ""))
        for each in found
        if "id" in each
    }


def _names(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else []


COUNTED: dict[EventKind, str] = {
    EventKind.STEP_STARTED: "call",
    EventKind.MODEL_CALLED: "model call",
    EventKind.CORRECTION: "correction",
    EventKind.REPLANNED: "replan",
}
"""What the events add up to while the run goes on."""


def _counts(counts: Mapping[str, int], event: Event) -> dict[str, int]:
    name = COUNTED.get(event.event)
    return {**counts, name: counts.get(name, 0) + 1} if name else dict(counts)


def _budgets(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return `name spent of allowed` where an event carries both."""
    spent, limits = data.get("spent"), data.get("limits")
    if not (isinstance(spent, Mapping) and isinstance(limits, Mapping)):
        return ()
    return tuple(
        f"{clean(name).replace('_', ' ')} {number(spent[name])} of {number(allowed)}"
        for name, allowed in limits.items()
        if isinstance(allowed, int | float) and isinstance(spent.get(name), int | float)
    )
