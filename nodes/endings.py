"""How a step ends: done, failed with an escalation, or waiting to be resumed."""

from typing import Any

from pydantic_core import to_json

from mendgraph.nodes.checks import Verdict
from mendgraph.nodes.counterfactual import hold_call
from mendgraph.nodes.learning import applied, observed
from mendgraph.nodes.prepare import masked, shortened
from mendgraph.nodes.repeats import fingerprint
from mendgraph.nodes.signals import SIGNALLED
from mendgraph.nodes.trails import the_attempt, trail_of
from mendgraph.nodes.watching import Watched, plan_wide, watch
from mendgraph.nodes.work import Work, finish_step
from mendgraph.state.failure import Failure
from mendgraph.state.outcome import (
    Attempt,
    Escalation,
    ExecutionSummary,
    StepRecord,
    StepStatus,
)
from mendgraph.tools.run import Run

DIGEST_LENGTH = 400
"""Characters of an output that prompts and records see."""


async def end_done(
    work: Work, run: Run, verdict: Verdict, output: Any, noted: str = ""
) -> dict[str, Any]:
    """End a step whose every check holds, or whose deviation is only noted."""
    seen, attempt = work.observation, the_attempt(work, "ok", None)
    watched = await _watched(work, run, verdict, output)
    notes = [*watched.notes, *([noted] if noted else [])]
    record = _record(
        work,
        StepStatus.DONE,
        attempt,
        summary=ExecutionSummary(
            status="success",
            output_digest=digest_of(output, work, run),
            deviation_score=max(verdict.deviation, watched.deviation),
            execution_time_ms=seen.elapsed_ms,
            rows=verdict.rows,
            size_bytes=verdict.size_bytes,
            empty=verdict.empty,
            notes=tuple(notes),
        ),
        output_ref=seen.output_ref,
        effect_key=seen.effect_key,
        reused=seen.reused,
    )
    reflections = await applied(work, run, worked=True)
    trail = [*trail_of(work, run, worked=True), *watched.corrections]
    said = [
        {"kind": "step", "step_id": work.step.id, "text": note, "at": run.now()}
        for note in notes
    ]
    told = [*said, *watched.entries]
    ended = await finish_step(
        work, run, record, corrections=trail, reflections=reflections, notes=told
    )
    return {"decision": {}, "attempts": [attempt.plain()], **ended}


async def end_failed(  # noqa: PLR0913 (keyword-only extras)
    work: Work,
    run: Run,
    failure: Failure,
    attempt: Attempt | None,
    escalation: Escalation,
    *,
    verdict: Verdict | None = None,
    corrections: list[dict[str, Any]] | None = None,
    reflections: list[dict[str, Any]] | None = None,
    notes: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """End a step that the step loop cannot mend; the plan loop takes over."""
    partial = verdict is not None
    record = _record(
        work,
        StepStatus.FAILED,
        attempt,
        summary=ExecutionSummary(
            status="partial" if partial else "failed",
            deviation_score=verdict.deviation if verdict else 1.0,
            error_message=failure.facts.message[:500],
            execution_time_ms=work.observation.elapsed_ms,
        ),
        failure=failure,
        escalation=escalation,
        effect_key=work.observation.effect_key,
    )
    ended = await finish_step(
        work,
        run,
        record,
        corrections=corrections or [],
        reflections=reflections or [],
        notes=notes or [],
    )
    attempts = [attempt.plain()] if attempt else []
    return {"decision": {}, "attempts": attempts, **ended}


async def end_waiting(
    work: Work, run: Run, attempt: Attempt | None, why: str
) -> dict[str, Any]:
    """End a branch whose business is accepted and not final; never a success."""
    record = _record(
        work,
        StepStatus.WAITING,
        attempt,
        summary=ExecutionSummary(
            status="partial",
            error_message=why,
            execution_time_ms=work.observation.elapsed_ms,
        ),
        effect_key=work.observation.effect_key,
    )
    ended = await finish_step(work, run, record)
    attempts = [attempt.plain()] if attempt else []
    return {"decision": {}, "attempts": attempts, **ended}


def _record(
    work: Work, status: StepStatus, attempt: Attempt | None, **fields: Any
) -> StepRecord:
    attempts = (*work.attempts, attempt) if attempt else work.attempts
    return work.base_record(
        status,
        attempts=attempts,
        arguments_digest=work.observation.arguments_digest or None,
        fingerprint=fingerprint(work.step),
        tool=work.observation.tool or work.step.tool,
        **fields,
    )


def digest_of(output: Any, work: Work, run: Run) -> str:
    """Return the key fields of an output as short masked JSON."""
    policy = run.deps.registry.get(work.observation.tool).policy
    value = output if isinstance(output, dict) else {"value": output}
    shown = masked(shortened(value), policy)
    text = to_json(shown if isinstance(output, dict) else shown["value"]).decode()
    return text if len(text) <= DIGEST_LENGTH else text[:DIGEST_LENGTH] + "…"


async def _watched(work: Work, run: Run, verdict: Verdict, output: Any) -> Watched:
    """Watch a passing result; where another plan is due, nothing new begins."""
    seen = work.observation
    watched = await watch(work, run, verdict, output)
    if not seen.reused:
        await observed(run, seen.tool, seen.elapsed_ms, ok=True)
        hold_call(work, run)
    if plan_wide(watched.entries) and run.deps.reasoner is not None:
        run.board.said.add(SIGNALLED)
    return watched
