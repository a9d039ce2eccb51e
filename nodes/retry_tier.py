"""retry_tier: turn the decided correction into the next call, and wait if need be.

Tier 1 changes nothing, tier 2 changes arguments, tier 3 takes the fallback. Where
nothing new can be proposed the failure goes to `reflect`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from mendgraph.nodes.asking import ask
from mendgraph.nodes.corrections import TIMEOUT_FACTOR
from mendgraph.nodes.monitor import RESUMED
from mendgraph.nodes.patching import propose_fallback, propose_patch
from mendgraph.nodes.work import Work
from mendgraph.state.call import Call
from mendgraph.state.channels import StepState
from mendgraph.state.correction import Action, Correction
from mendgraph.state.events import EventKind
from mendgraph.state.interrupts import Kind, Question
from mendgraph.state.outcome import Tier
from mendgraph.tools.run import Run

Plan = Callable[[Work, Run, Correction], Awaitable[Call | str]]


async def retry_tier(state: StepState, run: Run) -> dict[str, Any]:
    """Prepare the next attempt, or hand the failure on with the reason why not."""
    work = Work(state)
    correction = Correction.model_validate(
        {k: v for k, v in state["decision"].items() if k in Correction.model_fields}
    )
    call = await TIERS[correction.tier](work, run, correction)
    if isinstance(call, str):
        refused = correction.but(action=Action.REFLECT, tier="none", reason=call)
        return {"decision": {**state["decision"], **refused.plain()}}
    call = await _paused(work, run, call, correction)
    return {"call": call.plain()}


async def _same(work: Work, run: Run, correction: Correction) -> Call | str:
    """Tier 1: the same call, with a higher limit after a timeout."""
    timed_out = bool(work.failures) and (
        work.failures[-1].facts.timeout_s is not None
        and "no answer within" in work.failures[-1].facts.message
    )
    factor = work.call.timeout_factor * (TIMEOUT_FACTOR if timed_out else 1.0)
    return work.call.but(
        tier=Tier.TIER1,
        wait_s=correction.wait_s,
        timeout_factor=factor,
        why=correction.reason[:300],
    )


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


async def _poll(work: Work, run: Run, correction: Correction) -> Call | str:
    """Look again how far an accepted effect is."""
    return work.call.but(tier=Tier.POLL, wait_s=correction.wait_s, why="looking again")


TIERS: dict[str, Plan] = {
    "tier1": _same,
    "tier2": _change,
    "tier3": _fallback,
    "directed": _directed,
    "poll": _poll,
}


async def _paused(work: Work, run: Run, call: Call, correction: Correction) -> Call:
    """Pause resumably where the wait is longer than may be slept through."""
    if call.wait_s <= run.limits.inline_wait_s:
        if call.wait_s:
            text = f"waits {call.wait_s:g} s: {correction.reason}"[:300]
            run.emit(EventKind.WAITING, text, step_id=work.step.id, attempt=work.number)
        return call
    until = await _until(work, run, call.wait_s)
    question = Question(
        kind=Kind.WAITING,
        name=work.tool,
        description=(
            f"Step {work.step.id!r} has to wait: {correction.reason}. "
            "Resume with approve once it may go on, or reject to stop waiting."
        ),
        step_id=work.step.id,
        plan_version=work.state["plan_version"],
        expires_at=None,
        args={"not_before": until},
    )
    key = f"wait:{work.step.id}:{work.state['round']}:{work.number}"
    decision = await ask(run, key, question)
    if decision is None:
        return call.but(wait_s=run.limits.inline_wait_s)
    left = max(0.0, until - run.now()) if correction.tier != "poll" else 0.0
    return call.but(wait_s=min(left, run.limits.inline_wait_s), why=RESUMED)


async def _until(work: Work, run: Run, wait_s: float) -> float:
    """Return when the wait is over, the same after every re-run of the node."""
    name = f"until:{work.step.id}:{work.state['round']}:{work.number}"
    kept, _ = await run.vault.question(name, {"until": run.now() + wait_s})
    return float(kept["until"])
