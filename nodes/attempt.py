"""One attempt: budget, turn and slot taken, the call made, the output kept."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from mendgraph.nodes.prepare import Prepared, masked, refused
from mendgraph.nodes.subtask import run_subtask
from mendgraph.nodes.work import RETRIES, Work
from mendgraph.state.call import Observation
from mendgraph.state.events import EventKind
from mendgraph.state.failure import Category, Classification, Reaction, Subclass
from mendgraph.state.limits import Exhausted, Spent
from mendgraph.state.outcome import Tier
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.call import Called, call_tool
from mendgraph.tools.registry import SUBTASK, Entry
from mendgraph.tools.run import Run

SERVER_ERROR, TOO_MANY = 500, 429
Begin = Callable[[], Awaitable[str | None]]

TIER_METERS: dict[Tier, str] = {
    Tier.TIER1: "tier1",
    Tier.TIER2: "tier2",
    Tier.TIER3: "tier3",
}


async def nothing() -> None:
    """Begin a call that leaves nothing behind."""


def afford(work: Work, run: Run, *, again: bool = False) -> Observation | None:
    """Take what one call costs from the budgets; what stands in the way otherwise.

    Args:
        work: The step.
        run: The node's view of the world.
        again: It repeats a call that was made before, whatever the tier.
    """
    if work.step.id in run.board.asides:
        run.meter = run.meter.plus(Spent(executions=1))
        return None  # a sub-task that goes on after a wait: the board knows its price
    retrying = again or work.call.tier in RETRIES
    exhausted = run.reserve("executions", "seconds", *(["retries"] if retrying else []))
    if exhausted:
        return out_of_budget(work, work.entry(run), exhausted)
    tier = TIER_METERS.get(work.call.tier)
    run.spend(executions=1, retries=int(retrying), **({tier: 1} if tier else {}))
    return None


async def attempt(
    work: Work, prepared: Prepared, run: Run, begin: Begin = nothing
) -> Observation:
    """Make the call once and return what it gave.

    Args:
        work: The step.
        prepared: The call, permitted and afforded.
        run: The node's view of the world.
        begin: Done right before the call, after every wait; gives the idempotency key.
    """
    entry, policy = run.deps.registry.get(prepared.tool), work.policy(run)
    run.emit(
        EventKind.STEP_STARTED,
        work.call.why or work.step.description[:160],
        step_id=work.step.id,
        attempt=work.number,
        tool=entry.name,
        tier=work.call.tier.value,
    )
    async with _turn(work, run, policy):
        called = await _carry_out(work, prepared, run, await begin())
    await _record_health(run, policy, called)
    return await observe(work, prepared, run, entry, called)


async def _carry_out(
    work: Work, prepared: Prepared, run: Run, idempotency_key: str | None
) -> Called:
    """Call the tool, or run the sub-task the step stands for."""
    entry, limit = (
        run.deps.registry.get(prepared.tool),
        call_timeout(work, work.policy(run)),
    )
    if entry.name == SUBTASK:
        return await run_subtask(work, prepared, run, timeout_s=limit)
    return await call_tool(
        entry,
        prepared.arguments,
        timeout_s=limit,
        clock=run.deps.clock,
        config=run.config,
        idempotency_key=idempotency_key,
    )


def call_timeout(work: Work, policy: ToolPolicy) -> float:
    """Return the limit of the next call in seconds."""
    return (work.step.timeout_s or policy.timeout_s) * work.call.timeout_factor


@asynccontextmanager
async def _turn(work: Work, run: Run, policy: ToolPolicy) -> AsyncIterator[None]:
    """Wait as decided, one retry to a service at a time, then hold a slot."""
    service, wait = policy.service, 0.0 if run.waited else work.call.wait_s
    slot = run.board.slot(service or work.tool, policy.concurrency)
    if work.call.tier is Tier.FIRST:
        async with slot:
            yield
    elif service:
        async with run.library.coordinator.turn(service, wait), slot:
            yield
    else:
        if wait:
            await run.deps.sleep(wait)
        async with slot:
            yield


async def _record_health(run: Run, policy: ToolPolicy, called: Called) -> None:
    """Tell the coordinator how the service answered; a client's fault is not its."""
    if policy.service:
        status = called.facts.http_status if called.facts else None
        answered = status is not None and status < SERVER_ERROR
        ok = called.facts is None or (answered and status != TOO_MANY)
        await run.library.coordinator.record(policy.service, ok, status)


async def observe(
    work: Work, prepared: Prepared, run: Run, entry: Entry, called: Called
) -> Observation:
    """Keep the output and return the observation of a call."""
    reference = None
    if called.facts is None:
        reference = await run.keep_output(work.reference(), called.value)
    return Observation(
        status="failed" if called.facts else "ok",
        tool=entry.name,
        output_ref=reference,
        facts=called.facts,
        arguments=masked(prepared.arguments, entry.policy),
        arguments_digest=prepared.digest,
        started_at=called.started_at,
        ended_at=called.ended_at,
        waited_s=work.call.wait_s,
    )


def out_of_budget(work: Work, entry: Entry, exhausted: Exhausted) -> Observation:
    """Return the observation of a call there was no budget for."""
    verdict = Classification(
        category=Category.EXECUTION,
        subclass=Subclass.RESOURCE_EXHAUSTED,
        transient=False,
        reaction=Reaction.NO_RETRY,
        confidence=1.0,
        reason=str(exhausted),
        rule="budget",
    )
    return refused(work, entry, str(exhausted), verdict)
