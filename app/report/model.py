"""A run as its report shows it, assembled from plain state by one pure function."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mendgraph.report import spans, steps, tally, verdict
from mendgraph.report.records import Bar, Mend, RunView, Said, Thought
from mendgraph.report.sources import Sources, masked
from mendgraph.state.correction import Action, CorrectionEntry
from mendgraph.state.lesson import NextAction, Reflection
from mendgraph.state.outcome import StepRecord, StepStatus

ASKING = frozenset({NextAction.CLARIFY, NextAction.GATHER_EVIDENCE})
"""Decisions of a reflection that put a question to a person."""
DROPPED = frozenset({"budget", "context", "dropped"})
"""Kinds of notes that tell what was left out to keep within a budget."""
TEXTS = ("text", "message", "note", "reason", "question", "description")
"""Where a note may keep its words, best first."""


def view(
    state: Mapping[str, Any],
    *,
    ledger: Sequence[Mapping[str, Any]] = (),
    strategies: Sequence[Mapping[str, Any]] = (),
    reasoning: Mapping[str, Mapping[str, Any]] | None = None,
    history: Sequence[Mapping[str, Any]] = (),
    questions: Sequence[Mapping[str, Any]] = (),
) -> RunView:
    """Return everything a report shows of one thread.

    Args:
        state: Channel values of the plan loop, plus `limits` where they are known.
        ledger: Effect ledger entries of the thread.
        strategies: Strategies of the store, for the board.
        reasoning: Reasoning chains by key; those with times become model-call bars.
        history: Plans of all versions, the current one or not, in any order.
        questions: Values of the thread's open interrupts.

    Raises:
        pydantic.ValidationError: A record does not fit this version's schema.
    """
    sources = Sources(
        masked(state),
        masked(ledger),
        masked(strategies),
        masked(reasoning or {}),
        masked(history),
        masked(questions),
    )
    nodes, bars = steps.nodes(sources), spans.bars(sources)
    thoughts, meters = spans.thoughts(sources), tally.meters(sources)
    span_s = _span(sources, bars, thoughts)
    notes = tuple(_said(each) for each in sources.trail("notes"))
    plan = sources.plan
    return RunView(
        task=str(sources.state.get("task") or (plan.goal if plan else "")),
        status=sources.status,
        answer=str(sources.state.get("answer") or ""),
        goal=plan.goal if plan else "",
        plan_id=plan.id if plan else "",
        version=plan.version if plan else 0,
        started_at=sources.origin,
        span_s=span_s,
        verdict=verdict.judge(sources, nodes, meters),
        nodes=nodes,
        bars=bars,
        thoughts=thoughts,
        corrections=_corrections(sources),
        reflections=sources.reflections,
        meters=meters,
        dropped=tuple(each for each in notes if each.kind in DROPPED),
        figures=tally.figures(sources, nodes, bars, thoughts, span_s),
        caf=tally.caf(sources),
        strategies=tally.board(sources.strategies),
        effects=sources.effects,
        answers=tuple(_said(each, "question") for each in sources.trail("answers")),
        notes=tuple(each for each in notes if each.kind not in DROPPED),
        conflicts=tuple(map(_conflict, plan.conflicts)) if plan else (),
    )


def _span(sources: Sources, bars: Iterable[Bar], thoughts: Iterable[Thought]) -> float:
    ends = [bar.end for bar in bars] + [each.end for each in thoughts]
    ends += [sources.since_origin(entry.at) for entry in sources.corrections]
    return max(0.0, *ends) if ends else 0.0


def _corrections(sources: Sources) -> tuple[Mend, ...]:
    """Return the trail, with the reflections that end in a question to a person."""
    asking = (each for each in sources.reflections if each.decision in ASKING)
    asked = (_asked(each, sources) for each in asking)
    return tuple(sorted((*_mends(sources), *asked), key=lambda mend: mend.at))


def _asked(reflection: Reflection, sources: Sources) -> Mend:
    """Return the line of a reflection that asks a person; the trail has none for it."""
    record = sources.steps.get(reflection.step_id)
    done = record is not None and record.status is StepStatus.DONE
    return Mend(
        at=_moment(reflection, sources),
        step_id=reflection.step_id,
        plan_version=record.plan_version if record else 1,
        trigger="",
        cause=f"{reflection.category}: {reflection.subclass}",
        action=Action.CLARIFY.value,
        tier="none",
        reason=_question(reflection, record),
        worked=True if done else reflection.resolved,
        reflection=reflection,
    )


def _question(reflection: Reflection, record: StepRecord | None) -> str:
    """Return the question as it was asked where the step still has it."""
    asked = record.escalation if record else None
    if asked and asked.question and asked.reflection_id == reflection.id:
        return asked.question
    return reflection.next_action or reflection.observed_issue


def _moment(reflection: Reflection, sources: Sources) -> float:
    """Return when it was made; records of others may not say."""
    try:
        return sources.since_origin(float(reflection.created_at))
    except ValueError:
        return 0.0


def _mends(sources: Sources) -> Iterable[Mend]:
    for entry in sources.corrections:
        yield Mend(
            at=sources.since_origin(entry.at),
            cause=f"{entry.category}: {entry.subclass}",
            reflection=_behind(entry, sources.reflections),
            trigger=entry.trigger.value,
            action=entry.action.value,
            **entry.model_dump(
                include={
                    "step_id",
                    "plan_version",
                    "tier",
                    "reason",
                    "worked",
                    "model_calls",
                    "prompt_tokens",
                }
            ),
        )


def _behind(entry: CorrectionEntry, known: Iterable[Reflection]) -> Reflection | None:
    """Return the newest reflection on the same step and signature.

    One that asks a person has a line of its own and is behind no other.
    """
    fitting = [
        each
        for each in known
        if each.step_id == entry.step_id
        and entry.signature == each.signature
        and each.decision not in ASKING
    ]
    return fitting[-1] if fitting else None


def _said(plain: Mapping[str, Any], kind: str = "note") -> Said:
    words = next((str(plain[name]) for name in TEXTS if plain.get(name)), "")
    answer, at = plain.get("answer"), plain.get("at", plain.get("when"))
    return Said(
        kind=str(plain.get("kind") or kind),
        text=words or ", ".join(f"{k}: {v}" for k, v in plain.items() if v),
        answer=None if answer is None else str(answer),
        step_id=str(plain["step_id"]) if plain.get("step_id") else None,
        at=float(at) if isinstance(at, int | float) else None,
    )


def _conflict(plain: Mapping[str, Any]) -> str:
    author = plain.get("author") or "somebody"
    return (
        f"{author} proposed version {plain.get('proposed_version')} against version "
        f"{plain.get('base_version')}, but version {plain.get('current_version')} "
        "was current; the proposal was not taken."
    )
