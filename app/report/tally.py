"""The review in figures, the budgets, the strategy board (section 10.6 of the design).

Figures are counted from the records and the counters, never estimated; where a figure
has a source of its own, its note says which.
"""

from collections.abc import Iterable, Sequence

from mendgraph.nodes import economy
from mendgraph.report.records import Bar, Figure, Meter, Node, StrategyRow, Thought
from mendgraph.report.sources import Sources
from mendgraph.report.spans import most_at_once
from mendgraph.report.words import duration
from mendgraph.state.correction import Action, CorrectionEntry
from mendgraph.state.lesson import Strategy
from mendgraph.state.limits import METERS
from mendgraph.state.outcome import StepStatus

LABELS: dict[str, tuple[str, str]] = {
    "executions": ("Tool calls", ""),
    "retries": ("Retries", ""),
    "corrections": ("Directed corrections", ""),
    "replans": ("Replans", ""),
    "clarifications": ("Questions to a person", ""),
    "model_calls": ("Model calls", ""),
    "reasoning_tokens": ("Reasoning budget", "tokens"),
    "total_tokens": ("Tokens in all", "tokens"),
    "seconds": ("Working time", "s"),
}
IDLE = frozenset({Action.NONE, Action.NOTE, Action.GIVE_UP})
"""Entries of the trail that change nothing."""


def meters(sources: Sources) -> tuple[Meter, ...]:
    """Return every budget with what was spent of it."""
    made = []
    for attribute, limit in METERS:
        label, unit = LABELS.get(limit, (limit.replace("_", " ").capitalize(), ""))
        spent = getattr(sources.spent, attribute)
        allowed = getattr(sources.limits, limit)
        made.append(Meter(label=label, spent=spent, allowed=allowed, unit=unit))
    return tuple(made)


def acted(trail: Iterable[CorrectionEntry]) -> list[CorrectionEntry]:
    """Return the entries that changed something."""
    return [entry for entry in trail if entry.action not in IDLE]


def caf(sources: Sources) -> float | None:
    """Return extra model calls a correction, None before the first correction."""
    count = len(acted(sources.corrections))
    return economy.caf(sources.spent, count) if count else None


def figures(
    sources: Sources,
    nodes: Sequence[Node],
    bars: Sequence[Bar],
    thoughts: Sequence[Thought],
    span_s: float,
) -> tuple[Figure, ...]:
    """Return the quantitative review of the run."""
    return (
        *_work(sources, nodes, bars),
        *_mending(sources),
        *_thinking(sources, thoughts),
        *_time(sources, bars, span_s),
        Figure(
            label="Reflections",
            value=str(len(sources.reflections)),
            note=_confirmed(sources),
        ),
    )


def _work(
    sources: Sources, nodes: Sequence[Node], bars: Sequence[Bar]
) -> Iterable[Figure]:
    current = [node for node in nodes if not node.retired]
    done = sum(1 for node in current if node.status is StepStatus.DONE)
    first = len(sources.versions[0].steps) if sources.versions else 0
    version = sources.plan.version if sources.plan else 0
    at_first = f"{first} at first; " if first != len(current) else ""
    yield Figure(
        label="Steps in the plan",
        value=str(len(current)),
        note=f"{done} done; {at_first}plan version {version}",
    )
    counts = {status: sum(1 for b in bars if b.status == status) for status in _FATES}
    told = [f"{number} {_FATES[name]}" for name, number in counts.items() if number]
    yield Figure(
        label="Executions",
        value=str(sources.spent.executions or len(bars)),
        note=", ".join(told),
    )


_FATES = {
    "ok": "succeeded",
    "failed": "failed",
    "pending": "not final",
    "refused": "refused",
}


def _mending(sources: Sources) -> Iterable[Figure]:
    spent, trail = sources.spent, acted(sources.corrections)
    where = dict.fromkeys(entry.step_id for entry in trail if entry.step_id)
    yield Figure(
        label="Corrections", value=str(len(trail)), note=", ".join(where) or "none"
    )
    yield Figure(label="Tier 1 retries", value=str(spent.tier1), note="the same call")
    yield Figure(label="Tier 2 retries", value=str(spent.tier2), note="other arguments")
    yield Figure(label="Tier 3 fallbacks", value=str(spent.tier3), note="another way")
    yield Figure(label="Replans", value=str(spent.replans))
    factor = caf(sources)
    yield Figure(
        label="Correction amplification",
        value="n/a" if factor is None else f"{factor:.2f}",
        note="extra model calls a correction; "
        f"above {economy.CAF_WARNING:g} is a warning",
    )


def _thinking(sources: Sources, thoughts: Sequence[Thought]) -> Iterable[Figure]:
    roles: dict[str, int] = {}
    for each in thoughts:
        roles[each.role] = roles.get(each.role, 0) + 1
    spent = sources.spent
    yield Figure(
        label="Model calls",
        value=str(spent.model_calls),
        note=", ".join(f"{number} {role}" for role, number in roles.items()),
    )
    yield Figure(
        label="Tokens",
        value=f"{spent.total_tokens:,}",
        note=f"{spent.prompt_tokens:,} read, {spent.completion_tokens:,} written, "
        f"{spent.reasoning_tokens:,} of them reasoning",
    )


def _time(sources: Sources, bars: Sequence[Bar], span_s: float) -> Iterable[Figure]:
    working = sources.spent.seconds
    yield Figure(
        label="Time",
        value=duration(working or span_s),
        note=f"{duration(span_s)} from the first happening to the last",
    )
    one_by_one = sum(bar.end - bar.start for bar in bars)
    yield Figure(
        label="Most calls at once",
        value=str(most_at_once(bars)),
        note=f"one after the other the calls would take {duration(one_by_one)}",
    )


def _confirmed(sources: Sources) -> str:
    sure = sum(1 for each in sources.reflections if each.confirmed_cause)
    if not sources.reflections:
        return "nothing had to be explained"
    quick = sum(1 for each in sources.reflections if each.light)
    brief = f"{quick} brief, of tier 2; " if quick else ""
    return f"{brief}{sure} with a confirmed cause"


def board(strategies: Sequence[Strategy]) -> tuple[StrategyRow, ...]:
    """Return the strategy board: active ones first, then by use."""
    rows = [_row(strategy) for strategy in strategies]
    order = {"active": 0, "tuning": 1, "candidate": 2, "retired": 3}
    return tuple(sorted(rows, key=lambda r: (order[r.state], -r.uses, r.signature)))


def _row(strategy: Strategy) -> StrategyRow:
    times = [a.resolve_s for a in strategy.applications if a.resolve_s is not None]
    rate = strategy.successes / strategy.total if strategy.total else None
    return StrategyRow(
        id=strategy.id,
        signature=strategy.signature,
        content=strategy.content,
        action=strategy.action.value,
        state=strategy.state.value,
        version=strategy.version,
        uses=strategy.total,
        success_rate=rate,
        resolve_s=sum(times) / len(times) if times else None,
        condition=strategy.condition,
        source=strategy.source,
        rehearsed=sum(1 for each in strategy.applications if each.rehearsed),
    )
