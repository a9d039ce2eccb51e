"""monitor: judge every result by rules, classify what failed, choose the correction."""

from collections.abc import Awaitable, Callable
from typing import Any

from mendgraph.nodes.advice import Advice, find_advice
from mendgraph.nodes.checks import Seen, Verdict, inspect
from mendgraph.nodes.corrections import Situation, decide
from mendgraph.nodes.endings import end_done, end_failed, end_waiting
from mendgraph.nodes.learning import applied, note_failure, observed
from mendgraph.nodes.premend import as_planned, is_premended
from mendgraph.nodes.prepare import prepare, upstream_outputs
from mendgraph.nodes.trails import the_attempt, trail_of
from mendgraph.nodes.verdicts import of_checks, of_error
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.channels import StepState
from mendgraph.state.correction import Action, Correction, Trigger
from mendgraph.state.events import EventKind
from mendgraph.state.failure import Failure, Reaction
from mendgraph.state.outcome import Attempt, Escalation
from mendgraph.state.plan import Step
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.run import Run


async def monitor(state: StepState, run: Run) -> dict[str, Any]:
    """Judge the last observation and say what follows."""
    work = Work(state)
    judge = JUDGES[work.observation.status]
    return await judge(work, run)


async def _finished(_work: Work, _run: Run) -> dict[str, Any]:
    return {"decision": {}}


async def _returned(work: Work, run: Run) -> dict[str, Any]:
    """Judge a call that returned."""
    seen = work.observation
    output = await run.output(seen.output_ref) if seen.output_ref else None
    verdict = await _inspect(work, run, output)
    if not verdict.problems:
        return await end_done(work, run, verdict, output)
    trigger, failure = of_checks(work, run, seen, verdict, output)
    return await _mend(work, run, trigger, failure, verdict, output)


async def _inspect(work: Work, run: Run, output: Any) -> Verdict:
    upstream: dict[str, Any] = {}
    arguments = work.observation.arguments
    if work.step.validation_rule:
        upstream = await upstream_outputs(work, run)
        prepared = await prepare(work, run)
        arguments = prepared.arguments
    policy = work.policy(run)
    return inspect(Seen(work.step, policy, output, arguments, upstream))


async def _failed(work: Work, run: Run) -> dict[str, Any]:
    """Classify a call that did not return."""
    failure = of_error(work, run, work.observation)
    if failure.classification.reaction is Reaction.TREAT_AS_SUCCESS:
        return await _no_failure(work, run, failure)
    return await _mend(work, run, Trigger.HARD, failure, None, None)


async def _no_failure(work: Work, run: Run, failure: Failure) -> dict[str, Any]:
    """Take an exit code that means `nothing found` for the empty answer it is."""
    output = {"output": "", "exit_code": failure.facts.exit_code, "rows": 0}
    reference = await run.keep_output(work.reference(), output)
    seen = work.observation.but(status="ok", output_ref=reference, facts=None)
    told = Work({**work.state, "observation": seen.plain()})
    return await end_done(told, run, Verdict(checks=(), rows=0, empty=True), output)


async def _pending(work: Work, run: Run) -> dict[str, Any]:
    """Go on asking, until the deadline; then wait resumably (F18)."""
    policy, resumed = work.policy(run), work.call.why == RESUMED
    polls = [] if resumed else _polls(work.attempts)
    attempt = the_attempt(work, "pending", None)
    waited = run.now() - polls[0].started_at if polls else 0.0
    blind = policy.confirm_with is None and policy.has_effect
    if blind and not run.can_ask:
        return await end_waiting(work, run, attempt, "accepted, still processing")
    late = waited >= policy.poll_deadline_s
    every = 0.0 if blind else policy.poll_every_s
    wait = run.limits.inline_wait_s + every if late else every
    correction = Correction(
        action=Action.RETRY_SAME,
        tier="poll",
        wait_s=wait,
        reason=f"accepted, still processing after {waited:.0f} s",
    )
    return {"decision": correction.plain(), "attempts": [attempt.plain()]}


