"""Exactly-once as far as the world allows: the ledger around every effect (F16, F17).

Before the call the intent, after it the outcome. What may have happened before is
resolved by the same key, by asking the service, or by a person; never by a blind call.
"""

from collections.abc import Awaitable, Callable

from mendgraph.nodes.asking import ask
from mendgraph.nodes.attempt import attempt, observe
from mendgraph.nodes.checks import condition
from mendgraph.nodes.prepare import Prepared, masked, refused
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.effect import (
    IN_DOUBT,
    EffectStatus,
    LedgerEntry,
    Resolution,
    absence_believed_from,
    adoptable,
    idempotency_key,
    next_generation,
    resolve,
)
from mendgraph.state.failure import (
    Category,
    Classification,
    FailureFacts,
    Reaction,
    Subclass,
)
from mendgraph.state.interrupts import Kind, Question
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.bindings import BindingError, render
from mendgraph.tools.call import Called, call_tool
from mendgraph.tools.ledger import entry_key
from mendgraph.tools.run import Run

Handler = Callable[[Work, Prepared, Run, LedgerEntry], Awaitable[Observation]]

HAPPENED, NOT_HAPPENED, STOP = "it happened", "it did not happen", "stop"
KEEP_AND_DO, REUSE = "do it as well", "keep the earlier one"


async def perform(work: Work, prepared: Prepared, run: Run) -> Observation:
    """Make the call, or take what the ledger knows of it instead."""
    policy = work.policy(run)
    if not policy.has_effect:
        return await attempt(work, prepared, run)
    async with run.board.lock(f"{work.lineage}:{prepared.digest}"):
        stopped = await _settle_others(work, prepared, run)
        if stopped:
            return stopped
        entry = await _entry(work, prepared, run)
        resolution = resolve(entry, policy)
        if entry is None or resolution is Resolution.CALL:
            return await _begin(work, prepared, run, entry)
        return await HANDLERS[resolution](work, prepared, run, entry)


async def _entry(work: Work, prepared: Prepared, run: Run) -> LedgerEntry | None:
    """Return what is known of this effect, adopting that of a step planned away."""
    ledger = run.library.ledger
    found = await ledger.find(run.ledger_id, work.lineage, prepared.digest)
    if found is not None or work.state["plan_version"] == 1:
        return found
    entries = await ledger.of_thread(run.ledger_id)
    living = work.state.get("lineages") or ()
    orphan = adoptable(entries, prepared.digest, living) if living else None
    if orphan is None:
        return None
    return await ledger.adopt(
        orphan.key,
        step_id=work.step.id,
        lineage=work.lineage,
        plan_version=work.state["plan_version"],
    )


async def _begin(
    work: Work, prepared: Prepared, run: Run, before: LedgerEntry | None
) -> Observation:
    """Write the intent, call, write the outcome."""
    policy, generation = work.policy(run), next_generation(before)
    place = (run.ledger_id, work.lineage, prepared.digest, generation)
    key = idempotency_key(*place) if policy.idempotency_arg else None
    entry = LedgerEntry(
        key=entry_key(*place),
        thread_id=run.ledger_id,
        step_id=work.step.id,
        lineage=work.lineage,
        plan_version=work.state["plan_version"],
        tool=prepared.tool,
        arguments=masked(prepared.arguments, policy),
        arguments_digest=prepared.digest,
        generation=generation,
        idempotency_key=key,
        created_at=run.now(),
        updated_at=run.now(),
    )
    exhausted = run.reserve("executions", "seconds")
    if exhausted is None:
        entry = await run.library.ledger.begin(entry)
    return await _call_and_close(work, prepared, run, entry)


