"""Exactly-once as far as the world allows: the ledger around every effect (F16, F17).

What may have happened before is resolved first: by the same key, by asking the service,
or by a person; never by a blind call. Then comes permission, then the intent, the call,
the outcome. Questions about the past come before those about permission, so that a
re-run asks in the same order.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mendgraph.nodes.aftermath import effect_status
from mendgraph.nodes.attempt import afford, attempt
from mendgraph.nodes.permit import ApprovalExpired, Permitted, expired, permit
from mendgraph.nodes.prepare import Prepared, masked
from mendgraph.nodes.refusals import ran_out, repeats_failure
from mendgraph.nodes.resolving import Ready, resolved
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.effect import (
    EffectStatus,
    LedgerEntry,
    idempotency_key,
    next_generation,
)
from mendgraph.tools.ledger import entry_key
from mendgraph.tools.run import Run


@dataclass(frozen=True)
class Performed:
    """What came of it, and the call as it was permitted in the end."""

    seen: Observation
    permitted: Permitted


async def perform(work: Work, prepared: Prepared, run: Run) -> Performed:
    """Make the call, or take what the ledger knows of it instead."""
    permitted = Permitted(prepared=prepared, approval=work.approval)
    way = _effect if work.policy(run).has_effect else _read
    while True:
        try:
            done = await way(work, permitted, run)
        except ApprovalExpired:
            return Performed(ran_out(work, permitted.prepared, run), permitted)
        if isinstance(done, Performed):
            return done
        permitted = done  # a person edited it: it is another call


async def _read(work: Work, asked: Permitted, run: Run) -> Performed | Permitted:
    allowed = await _allowed(work, asked, run)
    if not isinstance(allowed, Permitted):
        return Performed(allowed, asked)
    if allowed.prepared.digest != asked.prepared.digest:
        return allowed
    seen = afford(work, run)
    if seen is None:
        seen = await attempt(work, allowed.prepared, run, _unless_expired(allowed, run))
    return Performed(seen, allowed)


async def _effect(work: Work, asked: Permitted, run: Run) -> Performed | Permitted:
    prepared = asked.prepared
    async with run.board.lock(f"{work.lineage}:{prepared.digest}"):
        ready = await resolved(work, prepared, run)
        if isinstance(ready, Observation):
            return Performed(ready, asked)
        allowed = await _allowed(work, asked, run)
        if not isinstance(allowed, Permitted):
            return Performed(allowed, asked)
        if allowed.prepared.digest != prepared.digest:
            return allowed
        return Performed(await _make(work, allowed, run, ready), allowed)


async def _allowed(work: Work, asked: Permitted, run: Run) -> Permitted | Observation:
    """Return the call as it may be made now, or why it may not."""
    hopeless = repeats_failure(work, asked.prepared, run)
    return hopeless or await permit(work, asked, run)


async def _make(work: Work, allowed: Permitted, run: Run, ready: Ready) -> Observation:
    """Write the intent, call, write the outcome."""
    prepared = allowed.prepared
    unaffordable = afford(work, run, again=ready.before is not None)
    if unaffordable:
        return unaffordable
    fresh, ledger = _fresh(work, prepared, run, ready), run.library.ledger
    check = _unless_expired(allowed, run)

    async def begin() -> str | None:
        await check()
        if ready.again:
            await ledger.reopen(fresh.key, "repeated under the same key")
        else:
            await ledger.begin(fresh)
        return fresh.idempotency_key

    seen = await attempt(work, prepared, run, begin)
    return await _close(work, prepared, run, fresh, seen)


def _fresh(work: Work, prepared: Prepared, run: Run, ready: Ready) -> LedgerEntry:
    """Return the entry of the call about to be made."""
    if ready.again and ready.before:
        return ready.before
    policy, generation = work.policy(run), next_generation(ready.before)
    place = (run.ledger_id, work.lineage, prepared.digest, generation)
    return LedgerEntry(
        key=entry_key(*place),
        thread_id=run.ledger_id,
        step_id=work.step.id,
        lineage=work.lineage,
        plan_version=work.state["plan_version"],
        tool=prepared.tool,
        arguments=masked(prepared.arguments, policy),
        arguments_digest=prepared.digest,
        generation=generation,
        idempotency_key=idempotency_key(*place) if policy.idempotency_arg else None,
    )


def _unless_expired(allowed: Permitted, run: Run) -> Callable[[], Awaitable[None]]:
    """Return what stops a call whose approval ran out while it waited."""

    async def check() -> None:
        if expired(allowed.approval, run.now()):
            raise ApprovalExpired

    return check


async def _close(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry, seen: Observation
) -> Observation:
    """Write what became of a call, judged by rules on its result."""
    value = await run.output(seen.output_ref) if seen.output_ref else None
    policy = work.policy(run)
    status = effect_status(seen.facts, value, prepared.arguments, policy)
    text = seen.facts.message[:200] if seen.facts else ""
    await run.library.ledger.finish(entry.key, status, seen.output_ref, text)
    pending = status is EffectStatus.PENDING
    return seen.but(effect_key=entry.key, status="pending" if pending else seen.status)
