"""What may have happened before: found in the ledger, resolved, or asked about (F16).

In doubt, the same key may go on; else the service is asked, else a person.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mendgraph.nodes.aftermath import Told
from mendgraph.nodes.classify import classify
from mendgraph.nodes.doubt import (
    ask_whether,
    can_look,
    ended_badly,
    in_flight,
    note,
    reused,
    stopped,
    too_early,
)
from mendgraph.nodes.looking import Look, look
from mendgraph.nodes.others import settle_others
from mendgraph.nodes.prepare import Prepared
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.effect import (
    EffectStatus,
    LedgerEntry,
    Resolution,
    adoptable,
    resolve,
)
from mendgraph.state.outcome import Tier
from mendgraph.tools.run import Run

LOOKS, LOOK_AGAIN_S = 3, 2.0
"""Looks that may fail before a person is asked, and the seconds between them."""
HALF_UNDONE = "its undoing began and did not end; finish that first (compensate)"


@dataclass(frozen=True)
class Ready:
    """Nothing stands in the way of the call."""

    before: LedgerEntry | None = None
    """What the ledger knows of this very effect."""
    again: bool = False
    """It is in doubt and repeated under its own key."""


Handler = Callable[[Work, Prepared, Run, LedgerEntry], Awaitable[Observation | Ready]]


async def resolved(work: Work, prepared: Prepared, run: Run) -> Observation | Ready:
    """Resolve what may have happened before."""
    ended = await settle_others(work, prepared, run)
    if ended:
        return ended
    entry = await _entry(work, prepared, run)
    resolution = resolve(entry, work.policy(run))
    if entry is None or resolution is Resolution.CALL:
        return Ready(entry)
    return await HANDLERS[resolution](work, prepared, run, entry)


async def _entry(work: Work, prepared: Prepared, run: Run) -> LedgerEntry | None:
    """Return what is known of this effect, adopting that of a step planned away."""
    ledger = run.library.ledger
    found = await ledger.find(run.ledger_id, work.lineage, prepared.digest)
    living = work.state.get("lineages") or ()
    if found is not None or not living:
        return found
    async with run.board.lock(f"adopt:{prepared.digest}"):
        entries = await ledger.of_thread(run.ledger_id)
        orphan = adoptable(entries, prepared.digest, living)
        if orphan is None:
            return None
        return await ledger.adopt(
            orphan.key,
            step_id=work.step.id,
            lineage=work.lineage,
            plan_version=work.state["plan_version"],
        )


async def _reuse(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation:
    return reused(work, prepared, run, entry)


async def _repeat(
    _work: Work, _prepared: Prepared, _run: Run, entry: LedgerEntry
) -> Ready:
    """Call again under the same key; the service or the tool makes it one effect."""
    return Ready(entry, again=entry.in_doubt)


async def _look(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation | Ready:
    """Ask the service how far it is; where it cannot say, wait or ask a person."""
    if not can_look(run, entry):
        return await _ask(work, prepared, run, entry)
    found = await look(work, prepared, run, entry)
    wait_s = _look_again_in(work, run, entry, found)
    if wait_s > 0:
        return in_flight(work, prepared, run, wait_s)
    status = await note(run, entry, found)
    accepted = entry.status is EffectStatus.PENDING
    after = status or (EffectStatus.PENDING if accepted else None)
    if after is None:
        return await _ask(work, prepared, run, entry)
    known = await run.library.ledger.get(entry.key)
    return _after(work, prepared, run, found, known or entry)


def _after(
    work: Work, prepared: Prepared, run: Run, found: Look, entry: LedgerEntry
) -> Observation | Ready:
    """Go on from what a look told."""
    if entry.status is EffectStatus.PENDING:
        return reused(work, prepared, run, entry)
    if entry.status is EffectStatus.DONE:
        return found.seen.but(effect_key=entry.key)
    if found.told is Told.ABSENT:
        return Ready(entry)
    return ended_badly(work, prepared, run, found.seen)


def _look_again_in(work: Work, run: Run, entry: LedgerEntry, found: Look) -> float:
    """Return the seconds after which another look tells more; 0 if none would."""
    if not entry.in_doubt:
        return 0.0
    if found.told is Told.ABSENT:
        return too_early(work, run, entry)
    return LOOK_AGAIN_S if found.told is None and _passing(work, run, found) else 0.0


def _passing(work: Work, run: Run, found: Look) -> bool:
    """Tell whether a look failed for a reason that passes, and not too often."""
    facts = found.seen.facts
    if facts is None or found.seen.classification is not None:
        return False
    polls = sum(1 for attempt in work.attempts if attempt.tier is Tier.POLL)
    return polls < LOOKS and classify(facts, run.now()).transient


async def _ask(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation | Ready:
    """Let a person say whether it happened; only then go on."""
    if entry.status is EffectStatus.COMPENSATING:
        return stopped(work, prepared, run, entry, HALF_UNDONE)
    status = await ask_whether(work, run, entry)
    if status is None:
        return stopped(work, prepared, run, entry)
    known = await run.library.ledger.get(entry.key)
    if status is EffectStatus.DONE and known is not None:
        return reused(work, prepared, run, known)
    return Ready(known)


HANDLERS: dict[Resolution, Handler] = {
    Resolution.REUSE: _reuse,
    Resolution.REPEAT_SAME_KEY: _repeat,
    Resolution.CONFIRM: _look,
    Resolution.WAIT: _look,
    Resolution.ASK_PERSON: _ask,
}
