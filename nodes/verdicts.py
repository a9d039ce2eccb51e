"""From what the monitor saw to a classified failure: facts enriched, rules asked."""

from pydantic_core import to_json

from mendgraph.nodes.checks import HARD, Verdict, error_inside
from mendgraph.nodes.classify import classify
from mendgraph.nodes.prepare import masked
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.correction import Trigger
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
from mendgraph.tools.facts import from_text
from mendgraph.tools.run import Run


def _parse(reason: str, confidence: float) -> Classification:
    return Classification(
        category=Category.EXECUTION,
        subclass=Subclass.PARSE_ERROR,
        transient=False,
        reaction=Reaction.ADJUST_PARAMS,
        confidence=confidence,
        reason=reason,
        rule="monitor",
    )


BY_CHECK: dict[str, Classification] = {
    "business": _parse("the business status is final and bad", 0.9).but(
        subclass=Subclass.TOOL_EXCEPTION, reaction=Reaction.REPLAN, rule="business"
    ),
    "schema": _parse("the result does not fit the tool's output schema", 0.8),
    "required": _parse("required fields are missing or null", 0.7),
    "file": _parse("the tool reported success and wrote too little", 0.7),
    "rows": _parse("the result has no rows", 0.6),
    "nothing": _parse("the tool reported success and returned nothing", 0.6),
    "encoding": _parse("the text could not be decoded", 0.8),
    "rule": _parse("the step's validation rule does not hold", 0.5).but(
        subclass=Subclass.PARAM_ERROR
    ),
}
"""First failed check → its class; the order is that of importance."""


def of_checks(
    work: Work, run: Run, seen: Observation, verdict: Verdict, output: object
) -> tuple[Trigger, Failure]:
    """Return trigger and failure for a result whose checks failed."""
    facts = FailureFacts(
        message=mask("; ".join(verdict.problems))[:600],
        layer=Layer.MONITOR,
        tool=seen.tool,
        tool_class=run.deps.registry.get(seen.tool).tool_class,
        arguments=seen.arguments,
        arguments_digest=seen.arguments_digest,
        attempts=len(work.attempts),
        problems=verdict.problems,
        body_head=to_json(masked_output(work, run, output)).decode()[:500],
    )
    hard = bool(verdict.failed & HARD)
    failure = Failure(
        facts=facts, classification=_of_check(verdict, facts, run, output)
    )
    return (Trigger.HARD if hard else Trigger.SOFT), failure


def masked_output(work: Work, run: Run, output: object) -> object:
    """Return an output as facts and prompts may hold it."""
    policy = run.deps.registry.get(work.observation.tool).policy
    return masked(output if isinstance(output, dict) else {"value": output}, policy)


def _of_check(
    verdict: Verdict, facts: FailureFacts, run: Run, output: object
) -> Classification:
    if "error_text" in verdict.failed:
        told = from_text(error_inside(output) or "", tool=facts.tool)
        return classify(told, run.now())
    name = next(name for name in BY_CHECK if name in verdict.failed)
    return BY_CHECK[name]


def of_error(work: Work, run: Run, seen: Observation) -> Failure:
    """Return the failure of a call that did not return."""
    facts = (seen.facts or FailureFacts()).but(
        attempts=len(work.attempts), arguments_digest=seen.arguments_digest
    )
    facts = facts.but(
        message=mask(facts.message)[:1_000],
        arguments=seen.arguments,
        same_before=_same_before(work, facts),
        others_healthy=_others_healthy(run, facts),
        idempotency_key="given" if seen.effect_key else None,
    )
    verdict = seen.classification or classify(facts, run.now())
    return Failure(facts=facts, classification=verdict)


def _same_before(work: Work, facts: FailureFacts) -> int:
    return sum(
        1
        for failure in work.failures
        if failure.facts.message == facts.message
        and failure.facts.arguments_digest == facts.arguments_digest
    )


def _others_healthy(run: Run, facts: FailureFacts) -> bool | None:
    service = facts.service
    return run.library.coordinator.healthy(service) if service else None
