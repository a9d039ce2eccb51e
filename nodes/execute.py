"""execute: wait for what the step needs, get permission, make the call once."""

from typing import Any

from mendgraph.nodes.aftermath import is_pending
from mendgraph.nodes.effects import perform
from mendgraph.nodes.permit import Permitted
from mendgraph.nodes.premend import premended
from mendgraph.nodes.prepare import prepare
from mendgraph.nodes.signals import SIGNALLED, unread_signals
from mendgraph.nodes.work import Work, finish_step
from mendgraph.state.call import Observation
from mendgraph.state.channels import StepState
from mendgraph.state.outcome import StepStatus
from mendgraph.tools.run import Run

SIGNAL_LOOKS_S = 0.25
"""Seconds between two looks for signals; a look reads the store."""
FINISHED: dict[str, Any] = {"observation": Observation(status="finished").plain()}


async def execute(state: StepState, run: Run) -> dict[str, Any]:
    """Make the next attempt of a step and observe it."""
    work = Work(state)
    run.board.enter(work.step.id)
    ended = await _ended_before(work, run) or await _held_back(work, run)
    if ended:
        return {**FINISHED, **ended}
    prepared = await prepare(work, run)
    run.deps.boards.gate(work.state["round"]).leave(work.step.id)
    if isinstance(prepared, Observation):
        return _update(prepared)
    mended, prepared = await premended(work, prepared, run)
    done = await perform(mended, prepared, run)
    seen = await _business(mended, done.permitted, run, done.seen)
    changed = {} if mended is work else {"call": mended.call.plain()}
    return {**changed, **_update(seen, done.permitted, mended)}


def _update(
    seen: Observation, permitted: Permitted | None = None, work: Work | None = None
) -> dict[str, Any]:
    update: dict[str, Any] = {"observation": seen.plain()}
    if permitted and permitted.approval:
        update["approval"] = permitted.approval.plain()
    if permitted and permitted.edits and work:
        changes = {**work.call.changes, **permitted.edits}
        update["call"] = work.call.but(
            changes=changes, why="edited by a person", source="person"
        ).plain()
    return update


async def _ended_before(work: Work, run: Run) -> dict[str, Any] | None:
    """Return the outcome kept before a crash; the step is not run again."""
    if work.attempts or run.board.outcome(work.step.id) is None:
        return None
    kept = (await run.vault.outcomes(work.state["round"])).get(work.step.id)
    if kept is None:
        return None
    trails = {name: kept[name] for name in ("corrections", "reflections", "notes")}
    return {"steps": {work.step.id: kept["record"]}, "spent": kept["spent"], **trails}


async def _held_back(work: Work, run: Run) -> dict[str, Any] | None:
    """Wait for dependencies; end the branch as blocked where one is not done."""
    if work.attempts:
        return None
    found = await run.board.ready(work.state.get("awaits") or ())
    unmet = [i for i, outcome in found.items() if outcome.status is not StepStatus.DONE]
    if not unmet and await _signalled(run):
        unmet = [SIGNALLED]
    if not unmet:
        return None
    record = work.base_record(StepStatus.BLOCKED, blocked_by=tuple(unmet))
    return await finish_step(work, run, record)


async def _signalled(run: Run) -> bool:
    """Tell whether somebody left a message that nobody has read.

    Once one was seen, no other step of the round begins.
    """
    if SIGNALLED in run.board.said:
        return True
    if run.now() - run.board.signals_seen_at < SIGNAL_LOOKS_S:
        return False
    run.board.signals_seen_at = run.now()
    if not await unread_signals(run):
        return False
    run.board.said.add(SIGNALLED)
    return True


async def _business(
    work: Work, permitted: Permitted, run: Run, seen: Observation
) -> Observation:
    """Mark a read whose business status is not final as pending."""
    policy = work.policy(run)
    rules = policy.pending_when or policy.final_when
    if seen.status != "ok" or policy.has_effect or not rules or not seen.output_ref:
        return seen
    value = await run.output(seen.output_ref)
    pending = is_pending(policy, value, permitted.prepared.arguments)
    return seen.but(status="pending") if pending else seen
