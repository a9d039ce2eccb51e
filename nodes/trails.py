"""Records of attempts and of the corrections they carried out."""

from typing import Any

from mendgraph.nodes.work import Work
from mendgraph.state.correction import Action, CorrectionEntry, Trigger
from mendgraph.state.failure import Failure
from mendgraph.state.outcome import Attempt, Tier
from mendgraph.tools.run import Run


def the_attempt(work: Work, status: str, failure: Failure | None) -> Attempt:
    """Return the record of the attempt just observed."""
    seen, call = work.observation, work.call
    verdict = failure.classification if failure else None
    refused = seen.started_at == 0.0
    return Attempt(
        number=work.number,
        tier=call.tier,
        tool=seen.tool or work.tool,
        arguments_digest=seen.arguments_digest,
        changed=tuple(call.changes),
        started_at=seen.started_at,
        ended_at=seen.ended_at,
        waited_s=seen.waited_s,
        status="refused" if refused and status == "failed" else status,  # type: ignore[arg-type]  # a Literal
        error=failure.facts.message[:300] if failure else None,
        verdict=f"{verdict.category}:{verdict.subclass}" if verdict else None,
        rule=verdict.rule if verdict else None,
        why=call.why,
    )


def trail_of(work: Work, run: Run, *, worked: bool) -> list[dict[str, Any]]:
    """Return the trail entry of the correction whose attempt was just observed."""
    call = work.call
    if call.tier in {Tier.FIRST, Tier.POLL} or not work.failures:
        return []
    before = work.failures[-1]
    entry = CorrectionEntry(
        step_id=work.step.id,
        trigger=Trigger(work.state.get("decision", {}).get("trigger", "hard")),
        category=before.classification.category.value,
        subclass=before.classification.subclass.value,
        action=ACTION_OF[call.tier],
        tier=call.tier.value,
        reason=call.why[:300],
        at=run.now(),
        plan_version=work.state["plan_version"],
        worked=worked,
        signature=before.signature,
    )
    return [entry.plain()]


ACTION_OF: dict[Tier, Action] = {
    Tier.TIER1: Action.RETRY_SAME,
    Tier.TIER2: Action.CHANGE_ARGUMENTS,
    Tier.TIER3: Action.FALLBACK,
    Tier.DIRECTED: Action.CHANGE_ARGUMENTS,
    Tier.CONFIRM: Action.RETRY_SAME,
}
