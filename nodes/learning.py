"""What a mended or unmended failure teaches while the task runs.

Rules and strategies count their uses, a fix that worked becomes a snapshot for later
steps (F38) and, the second time, a candidate strategy (F54). A directed fix that worked
is a rerun with one thing changed: it confirms the cause it was built on.
"""

from typing import Any

from mendgraph.nodes.premend import UNMENDED, is_premended
from mendgraph.nodes.work import Work
from mendgraph.state.failure import Failure
from mendgraph.state.lesson import Application, NextAction, Reflection, Source
from mendgraph.state.masking import mask_value
from mendgraph.state.outcome import Tier
from mendgraph.tools.influences import Influence
from mendgraph.tools.run import Run

MENDING = frozenset({Tier.TIER2, Tier.TIER3, Tier.DIRECTED})
"""Attempts that carry out a correction worth remembering."""
MOST_INFLUENCES = 3
"""Changed arguments of one fix that the sensitivity map is told of."""
MAKERS: dict[str, Source] = {"model": "model", "person": "person"}
"""Sources of a call that say who changed it."""
REHEARSAL = "rehearsal"
"""Key of `configurable` that marks a run as rehearsed."""


def note_failure(run: Run, failure: Failure) -> None:
    """Count a failure among the known error patterns of its tool (F51)."""
    tool, facts = failure.facts.tool, failure.facts
    if tool and run.deps.learn:
        run.library.knowledge.note_error(tool, failure.signature, facts.message[:300])


async def observed(run: Run, tool: str, elapsed_ms: float, *, ok: bool) -> None:
    """Count a call in the knowledge base's statistics."""
    run.library.knowledge.observe(tool, elapsed_ms, ok)


def rehearsed(run: Run) -> bool:
    """Tell whether this run rehearses: what it teaches is marked so (F56)."""
    return bool((run.config.get("configurable") or {}).get(REHEARSAL))


def source_of(run: Run, maker: Source) -> Source:
    """Return who a reflection is by; whoever makes it in a rehearsal, that is it."""
    return "rehearsal" if rehearsed(run) else maker


async def applied(work: Work, run: Run, *, worked: bool) -> list[dict[str, Any]]:
    """Record what came of the correction whose attempt was just observed.

    Returns:
        Reflections for the thread: the light one of a mended failure, or the deep one
        that directed the fix, with what came of it.
    """
    if is_premended(work):
        await _premended(work, run, worked=worked)
        return []
    if work.call.tier not in MENDING or not work.failures:
        return []
    deep = _directing(work)
    snapshot = _snapshot(work, run, deep, worked=worked)
    if worked:
        replaced = _replaced(work, snapshot)
        run.board.resolved.append({**snapshot.plain(), "replaced": replaced})
    if run.deps.learn:
        await _count(work, run, snapshot, worked=worked)
        await _influence(work, run, worked=worked)
    if deep:
        await _told(run, deep, worked=worked)
        return [concluded(work, deep, worked=worked).plain()]
    return [snapshot.plain()] if worked else []


async def _premended(work: Work, run: Run, *, worked: bool) -> None:
    """Count a rule that changed the call beforehand; a failure is not yet its fault."""
    rule_id = (work.call.source or "").partition(":")[2]
    if worked and run.deps.learn:
        await run.library.rules.record(rule_id, helped=True, task_id=run.task_id)


def _directing(work: Work) -> Reflection | None:
    """Return the deep reflection that directed the attempt."""
    kind, _, wanted = (work.call.source or "").partition(":")
    kept = [r for r in work.state.get("reflections") or () if r["id"] == wanted]
    found = kind == "reflection" and kept
    return Reflection.model_validate(kept[-1]) if found else None


def concluded(work: Work, deep: Reflection, *, worked: bool) -> Reflection:
    """Return the deep reflection with what its fix came to.

    A rerun confirms a cause only where the failure would have come again unchanged.
    """
    lasting = not work.failures[-1].classification.transient
    changed = ", ".join(deep.patch or ())
    rerun = worked and lasting and bool(changed)
    verb = "passed" if worked else "failed again"
    evidence = f"rerun: with {changed or 'the fix'} changed, {deep.step_id} {verb}"
    cause = next(iter(deep.hypotheses), evidence) if rerun else None
    return deep.but(
        resolved=worked,
        confirmed_cause=deep.confirmed_cause or cause,
        evidence_refs=(*deep.evidence_refs, evidence[:300]),
    )


async def _told(run: Run, deep: Reflection, *, worked: bool) -> None:
    """Tell memory whether the lesson of a reflection did any good (noise control)."""
    if run.deps.memory is not None and run.deps.learn and deep.lesson:
        await run.deps.memory.feedback([deep.id], helped=worked)


def _replaced(work: Work, snapshot: Reflection) -> dict[str, Any]:
    """Return the values that the changed arguments had in the call that failed."""
    before = work.failures[-1].facts.arguments
    return {name: before.get(name) for name in snapshot.patch or ()}


def _snapshot(
    work: Work, run: Run, deep: Reflection | None, *, worked: bool
) -> Reflection:
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
        lesson=work.call.lesson or (deep.lesson if deep else ""),
        suggested_strategy=deep.suggested_strategy if deep else "",
        patch=mask_value(dict(work.call.changes)) or None,
        category=verdict.category.value,
        subclass=verdict.subclass.value,
        signature=failure.signature,
        resolved=worked,
        light=True,
        source=source_of(run, _maker(work, deep)),
        created_at=str(run.now()),
    )


def _maker(work: Work, deep: Reflection | None) -> Source:
    """Return who thought of the fix; what was learned before is applied by rules."""
    if deep is not None:
        return deep.source
    return MAKERS.get(work.call.source or "", "rules")


async def _count(work: Work, run: Run, snapshot: Reflection, *, worked: bool) -> None:
    kind, _, source_id = (work.call.source or "").partition(":")
    if kind == "rule":
        await run.library.rules.record(source_id, worked, task_id=run.task_id)
    elif kind == UNMENDED:
        if worked:  # nothing was wrong with the call the rule had changed
            await run.library.rules.record(
                source_id, helped=False, clean=True, task_id=run.task_id
            )
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
        rehearsed=rehearsed(run),
        args_before=facts.arguments,
        args_after={**facts.arguments, **mask_value(dict(work.call.changes))},
        error=facts.message[:400],
    )


async def _influence(work: Work, run: Run, *, worked: bool) -> None:
    """Tell the sensitivity map which arguments decided, or did not (F28)."""
    for name in list(work.call.changes)[:MOST_INFLUENCES]:
        seen = Influence(
            cause=work.tool,
            argument=name,
            effect=work.tool,
            mattered=worked,
            at=run.now(),
            how="correction",
        )
        await run.library.influences.add(seen)


def _calibrate(work: Work, run: Run, reflection_id: str, *, worked: bool) -> None:
    for kept in work.state.get("reflections") or ():
        if kept["id"] == reflection_id:
            run.library.calibration.record(
                kept["category"], kept["subclass"], kept.get("stated"), worked
            )
            return
