"""Soft and environment triggers on results that passed every check (F20, F21).

A passing result is never thrown away: soft signs are watched, and acted on when two in
a row show them. A changed environment concerns the steps that have not run yet.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from mendgraph.nodes.checks import NULLS_ALLOWED, Verdict
from mendgraph.nodes.sensitivity import (
    Edge,
    grade_of,
    sensitivity_map,
    watched_from,
)
from mendgraph.nodes.work import Work
from mendgraph.state.correction import (
    Action,
    CorrectionEntry,
    Trigger,
    look_up,
)
from mendgraph.state.failure import Category
from mendgraph.state.record import Record
from mendgraph.tools.run import Run

NOISE_MS = 50.0
"""Times below this say nothing: a busy machine makes them."""
SLOW_FACTOR = 3.0
"""A step that takes so many times the expected time is a soft sign (5.1)."""
WARNING_HEADERS = ("deprecation", "sunset", "warning")
"""Headers that tell of a change to come (RFC 9745, RFC 8594, RFC 9111 5.5)."""
VERSION_HEADERS = ("api-version", "x-api-version")
FINGERPRINTS = ("schema_fingerprint", "fingerprint")
"""Fields of an output that change when a resource's schema does."""
RESOURCES = ("table", "resource", "url", "path", "name")
CUT_SHORT = 0.4
"""Deviation of a result that says it is cut: suspicious for a query only."""
PLAN_WIDE = frozenset({Action.GLOBAL_REPLAN, Action.LOCAL_REPLAN})


class Sign(Record):
    """One soft sign."""

    name: str
    """`deviation`, `rising` or `slow`."""
    text: str
    category: Category


class Watched(Record):
    """What was noticed about a passing result."""

    deviation: float = 0.0
    notes: tuple[str, ...] = ()
    """In words, for the record."""
    entries: list[dict[str, Any]] = Field(default_factory=list)
    """Notes for the thread: triggers with their resource, tool and step."""
    corrections: list[dict[str, Any]] = Field(default_factory=list)
    """Trail entries of triggers that were acted on."""


async def watch(work: Work, run: Run, verdict: Verdict, output: Any) -> Watched:
    """Look at a passing result for soft signs and for a changed environment."""
    if work.observation.reused:
        return Watched()
    deviation = deviation_of(output, verdict.null_share)
    signs = list(_signs(work, run, deviation))
    soft = _soft(work, run, signs)
    changed = _environment(work, run, output)
    return Watched(
        deviation=deviation,
        notes=(*soft.notes, *changed.notes),
        entries=[*soft.entries, *changed.entries],
        corrections=[*soft.corrections, *changed.corrections],
    )


def deviation_of(output: Any, null_share: float) -> float:
    """Return how far a passing result is from a clean one, 0..1: its worst sign.

    Args:
        output: The result.
        null_share: Largest share of rows in which a required field is null.
    """
    return max(_shares(output, null_share), default=0.0)


def _shares(output: Any, null_share: float) -> Iterator[float]:
    yield min(1.0, null_share / NULLS_ALLOWED)
    if isinstance(output, str):
        yield min(1.0, output.count("�") / 3)
    if isinstance(output, Mapping):
        yield CUT_SHORT if output.get("truncated") is True else 0.0
        yield from _left_out(output)


def _left_out(output: Mapping[str, Any]) -> Iterator[float]:
    for name in ("skipped", "ragged_rows"):
        lost, kept = output.get(name), output.get("rows", output.get("row_count"))
        total = kept if isinstance(kept, int) else len(kept or ())
        if isinstance(lost, int) and lost > 0:
            yield lost / (lost + total)


def _signs(work: Work, run: Run, deviation: float) -> Iterator[Sign]:
    tool, policy = work.observation.tool, work.policy(run)
    grade = grade_of(_edges(run), tool)
    limit = watched_from(run.library.knowledge.threshold(tool, policy.kind), grade)
    if deviation > limit:
        text = f"deviation {deviation:.2f} over {limit:.2f}"
        yield Sign(name="deviation", text=text, category=Category.EXECUTION)
    before = _history(run, tool)
    if len(before) > 1 and before[-2] < before[-1] < deviation:
        text = f"deviation rises: {before[-2]:.2f}, {before[-1]:.2f}, {deviation:.2f}"
        yield Sign(name="rising", text=text, category=Category.EXECUTION)
    run.board.remember(_key("deviations", tool), [*before, deviation][-2:])
    expected = _expected_ms(work, run)
    took = work.observation.elapsed_ms
    if expected and took > max(SLOW_FACTOR * expected, NOISE_MS):
        text = f"took {took:.0f} ms, {expected:.0f} ms were expected"
        yield Sign(name="slow", text=text, category=Category.ENVIRONMENT)


def _edges(run: Run) -> tuple[Edge, ...]:
    """Return the sensitivity map, made once a round for each state of the book."""
    influences = run.library.influences.all()
    key = f"watch:map:{len(influences)}"
    held, kept = run.board.recall(key)
    edges: tuple[Edge, ...] = kept if held else sensitivity_map(influences)
    if not held:
        run.board.remember(key, edges)
    return edges


