"""A fault of our own: recorded as such, never blamed on the step or the tool."""

from typing import Any

from mendgraph.nodes.work import Work, finish_step
from mendgraph.state.failure import (
    Category,
    Classification,
    Failure,
    FailureFacts,
    Layer,
    Reaction,
    Subclass,
)
from mendgraph.state.masking import mask
from mendgraph.state.outcome import Escalation, ExecutionSummary, StepStatus
from mendgraph.tools.run import Run

VERDICT = Classification(
    category=Category.INTERNAL,
    subclass=Subclass.INTERNAL_ERROR,
    transient=False,
    reaction=Reaction.NO_RETRY,
    confidence=1.0,
    reason="a fault of mendgraph itself; please report it",
    rule="internal",
)


async def internal_failure(state: Any, run: Run, error: Exception) -> dict[str, Any]:
    """End the step with our own fault as its failure."""
    work = Work(state)
    text = mask(f"{type(error).__name__}: {error}")[:500]
    facts = FailureFacts(
        message=text,
        layer=Layer.OWN,
        exceptions=(f"{type(error).__module__}.{type(error).__name__}",),
    )
    record = work.base_record(
        StepStatus.FAILED,
        attempts=work.attempts,
        failure=Failure(facts=facts, classification=VERDICT),
        summary=ExecutionSummary(
            status="failed", deviation_score=1.0, error_message=text
        ),
        escalation=Escalation(action="give_up", reason=VERDICT.reason),
    )
    ended = await finish_step(work, run, record)
    return {"observation": {"status": "finished"}, "decision": {}, **ended}
