"""What a mended or unmended failure teaches: snapshots, strategies, rules, statistics."""

from typing import Any

from mendgraph.nodes.work import Work
from mendgraph.state.lesson import NextAction, Reflection
from mendgraph.state.outcome import Tier
from mendgraph.tools.run import Run

MENDING = frozenset({Tier.TIER2, Tier.TIER3, Tier.DIRECTED})
"""Attempts that carry out a correction worth remembering."""


async def observed(run: Run, tool: str, elapsed_ms: float, *, ok: bool) -> None:
    """Count a call in the knowledge base's statistics."""
    await run.library.knowledge.observe(tool, elapsed_ms, ok)


async def applied(work: Work, run: Run, *, worked: bool) -> list[dict[str, Any]]:
    """Record what came of the correction whose attempt was just observed.

    Returns:
        The light reflection of a mended failure, for the thread's short-term memory.
    """
    if work.call.tier not in MENDING or not work.failures:
        return []
    snapshot = _snapshot(work, run, worked=worked)
    if worked:
        run.board.resolved.append(snapshot)
    return [snapshot] if worked else []


def _snapshot(work: Work, run: Run, *, worked: bool) -> dict[str, Any]:
    """The light reflection of tier 2 (F38); not for the long term."""
    failure = work.failures[-1]
    verdict, facts = failure.classification, failure.facts
    fallback = work.call.tier is Tier.TIER3
    return Reflection(
        id=run.deps.new_id(),
        step_id=work.step.id,
        tool=facts.tool,
        tool_class=facts.tool_class,
        decision=NextAction.FALLBACK if fallback else NextAction.PATCH,
        observed_issue=facts.message[:400],
        next_action=work.call.why[:300],
        patch=dict(work.call.changes) or None,
        category=verdict.category.value,
        subclass=verdict.subclass.value,
        signature=failure.signature,
        resolved=worked,
        light=True,
        created_at=str(run.now()),
    ).plain()
