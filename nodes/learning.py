"""What a mended or unmended failure teaches while the task runs.

Rules and strategies count their uses, a fix that worked becomes a snapshot for later
steps (F38) and, the second time, a candidate strategy (F54).
"""

from typing import Any

from mendgraph.nodes.work import Work
from mendgraph.state.lesson import Application, NextAction, Reflection
from mendgraph.state.masking import mask_value
from mendgraph.state.outcome import Tier
from mendgraph.tools.run import Run

MENDING = frozenset({Tier.TIER2, Tier.TIER3, Tier.DIRECTED})
"""Attempts that carry out a correction worth remembering."""


async def observed(run: Run, tool: str, elapsed_ms: float, *, ok: bool) -> None:
    """Count a call in the knowledge base's statistics."""
    run.library.knowledge.observe(tool, elapsed_ms, ok)


async def applied(work: Work, run: Run, *, worked: bool) -> list[dict[str, Any]]:
    """Record what came of the correction whose attempt was just observed.

    Returns:
        The light reflection of a mended failure, for the thread's short-term memory.
    """
    if work.call.tier not in MENDING or not work.failures:
        return []
    snapshot = _snapshot(work, run, worked=worked)
    if worked:
        run.board.resolved.append(snapshot.plain())
    if run.deps.learn:
        await _count(work, run, snapshot, worked=worked)
    return [snapshot.plain()] if worked else []


def _snapshot(work: Work, run: Run, *, worked: bool) -> Reflection:
    """The light reflection of tier 2 (F38); it becomes a lesson when the task ends."""
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
        lesson=work.call.lesson,
        patch=mask_value(dict(work.call.changes)) or None,
        category=verdict.category.value,
        subclass=verdict.subclass.value,
        signature=failure.signature,
        resolved=worked,
        light=True,
        created_at=str(run.now()),
    )


async def _count(work: Work, run: Run, snapshot: Reflection, *, worked: bool) -> None:
    kind, _, source_id = (work.call.source or "").partition(":")
    if kind == "rule":
        await run.library.rules.record(source_id, worked, task_id=run.task_id)
    elif kind == "strategy":
        await run.library.strategies.record(source_id, _use(work, run, worked=worked))
    elif work.call.tier is not Tier.TIER3:
        await run.library.strategies.learn_from(
            snapshot,
            snapshot.patch,
            worked,
            args_before=work.failures[-1].facts.arguments,
            error=snapshot.observed_issue,
        )
    if kind == "reflection":
        _calibrate(work, run, source_id, worked=worked)


def _use(work: Work, run: Run, *, worked: bool) -> Application:
    first = work.attempts[0].started_at if work.attempts else run.now()
    facts = work.failures[-1].facts
    return Application(
        task_id=run.task_id,
        step_id=work.step.id,
        outcome="success" if worked else "failure",
        at=run.now(),
        resolve_s=run.now() - first if worked else None,
        retries=len(work.attempts),
        args_before=facts.arguments,
        args_after={**facts.arguments, **mask_value(dict(work.call.changes))},
        error=facts.message[:400],
    )


def _calibrate(work: Work, run: Run, reflection_id: str, *, worked: bool) -> None:
    for kept in work.state.get("reflections") or ():
        if kept["id"] == reflection_id:
            run.library.calibration.record(
                kept["category"], kept["subclass"], kept.get("stated"), worked
            )
