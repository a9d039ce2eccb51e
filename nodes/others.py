"""A step that wants other arguments than those it has had an effect with (F15, F16)."""

from mendgraph.nodes.aftermath import Told
from mendgraph.nodes.doubt import (
    STOP,
    ask_whether,
    can_look,
    choose,
    in_flight,
    note,
    reused,
    stopped,
    too_early,
)
from mendgraph.nodes.looking import look
from mendgraph.nodes.prepare import Prepared, masked
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.effect import IN_DOUBT, EffectStatus, LedgerEntry
from mendgraph.tools.run import Run

KEEP_AND_DO, REUSE = "do it as well", "keep the earlier one"


async def settle_others(work: Work, prepared: Prepared, run: Run) -> Observation | None:
    """Resolve this step's effects under other arguments before a new one is made.

    An effect of these very arguments that is younger shows that a person chose it.
    """
    entries = await run.library.ledger.of_lineage(run.ledger_id, work.lineage)
    live = (EffectStatus.DONE, EffectStatus.PENDING, *IN_DOUBT)
    own = [each for each in entries if each.arguments_digest == prepared.digest]
    for entry in entries:
        if entry.status not in live or entry in own or _settable(entry, prepared, run):
            continue
        chosen = any(each.created_at > entry.created_at for each in own)
        ended = await _settle(work, prepared, run, entry, chosen=chosen)
        if ended:
            return ended
    return None


def _settable(entry: LedgerEntry, prepared: Prepared, run: Run) -> bool:
    """Setting something again with the same tool is no second effect."""
    if entry.tool not in run.deps.registry:
        return False
    policy = run.deps.registry.get(entry.tool).policy
    harmless = policy.idempotent and not policy.idempotency_arg
    return harmless and entry.tool == prepared.tool


async def _settle(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry, *, chosen: bool
) -> Observation | None:
    """Find out how one of them ended; where it stands, a person decides."""
    status: EffectStatus | Observation | None = entry.status
    if entry.status is not EffectStatus.DONE:
        status = await _how_it_ended(work, prepared, run, entry)
    if isinstance(status, Observation):
        return status
    if status is None:
        return stopped(work, prepared, run, entry)
    if status is EffectStatus.FAILED or chosen:
        return None
    known = entry.but(status=status)
    if status is EffectStatus.PENDING:
        return reused(work, prepared, run, known)
    return await _beside(work, prepared, run, known)


async def _how_it_ended(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> EffectStatus | Observation | None:
    """Look, then ask; an observation means that it is too early to say."""
    other = prepared.but(tool=entry.tool, arguments=entry.arguments)
    if can_look(run, entry):
        seen = await look(work, other, run, entry)
        wait_s = too_early(work, run, entry)
        if seen.told is Told.ABSENT and wait_s > 0:
            return in_flight(work, prepared, run, wait_s)
        status = await note(run, entry, seen)
        if status is not None:
            return status
        if entry.status is EffectStatus.PENDING:
            return EffectStatus.PENDING
    return await ask_whether(work, run, entry)


async def _beside(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation | None:
    """Ask what to do about an effect that stands and a call with other arguments."""
    text = (
        f"Step {work.step.id!r} has already called {entry.tool!r} with "
        f"{entry.arguments} ({entry.status}), and now wants other arguments."
    )
    said = await choose(
        work,
        run,
        key=f"other:{entry.key}:{prepared.digest}:{work.number}:{work.state['round']}",
        name=prepared.tool,
        text=text,
        arguments=masked(
            prepared.arguments, run.deps.registry.get(prepared.tool).policy
        ),
        options=(REUSE, KEEP_AND_DO, STOP),
    )
    if said == KEEP_AND_DO:
        return None
    if said == REUSE:
        return reused(work, prepared, run, entry)
    return stopped(work, prepared, run, entry, text)