def _expected_ms(work: Work, run: Run) -> float | None:
    planned = work.step.expected_ms or work.policy(run).expected_ms
    return planned or run.library.knowledge.expected_ms(work.observation.tool)


def _history(run: Run, tool: str) -> list[float]:
    found, value = run.board.recall(_key("deviations", tool))
    return value if found else []


def _key(what: str, tool: str) -> str:
    return f"watch:{what}:{tool}"


def _soft(work: Work, run: Run, signs: list[Sign]) -> Watched:
    """Observe the first sign of a tool; act on the second in a row (11.3)."""
    tool = work.observation.tool
    key = _key("soft", tool)
    _, before = run.board.recall(key)
    run.board.remember(key, bool(signs))
    if not signs:
        return Watched()
    notes = tuple(sign.text for sign in signs)
    if not before:
        return Watched(notes=notes, entries=[_entry(work, run, signs, Action.NONE)])
    row = look_up(Trigger.SOFT, signs[0].category, run.deps.matrix)
    action = row.action if row.action in PLAN_WIDE else Action.NOTE
    entry = _entry(work, run, signs, action)
    trail = [_trail(work, run, Trigger.SOFT, signs[0].category, action, entry["text"])]
    return Watched(notes=notes, entries=[entry], corrections=trail)


def _entry(work: Work, run: Run, signs: list[Sign], action: Action) -> dict[str, Any]:
    said = "; ".join(sign.text for sign in signs)
    stage = "observed once" if action is Action.NONE else "the second in a row"
    return {
        "kind": "trigger",
        "trigger": Trigger.SOFT.value,
        "action": action.value,
        "tool": work.observation.tool,
        "step_id": work.step.id,
        "resource": work.observation.tool,
        "signs": [sign.name for sign in signs],
        "text": f"{work.step.id}: {said} ({stage})",
        "at": run.now(),
    }


def _trail(
    work: Work, run: Run, trigger: Trigger, category: Category, action: Action, why: str
) -> dict[str, Any]:
    return CorrectionEntry(
        step_id=work.step.id,
        trigger=trigger,
        category=category.value,
        subclass="-",
        action=action,
        tier="none",
        reason=why[:300],
        at=run.now(),
        plan_version=work.state["plan_version"],
    ).plain()


def _environment(work: Work, run: Run, output: Any) -> Watched:
    """Note announced changes; a change of what was known before is a trigger."""
    if not isinstance(output, Mapping):
        return Watched()
    notes: list[str] = []
    entries: list[dict[str, Any]] = []
    for resource, fingerprint, text in _facts_of(work, output):
        notes += [text] if text else []
        if _is_news(run, resource, fingerprint, announced=bool(text)):
            said = text or f"{resource} is not as it was (fingerprint {fingerprint})"
            notes += [] if text else [said]
            entries.append(_event(work, run, resource, said))
    return Watched(notes=tuple(notes), entries=entries)


def _is_news(run: Run, resource: str, fingerprint: str, *, announced: bool) -> bool:
    """Keep a fingerprint; an announcement is news at once, all else when it changes."""
    knowledge = run.library.knowledge
    before = knowledge.fingerprint(resource)
    if before is None and not fingerprint:
        return False  # nothing was announced, and nothing is kept of that
    changed = knowledge.fingerprint_changed(resource, fingerprint)
    return bool(fingerprint) and (changed or (announced and before is None))


def _facts_of(work: Work, output: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield resource, fingerprint and what is announced, for what an output tells."""
    resource = resource_of(work, output)
    for name in FINGERPRINTS:
        if isinstance(output.get(name), str):
            yield f"schema:{resource}", output[name], ""
    headers = output.get("headers")
    if isinstance(headers, Mapping):
        lower = {str(name).lower(): str(value) for name, value in headers.items()}
        told = [f"{n}: {lower[n][:120]}" for n in WARNING_HEADERS if lower.get(n)]
        versions = [f"{n}: {lower[n][:40]}" for n in VERSION_HEADERS if lower.get(n)]
        yield f"headers:{resource}", "; ".join([*told, *versions]), "; ".join(told)


def resource_of(work: Work, output: Mapping[str, Any]) -> str:
    """Return the name of what was looked at: a table, an address, else the tool."""
    arguments = work.observation.arguments
    for name in RESOURCES:
        for source in (arguments, output):
            if isinstance(source.get(name), str) and source[name]:
                return str(source[name])[:200]
    return work.observation.tool


def _event(work: Work, run: Run, resource: str, text: str) -> dict[str, Any]:
    row = look_up(Trigger.ENVIRONMENT, Category.ENVIRONMENT, run.deps.matrix)
    return {
        "kind": "trigger",
        "trigger": Trigger.ENVIRONMENT.value,
        "action": row.action.value,
        "tool": work.observation.tool,
        "step_id": work.step.id,
        "resource": resource.partition(":")[2] or resource,
        "text": f"the environment changed: {text}"[:300],
        "at": run.now(),
    }


def plan_wide(entries: list[dict[str, Any]]) -> bool:
    """Tell whether a trigger asks for another plan."""
    return any(each["action"] in PLAN_WIDE for each in entries)