def _polls(attempts: tuple[Attempt, ...]) -> list[Attempt]:
    """Attempts since the newest answer `pending` series began or was resumed."""
    series: list[Attempt] = []
    for attempt in reversed(attempts):
        if attempt.status != "pending":
            break
        series.insert(0, attempt)
        if attempt.why == RESUMED:
            break
    return series


RESUMED = "resumed by a person"

Judge = Callable[[Work, Run], Awaitable[dict[str, Any]]]
JUDGES: dict[str, Judge] = {
    "finished": _finished,
    "ok": _returned,
    "failed": _failed,
    "pending": _pending,
}


async def _mend(
    work: Work,
    run: Run,
    trigger: Trigger,
    failure: Failure,
    verdict: Verdict | None,
    output: Any,
) -> dict[str, Any]:
    """Choose the correction for a failure."""
    attempt = the_attempt(work, "failed", failure)
    entries = trail_of(work, run, worked=False)
    concluded = await applied(work, run, worked=False)
    await observed(run, work.observation.tool, work.observation.elapsed_ms, ok=False)
    note_failure(run, failure)
    advice = await _advice(work, run, failure, output)
    situation = await _situation(work, run, trigger, failure, attempt, advice)
    correction = decide(situation)
    run.emit(
        EventKind.CORRECTION,
        f"{failure.facts.message[:120]} → {correction.reason}"[:300],
        step_id=work.step.id,
        attempt=attempt.number,
        verdict=attempt.verdict,
        action=correction.action.value,
        tier=correction.tier,
    )
    if correction.action is Action.NOTE and verdict is not None:
        return await end_done(work, run, verdict, output, noted=correction.reason)
    if correction.action is Action.GIVE_UP:
        escalation = Escalation(action="give_up", reason=correction.reason)
        return await end_failed(
            work,
            run,
            failure,
            attempt,
            escalation,
            verdict=verdict,
            corrections=entries,
            reflections=concluded,
        )
    if advice and correction.action is Action.CHANGE_ARGUMENTS:
        correction = correction.but(changes=advice.changes, reason=advice.why)
    return {
        "decision": {
            **correction.plain(),
            "source": advice.source if advice else None,
            "trigger": trigger.value,
        },
        "attempts": [attempt.plain()],
        "failures": [failure.plain()],
        "corrections": entries,
        "reflections": concluded,
    }


async def _advice(work: Work, run: Run, failure: Failure, output: Any) -> Advice | None:
    """Look for changed arguments that need no model."""
    if is_premended(work) and (undone := await as_planned(work, run)):
        return undone
    prepared = await prepare(work, run)
    if isinstance(prepared, Observation):
        return None
    failed = {a.arguments_digest for a in work.attempts if a.status == "failed"}
    failed.add(work.observation.arguments_digest)
    entry = run.deps.registry.get(prepared.tool)
    return await find_advice(run, entry, failure, prepared.arguments, output, failed)


async def _situation(
    work: Work,
    run: Run,
    trigger: Trigger,
    failure: Failure,
    attempt: Attempt,
    advice: Advice | None,
) -> Situation:
    service = work.policy(run).service
    coordinator = run.library.coordinator
    return Situation(
        trigger=trigger,
        failures=(*work.failures, failure),
        attempts=(*work.attempts, attempt),
        matrix=run.deps.matrix,
        has_model=run.deps.reasoner is not None,
        has_fallback=has_fallback(work.step, work.policy(run), run),
        has_ready_patch=advice is not None,
        healthy=not service
        or (coordinator.healthy(service) and not coordinator.alternate_due(service)),
        retries_left=run.reserve("retries", "executions", "seconds") is None,
        corrections_left=work.corrections < run.limits.corrections_per_step
        and run.reserve("corrections") is None,
    )


def has_fallback(step: Step, policy: ToolPolicy, run: Run) -> bool:
    """Whether there is something else to try: a tool, or words for a model."""
    planned = step.fallback
    if planned and planned.tool:
        return True
    words = planned is not None and run.deps.reasoner is not None
    return words or policy.fallback is not None