async def _call_and_close(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation:
    seen = await attempt(work, prepared, run, entry.idempotency_key)
    if seen.classification is not None:
        return seen  # nothing was called
    return await _close(work, prepared, run, entry, seen)


async def _close(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry, seen: Observation
) -> Observation:
    """Write what became of a call, judged by rules on its result."""
    value = await run.output(seen.output_ref) if seen.output_ref else None
    status = effect_status(seen, value, prepared, work.policy(run))
    note = seen.facts.message[:200] if seen.facts else ""
    await run.library.ledger.finish(entry.key, status, seen.output_ref, note)
    pending = status is EffectStatus.PENDING
    return seen.but(effect_key=entry.key, status="pending" if pending else seen.status)


def effect_status(
    seen: Observation, value: object, prepared: Prepared, policy: ToolPolicy
) -> EffectStatus:
    """Return what is known of the effect after a call."""
    if seen.facts is not None:
        return (
            EffectStatus.FAILED if surely_nothing(seen.facts) else EffectStatus.UNKNOWN
        )
    if policy.failed_when and condition(policy.failed_when, value, prepared.arguments):
        return EffectStatus.FAILED
    if is_pending(policy, value, prepared.arguments):
        return EffectStatus.PENDING
    return EffectStatus.DONE


def is_pending(policy: ToolPolicy, value: object, arguments: dict[str, object]) -> bool:
    """Tell whether a business status is accepted but not final (F18)."""
    if policy.pending_when and condition(policy.pending_when, value, arguments):
        return True
    if policy.failed_when and condition(policy.failed_when, value, arguments):
        return False
    return bool(policy.final_when) and not condition(
        policy.final_when or "", value, arguments
    )


MAYBE_STATUSES = frozenset({408, 409, 425, 499})
"""Client errors after which the request may still have been carried out."""
NEVER_SENT = ("ConnectionRefusedError", "gaierror", "ConnectTimeout", "ConnectError")
LOST_STATES = ("08", "57P", "40003")
"""SQLSTATE classes after which a transaction's end is unknown."""


def surely_nothing(facts: FailureFacts) -> bool:
    """Tell whether a failed call certainly had no effect."""
    if facts.http_status is not None:
        refused_early = 400 <= facts.http_status < 500
        return refused_early and facts.http_status not in MAYBE_STATUSES
    if facts.sqlstate is not None:
        return not facts.sqlstate.startswith(LOST_STATES)
    return any(name.rsplit(".", 1)[-1] in NEVER_SENT for name in facts.exceptions)


async def _reuse(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation:
    """Take the result of an effect that has happened."""
    return Observation(
        status="ok",
        tool=prepared.tool,
        output_ref=entry.output_ref,
        arguments=entry.arguments,
        arguments_digest=prepared.digest,
        started_at=run.now(),
        ended_at=run.now(),
        effect_key=entry.key,
        reused=True,
    )


async def _repeat(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation:
    """Call again under the same key; the service or the tool makes it one effect."""
    exhausted = run.reserve("executions", "seconds")
    if exhausted is None:
        note = "repeated under the same key"
        entry = await run.library.ledger.reopen(entry.key, note)
    return await _call_and_close(work, prepared, run, entry)


async def _confirm(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation:
    """Ask the service whether it happened, then reuse, call or wait."""
    answer, seen = await look(work, prepared, run, entry)
    if answer is None:
        return seen if seen.facts else await _ask_person(work, prepared, run, entry)
    believed = absence_believed_from(entry, work.policy(run))
    if answer is EffectStatus.FAILED and run.now() < believed:
        return _too_early(work, prepared, run, believed - run.now())
    await run.library.ledger.finish(entry.key, answer, seen.output_ref, "confirmed")
    if answer is EffectStatus.FAILED:
        return await _begin(work, prepared, run, entry)
    pending = answer is EffectStatus.PENDING
    return seen.but(effect_key=entry.key, status="pending" if pending else seen.status)


def _too_early(work: Work, prepared: Prepared, run: Run, wait_s: float) -> Observation:
    """A request may still be on its way: look again once its time has passed."""
    reason = "the call may still be on its way; looked up again after its timeout"
    verdict = UNCLEAR.but(
        transient=True,
        reaction=Reaction.PROBE_FIRST,
        wait_s=wait_s,
        reason=reason,
        rule="in_flight",
    )
    entry = run.deps.registry.get(prepared.tool)
    return refused(work, entry, reason, verdict, prepared.arguments)


async def _wait(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation:
    """Poll an effect that was accepted and is not final."""
    if work.policy(run).confirm_with is None:
        seen = await _reuse(work, prepared, run, entry)
        return seen.but(status="pending", reused=False)
    answer, seen = await look(work, prepared, run, entry)
    if answer is None or answer is EffectStatus.PENDING:
        return seen.but(
            effect_key=entry.key, status=seen.status if seen.facts else "pending"
        )
    await run.library.ledger.finish(entry.key, answer, seen.output_ref, "polled")
    return seen.but(effect_key=entry.key)


async def look(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> tuple[EffectStatus | None, Observation]:
    """Make the confirm call; None where it tells nothing."""
    policy, confirm = work.policy(run), work.policy(run).confirm_with
    if confirm is None:
        return None, await _reuse(work, prepared, run, entry)
    before = await run.output(entry.output_ref) if entry.output_ref else {}
    tool = run.deps.registry.get(confirm.tool)
    try:
        given = render(
            confirm.arguments, {"args": prepared.arguments, "output": before}
        )
    except BindingError as error:
        return None, refused(work, tool, str(error), UNCLEAR)
    run.spend(executions=1)
    called = await call_tool(
        tool,
        given,
        timeout_s=tool.policy.timeout_s,
        clock=run.deps.clock,
        config=run.config,
    )
    seen = await observe(work, prepared, run, tool, called)
    return _reading(policy, called, prepared), seen


def _reading(
    policy: ToolPolicy, called: Called, prepared: Prepared
) -> EffectStatus | None:
    """Return what a confirm call's answer says of the effect."""
    confirm = policy.confirm_with
    if called.facts is not None:
        missing = called.facts.http_status == 404
        return EffectStatus.FAILED if missing else None
    rules = (
        (confirm.absent_when if confirm else None, EffectStatus.FAILED),
        (confirm.failed_when if confirm else None, EffectStatus.FAILED),
        (policy.failed_when, EffectStatus.FAILED),
        (policy.pending_when, EffectStatus.PENDING),
        (confirm.done_when if confirm else None, EffectStatus.DONE),
        (policy.final_when, EffectStatus.DONE),
    )
    for rule, status in rules:
        if rule and condition(rule, called.value, prepared.arguments):
            return status
    return None


UNCLEAR = Classification(
    category=Category.ENVIRONMENT,
    subclass=Subclass.SERVICE_UNAVAILABLE,
    transient=False,
    reaction=Reaction.ASK_USER,
    confidence=0.9,
    reason="it is not known whether the effect happened",
    rule="person",
)


async def _ask_person(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation:
    """Let a person say whether it happened; only then go on."""
    said = await _choose(
        work,
        run,
        key=f"doubt:{entry.key}:{work.number}:{work.state['round']}",
        name=prepared.tool,
        text=(
            f"It is not known whether {prepared.tool!r} of step {work.step.id!r} "
            f"happened ({entry.note or 'the answer was lost'}). Did it?"
        ),
        arguments=entry.arguments,
        options=(HAPPENED, NOT_HAPPENED, STOP),
    )
    ledger = run.library.ledger
    if said == HAPPENED:
        reference = await run.keep_output(work.reference(), {"confirmed_by": "person"})
        await ledger.finish(entry.key, EffectStatus.DONE, reference, "a person said so")
        return await _reuse(work, prepared, run, entry.but(output_ref=reference))
    if said == NOT_HAPPENED:
        await ledger.finish(entry.key, EffectStatus.FAILED, None, "a person said so")
        return await _begin(work, prepared, run, entry)
    return _in_doubt(work, prepared, run, entry)


def _in_doubt(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation:
    tool = run.deps.registry.get(prepared.tool)
    text = f"{UNCLEAR.reason}: {prepared.tool} ({entry.note or 'no answer'})"
    seen = refused(work, tool, text, UNCLEAR, prepared.arguments)
    return seen.but(effect_key=entry.key)


HANDLERS: dict[Resolution, Handler] = {
    Resolution.REUSE: _reuse,
    Resolution.REPEAT_SAME_KEY: _repeat,
    Resolution.CONFIRM: _confirm,
    Resolution.WAIT: _wait,
    Resolution.ASK_PERSON: _ask_person,
}


async def _settle_others(
    work: Work, prepared: Prepared, run: Run
) -> Observation | None:
    """Resolve effects of the same step under other arguments before a new one."""
    if work.policy(run).idempotent and not work.policy(run).idempotency_arg:
        return None  # setting something again is no second effect
    entries = await run.library.ledger.of_lineage(run.ledger_id, work.lineage)
    live = (EffectStatus.DONE, EffectStatus.PENDING, *IN_DOUBT)
    others = [
        entry
        for entry in entries
        if entry.status in live
        and entry.arguments_digest != prepared.digest
        and entry.compensates is None
    ]
    for entry in others:
        stopped = await _settle_other(work, prepared, run, entry)
        if stopped:
            return stopped
    return None


async def _settle_other(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry
) -> Observation | None:
    if entry.status in IN_DOUBT and work.policy(run).confirm_with:
        answer, _ = await look(
            work, prepared.but(arguments=entry.arguments), run, entry
        )
        if answer is not None:
            await run.library.ledger.finish(entry.key, answer, None, "confirmed")
            if answer is EffectStatus.FAILED:
                return None
    said = await _choose(
        work,
        run,
        key=f"other:{entry.key}:{prepared.digest}",
        name=prepared.tool,
        text=(
            f"Step {work.step.id!r} has already called {entry.tool!r} with "
            f"{entry.arguments} ({entry.status}), and now wants other arguments."
        ),
        arguments=masked(prepared.arguments, work.policy(run)),
        options=(REUSE, KEEP_AND_DO, STOP),
    )
    if said == KEEP_AND_DO:
        return None
    if said == REUSE:
        return await _reuse(work, prepared, run, entry)
    return _in_doubt(work, prepared, run, entry)


async def _choose(
    work: Work,
    run: Run,
    *,
    key: str,
    name: str,
    text: str,
    arguments: dict[str, object],
    options: tuple[str, ...],
) -> str:
    """Ask for one of a few options; anything else, or nobody to ask, means stop."""
    question = Question(
        kind=Kind.CLARIFICATION,
        name=name,
        args=arguments,
        description=f"{text}\nAnswer with one of: {', '.join(options)}.",
        step_id=work.step.id,
        plan_version=work.state["plan_version"],
        options=options,
    )
    decision = await ask(run, key, question)
    said = (decision.message or "").strip().lower() if decision else STOP
    return said if said in options else STOP
