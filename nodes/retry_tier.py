"""retry_tier: turn the decided correction into the next call, and wait if need be.

Tier 1 changes nothing, tier 2 changes arguments, tier 3 takes the fallback. Where
nothing new can be proposed the failure goes to `reflect`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mendgraph.nodes.corrections import TIMEOUT_FACTOR
from mendgraph.nodes.endings import end_waiting
from mendgraph.nodes.monitor import RESUMED
from mendgraph.nodes.patching import propose_fallback, propose_patch
from mendgraph.nodes.waiting import pause
from mendgraph.nodes.work import Work
from mendgraph.state.call import Call
from mendgraph.state.channels import StepState
from mendgraph.state.correction import Action, Correction
from mendgraph.state.failure import FailureFacts
from mendgraph.state.outcome import Tier
from mendgraph.tools.run import Run

Plan = Callable[[Work, Run, Correction], Awaitable[Call | str]]


async def retry_tier(state: StepState, run: Run) -> dict[str, Any]:
    """Prepare the next attempt, or hand the failure on with the reason why not.

    A pause comes first: on resume the node runs again, and a proposal is not asked for
    twice.
    """
    work = Work(state)
    correction = Correction.model_validate(
        {k: v for k, v in state["decision"].items() if k in Correction.model_fields}
    )
    waiting = await pause(work, run, correction)
    if not waiting.goes_on:
        return await _ended(work, run, correction, waiting.why)
    call = await TIERS[correction.tier](
        work, run, correction.but(wait_s=waiting.wait_s)
    )
    if isinstance(call, str):
        return _handed_on(state, correction, call)
    resumed = waiting.resumed and call.tier is Tier.POLL
    return {"call": (call.but(why=RESUMED) if resumed else call).plain()}


async def _ended(
    work: Work, run: Run, correction: Correction, why: str
) -> dict[str, Any]:
    """Leave what is not final as waiting; hand any other failure on."""
    pending = work.observation.status == "pending"
    if pending:
        return await end_waiting(work, run, None, why)
    return _handed_on(work.state, correction, why)


def _handed_on(
    state: Mapping[str, Any], correction: Correction, why: str
) -> dict[str, Any]:
    refused = correction.but(action=Action.REFLECT, tier="none", reason=why)
    return {"decision": {**state["decision"], **refused.plain()}}


async def _same(work: Work, _run: Run, correction: Correction) -> Call | str:
    """Tier 1: the same call, with a higher limit after a timeout."""
    timed_out = bool(work.failures) and _timed_out(work.failures[-1].facts)
    factor = work.call.timeout_factor * (TIMEOUT_FACTOR if timed_out else 1.0)
    return work.call.but(
        tier=Tier.TIER1,
        wait_s=correction.wait_s,
        timeout_factor=factor,
        why=correction.reason[:300],
    )


def _timed_out(facts: FailureFacts) -> bool:
    """Tell whether a limit for an answer was reached, ours or the client's."""
    return any("Timeout" in name for name in facts.exceptions)


async def _change(work: Work, run: Run, correction: Correction) -> Call | str:
    """Tier 2: arguments changed by a rule, a strategy, a snapshot, else the model."""
    source = work.state["decision"].get("source")
    changes, why, lesson = correction.changes, correction.reason, ""
    if not changes:
        proposal = await propose_patch(work, run)
        if isinstance(proposal, str):
            return proposal
        changes, why, source = proposal.changes, proposal.why, "model"
        lesson = proposal.lesson
    return work.call.but(
        tier=Tier.TIER2,
        changes={**work.call.changes, **changes},
        wait_s=correction.wait_s,
        why=why[:300],
        lesson=lesson,
        source=source,
    )


async def _fallback(work: Work, run: Run, correction: Correction) -> Call | str:
    """Tier 3: the planned fallback, the tool's alternative, or words made a call."""
    fallback, policy = work.step.fallback, work.policy(run)
    why = f"fallback: {correction.reason}"[:300]
    if fallback and fallback.tool:
        inputs = fallback.inputs or None
        return Call(tier=Tier.TIER3, tool=fallback.tool, inputs=inputs, why=why)
    if policy.fallback:
        changes = work.call.changes
        return Call(tier=Tier.TIER3, tool=policy.fallback, changes=changes, why=why)
    proposal = await propose_fallback(work, run)
    if isinstance(proposal, str):
        return proposal
    return Call(
        tier=Tier.TIER3,
        tool=proposal.tool,
        changes=proposal.changes,
        why=proposal.why[:300],
        source="model",
    )


async def _directed(work: Work, run: Run, correction: Correction) -> Call | str:
    """Carry out what a reflection directed."""
    if correction.action is Action.FALLBACK:
        call = await _fallback(work, run, correction)
        return call if isinstance(call, str) else call.but(tier=Tier.DIRECTED)
    return work.call.but(
        tier=Tier.DIRECTED,
        changes={**work.call.changes, **correction.changes},
        wait_s=correction.wait_s,
        why=correction.reason[:300],
        source=f"reflection:{correction.reflection_id}",
    )


async def _poll(work: Work, _run: Run, correction: Correction) -> Call | str:
    """Look again how far an accepted effect is."""
    return work.call.but(tier=Tier.POLL, wait_s=correction.wait_s, why="looking again")


TIERS: dict[str, Plan] = {
    "tier1": _same,
    "tier2": _change,
    "tier3": _fallback,
    "directed": _directed,
    "poll": _poll,
}
