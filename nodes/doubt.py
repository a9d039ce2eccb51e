"""Effects nobody knows the end of: what is said of them, and who is asked (F16).

The service is asked first, then a person, who may say what happened or stop. Nothing is
called here but the confirm call.
"""

from mendgraph.nodes.aftermath import Told
from mendgraph.nodes.asking import ask
from mendgraph.nodes.attempt import call_timeout
from mendgraph.nodes.looking import UNCLEAR, Look
from mendgraph.nodes.prepare import Prepared, refused
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.effect import (
    EffectStatus,
    LedgerEntry,
    absence_believed_from,
)
from mendgraph.state.failure import Category, Reaction, Subclass
from mendgraph.state.interrupts import Decision, Kind, Question
from mendgraph.tools.run import Run

HAPPENED, NOT_HAPPENED, STOP = "it happened", "it did not happen", "stop"

IN_FLIGHT = UNCLEAR.but(
    transient=True,
    reaction=Reaction.PROBE_FIRST,
    reason="the call may still be on its way; looked up again after its timeout",
    rule="in_flight",
)
STOPPED = UNCLEAR.but(reaction=Reaction.NO_RETRY, rule="stopped")
"""Nobody could or would say; nothing is repeated."""
ENDED_BADLY = UNCLEAR.but(
    category=Category.EXECUTION,
    subclass=Subclass.TOOL_EXCEPTION,
    reaction=Reaction.REPLAN,
    reason="the business status is final and bad",
    rule="business",
)
ENDED: dict[Told, EffectStatus] = {
    Told.HAPPENED: EffectStatus.DONE,
    Told.PENDING: EffectStatus.PENDING,
    Told.FAILED: EffectStatus.FAILED,
    Told.ABSENT: EffectStatus.FAILED,
}
"""What a look says → what the ledger keeps."""


def too_early(work: Work, run: Run, entry: LedgerEntry) -> float:
    """Return for how many seconds more "it did not happen" is not to be believed."""
    policy = run.deps.registry.get(entry.tool).policy
    longest = max(policy.timeout_s, call_timeout(work, policy))
    at = absence_believed_from(entry, policy.model_copy(update={"timeout_s": longest}))
    return max(0.0, at - run.now())


def in_flight(work: Work, prepared: Prepared, run: Run, wait_s: float) -> Observation:
    """A request may still be on its way: look again once its time has passed."""
    verdict = IN_FLIGHT.but(wait_s=wait_s)
    tool = run.deps.registry.get(prepared.tool)
    return refused(work, tool, verdict.reason, verdict, prepared.arguments)


def stopped(
    work: Work, prepared: Prepared, run: Run, entry: LedgerEntry, text: str = ""
) -> Observation:
    """Leave an effect as it is and end the step."""
    tool = run.deps.registry.get(prepared.tool)
    why = text or f"{UNCLEAR.reason}: {entry.tool} ({entry.note or 'no answer'})"
    seen = refused(work, tool, why, STOPPED.but(reason=why[:300]), prepared.arguments)
    return seen.but(effect_key=entry.key)


def ended_badly(
    work: Work, prepared: Prepared, run: Run, seen: Observation
) -> Observation:
    """Report an effect whose end is final and bad."""
    tool = run.deps.registry.get(prepared.tool)
    failed = refused(work, tool, ENDED_BADLY.reason, ENDED_BADLY, prepared.arguments)
    return failed.but(started_at=seen.started_at, ended_at=seen.ended_at)


async def ask_whether(work: Work, run: Run, entry: LedgerEntry) -> EffectStatus | None:
    """Let a person say whether an effect happened; None means stop."""
    lost = entry.note or "the answer was lost"
    pending = "it was accepted and there is no way to look how far it is"
    why = pending if entry.status is EffectStatus.PENDING else lost
    said = await choose(
        work,
        run,
        key=f"doubt:{entry.key}:{work.number}:{work.state['round']}",
        name=entry.tool,
        text=(
            f"It is not known whether {entry.tool!r} of step {work.step.id!r} "
            f"happened ({why}). Did it?"
        ),
        arguments=entry.arguments,
        options=(HAPPENED, NOT_HAPPENED, STOP),
    )
    if said == HAPPENED:
        reference = entry.output_ref or await run.keep_output(
            work.reference(), {"confirmed_by": "person"}
        )
        note = "a person said it happened"
        await run.library.ledger.finish(entry.key, EffectStatus.DONE, reference, note)
        return EffectStatus.DONE
    if said == NOT_HAPPENED:
        note = "a person said it did not happen"
        await run.library.ledger.finish(entry.key, EffectStatus.FAILED, None, note)
        return EffectStatus.FAILED
    return None


def can_look(run: Run, entry: LedgerEntry) -> bool:
    """Tell whether there is a confirm call for an effect."""
    known = entry.tool in run.deps.registry
    return known and run.deps.registry.get(entry.tool).policy.confirm_with is not None


async def note(run: Run, entry: LedgerEntry, seen: Look) -> EffectStatus | None:
    """Write down what a look told; None where it told nothing.

    What was once accepted is not believed to be absent.
    """
    accepted = entry.status is EffectStatus.PENDING
    if seen.told is None or (accepted and seen.told is Told.ABSENT):
        return None
    status = ENDED[seen.told]
    reference = seen.seen.output_ref
    await run.library.ledger.finish(entry.key, status, reference, "looked up")
    return status


def reused(work: Work, prepared: Prepared, run: Run, entry: LedgerEntry) -> Observation:
    """Take the result of an effect that has happened, or wait for its end."""
    pending = entry.status is EffectStatus.PENDING
    return Observation(
        status="pending" if pending else "ok",
        tool=entry.tool,
        output_ref=entry.output_ref,
        arguments=entry.arguments,
        arguments_digest=prepared.digest,
        started_at=run.now(),
        ended_at=run.now(),
        waited_s=work.call.wait_s,
        effect_key=entry.key,
        reused=True,
    )


async def choose(
    work: Work,
    run: Run,
    *,
    key: str,
    name: str,
    text: str,
    arguments: dict[str, object],
    options: tuple[str, ...],
) -> str:
    """Ask for one of a few options; nobody to ask, or a rejection, means stop."""
    question = Question(
        kind=Kind.CLARIFICATION,
        name=name,
        args=arguments,
        description=f"{text}\nAnswer with one of: {', '.join(options)}.",
        step_id=work.step.id,
        plan_version=work.state["plan_version"],
        options=options,
    )

    def judge(decision: Decision) -> str | None:
        fits = decision.type == "reject" or _said(decision) in options
        return None if fits else f"Say one of: {', '.join(options)}."

    decision = await ask(run, key, question, judge)
    if decision is None or decision.type == "reject":
        return STOP
    return _said(decision)


def _said(decision: Decision) -> str:
    return (decision.message or "").strip().lower()
