"""Undoing effects, the newest first: the sagas of Garcia-Molina and Salem (1987), F17.

Only what the ledger shows as done is undone. Each undoing is an effect of its own:
authorised, recorded before and after, and repeated only where that is harmless.
"""

from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig

from mendgraph.nodes.aftermath import effect_status
from mendgraph.nodes.classify import classify
from mendgraph.nodes.permit import ruling
from mendgraph.nodes.prepare import masked
from mendgraph.nodes.undoing import (
    Approve,
    CannotUndo,
    Undoer,
    Undoing,
    prepared_undoing,
)
from mendgraph.state.effect import (
    EffectStatus,
    LedgerEntry,
    Resolution,
    compensation_order,
    resolve,
)
from mendgraph.state.interrupts import Kind, Question
from mendgraph.state.masking import mask
from mendgraph.tools.call import Called, call_tool
from mendgraph.tools.library import Library
from mendgraph.tools.run import Deps

__all__ = ["Approve", "compensate"]

TRIES, PAUSE_S = 3, 1.0
"""Calls of one undoing that fails for a reason that passes, and the wait between."""


async def compensate(
    deps: Deps,
    library: Library,
    ledger_id: str,
    entries: Iterable[LedgerEntry],
    config: RunnableConfig,
    *,
    approve: Approve | None = None,
) -> list[dict[str, Any]]:
    """Undo effects in reverse order, until one cannot be undone.

    Args:
        deps: What the graph was built with.
        library: The books of the store in use.
        ledger_id: What the effects are recorded under.
        entries: The effects to undo; those that are not done are left alone.
        config: Passed on to the tools; names the thread.
        approve: Asked where the rules say so; without it such an undoing is refused.

    Returns:
        For each effect, in the order tried: `key`, `step_id`, `tool`, `status` of the
        effect after it, and `why`.
    """
    undoer = Undoer(deps, library, ledger_id, config, approve)
    policies = {entry.name: entry.policy for entry in deps.registry}
    told: list[dict[str, Any]] = []
    for entry in compensation_order(entries, policies):
        why = await _undo(undoer, entry)
        known = await library.ledger.get(entry.key) or entry
        told.append(_line(known, why))
        if known.status is not EffectStatus.COMPENSATED:
            break  # what came before it may be needed to undo it later
    return told


def _line(entry: LedgerEntry, why: str) -> dict[str, Any]:
    return {
        "key": entry.key,
        "step_id": entry.step_id,
        "tool": entry.tool,
        "status": entry.status.value,
        "why": why,
    }


async def _undo(undoer: Undoer, entry: LedgerEntry) -> str:
    """Undo one effect; return what came of it in words."""
    try:
        undoing = await prepared_undoing(undoer, entry)
        repeatable = await _resolved(undoer, undoing)
        if repeatable is None:
            return await _closed(undoer, undoing, "it had been undone before")
        await _permit(undoer, undoing)
        return await _call(undoer, undoing, again=repeatable)
    except CannotUndo as problem:
        return mask(str(problem))[:300]


async def _resolved(undoer: Undoer, undoing: Undoing) -> bool | None:
    """Return whether it is begun anew or repeated; None where it has happened."""
    known = await undoer.library.ledger.get(undoing.own.key)
    resolution = resolve(known, undoing.tool.policy)
    if resolution is Resolution.REUSE:
        return None
    if resolution in {Resolution.CALL, Resolution.REPEAT_SAME_KEY}:
        return resolution is Resolution.REPEAT_SAME_KEY
    status = known.status if known else ""
    raise CannotUndo(
        f"its undoing is {status} and may not be repeated blindly; give "
        f"{undoing.tool.name} an idempotency key, or mark it idempotent"
    )


async def _permit(undoer: Undoer, undoing: Undoing) -> None:
    """See that the rules allow it, and a person where they say so."""
    tool, arguments = undoing.tool, undoing.arguments
    rule = ruling(tool, arguments, undoer.deps.authorise)
    if rule is None or rule.decision == "allow":
        return
    reason = rule.reason or f"the rules say {rule.decision}"
    if rule.decision == "deny" or undoer.approve is None:
        raise CannotUndo(f"not authorised: {tool.name}: {reason}")
    question = Question(
        kind=Kind.APPROVAL,
        name=tool.name,
        args=masked(arguments, tool.policy),
        description=f"{reason} Undoes {undoing.entry.tool} of {undoing.entry.step_id}.",
        step_id=undoing.entry.step_id,
        args_digest=undoing.own.arguments_digest,
        allowed=("approve", "reject"),
    )
    if not await undoer.approve(question.payload()):
        raise CannotUndo(f"a person rejected it: {tool.name}")


async def _call(undoer: Undoer, undoing: Undoing, *, again: bool) -> str:
    """Make the undoing's call, again where that is harmless and helps."""
    ledger, policy = undoer.library.ledger, undoing.tool.policy
    if undoing.entry.status is EffectStatus.DONE:
        note = f"being undone with {undoing.tool.name}"
        await ledger.finish(undoing.entry.key, EffectStatus.COMPENSATING, None, note)
    harmless = policy.idempotent or undoing.own.idempotency_key is not None
    for turn in range(TRIES):
        if again:
            await ledger.reopen(undoing.own.key, "repeated under the same key")
        else:
            await ledger.begin(undoing.own)
        called = await _once(undoer, undoing)
        status = effect_status(called.facts, called.value, undoing.arguments, policy)
        text = called.facts.message[:200] if called.facts else ""
        await ledger.finish(undoing.own.key, status, None, text)
        again = status is EffectStatus.UNKNOWN
        last = turn == TRIES - 1 or (again and not harmless)
        if last or not _passes(undoer, called):
            return await _ended(undoer, undoing, status, text)
        await undoer.deps.sleep(PAUSE_S)
    raise AssertionError


async def _once(undoer: Undoer, undoing: Undoing) -> Called:
    return await call_tool(
        undoing.tool,
        undoing.arguments,
        timeout_s=undoing.tool.policy.timeout_s,
        clock=undoer.deps.clock,
        config=undoer.config,
        idempotency_key=undoing.own.idempotency_key,
    )


def _passes(undoer: Undoer, called: Called) -> bool:
    facts = called.facts
    return facts is not None and classify(facts, undoer.deps.clock()).transient


async def _ended(
    undoer: Undoer, undoing: Undoing, status: EffectStatus, text: str
) -> str:
    """Write what became of the effect, and say it."""
    if status is EffectStatus.DONE:
        return await _closed(undoer, undoing, f"undone with {undoing.tool.name}")
    if status is EffectStatus.FAILED:
        why = f"it could not be undone: {text or 'the service refused'}"
        await undoer.library.ledger.finish(
            undoing.entry.key, EffectStatus.DONE, None, why
        )
        return why
    return f"its undoing is {status.value}: {text or 'not final'}"


async def _closed(undoer: Undoer, undoing: Undoing, why: str) -> str:
    ledger, key = undoer.library.ledger, undoing.entry.key
    if undoing.entry.status is EffectStatus.DONE:
        await ledger.finish(key, EffectStatus.COMPENSATING, None, why)
    await ledger.finish(key, EffectStatus.COMPENSATED, None, why)
    return why
