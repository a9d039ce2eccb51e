"""Waits before an attempt: short ones are slept, long ones pause the run (F35)."""

from typing import Any

from mendgraph.nodes.asking import ask
from mendgraph.nodes.work import Work
from mendgraph.state.correction import Correction
from mendgraph.state.events import EventKind
from mendgraph.state.interrupts import Kind, Question
from mendgraph.state.record import Record
from mendgraph.tools.run import Run


class Waiting(Record):
    """How a wait goes on."""

    wait_s: float = 0.0
    """Seconds still to be slept."""
    goes_on: bool = True
    resumed: bool = False
    """A person said that it may go on."""
    why: str = ""
    """Why it does not go on."""


async def pause(work: Work, run: Run, correction: Correction) -> Waiting:
    """Pause resumably where the wait is longer than may be slept through."""
    wait_s, longest = correction.wait_s, run.limits.inline_wait_s
    if wait_s <= longest:
        if wait_s:
            text = f"waits {wait_s:g} s: {correction.reason}"[:300]
            run.emit(EventKind.WAITING, text, step_id=work.step.id, attempt=work.number)
        return Waiting(wait_s=wait_s)
    until = await _until(work, run, wait_s)
    key = f"wait:{work.step.id}:{work.state['round']}:{work.number}"
    decision = await ask(run, key, _question(work, correction, until))
    if decision is None:
        why = (
            f"it would have to wait {wait_s:g} s, and nobody can be asked to resume it"
        )
        return Waiting(goes_on=False, why=f"{correction.reason}; {why}")
    if decision.type == "reject":
        why = decision.message or "a person stopped the wait"
        return Waiting(goes_on=False, why=f"{correction.reason}; {why}")
    looks = work.observation.status == "pending"
    left = 0.0 if looks else max(0.0, until - run.now())
    return Waiting(wait_s=min(left, longest), resumed=True)


def _question(work: Work, correction: Correction, until: float) -> Question:
    return Question(
        kind=Kind.WAITING,
        name=work.tool,
        description=(
            f"Step {work.step.id!r} has to wait: {correction.reason}. "
            "Resume with approve once it may go on, or reject to stop waiting."
        ),
        step_id=work.step.id,
        plan_version=work.state["plan_version"],
        args={"not_before": until},
    )


async def _until(work: Work, run: Run, wait_s: float) -> float:
    """Return when the wait is over, the same after every re-run of the node."""
    name = f"until:{work.step.id}:{work.state['round']}:{work.number}"
    fresh: dict[str, Any] = {"until": run.now() + wait_s}
    kept, _ = await run.vault.question(name, fresh)
    return float(kept["until"])
