"""reflect: look deeply at a failure no tier mended; direct one fix, or escalate.

The rules' view comes first and stands where the model has none. A model's cause stays a
hypothesis until a probe confirmed it; the closed set of actions is all it can direct.
"""

from typing import Any

from mendgraph.nodes.aftermath import surely_nothing
from mendgraph.nodes.deciding import DIRECTED, decided
from mendgraph.nodes.deep import deep_reflection
from mendgraph.nodes.endings import end_failed
from mendgraph.nodes.learning import source_of
from mendgraph.nodes.monitor import has_fallback
from mendgraph.nodes.remembering import remember_reflection
from mendgraph.nodes.work import Work
from mendgraph.state.channels import StepState
from mendgraph.state.correction import Action, Correction, Row, Trigger, look_up
from mendgraph.state.events import EventKind
from mendgraph.state.failure import Category, Failure, FailureFacts, Reaction
from mendgraph.state.lesson import NextAction, Reflection
from mendgraph.state.outcome import Escalation, Tier
from mendgraph.tools.run import Run

ESCALATED: dict[NextAction, str] = {
    NextAction.LOCAL_REPLAN: "local_replan",
    NextAction.GLOBAL_REPLAN: "global_replan",
    NextAction.CLARIFY: "clarify",
    NextAction.GATHER_EVIDENCE: "clarify",
    NextAction.GIVE_UP: "give_up",
}
"""Fixes that are the plan loop's."""


async def reflect(state: StepState, run: Run) -> dict[str, Any]:
    """Reflect once (depth 1) and say what is done about it."""
    work = Work(state)
    failure = work.failures[-1]
    reflection, notes = await deep_reflection(work, run, baseline(work, run, failure))
    reflection, why = decided(work, run, reflection)
    decision = reflection.decision
    issue, advice = reflection.observed_issue[:120], reflection.next_action
    run.emit(
        EventKind.REFLECTION,
        f"{issue} → {decision.value}: {advice}"[:300],
        step_id=work.step.id,
        attempt=work.number,
        decision=decision.value,
        confirmed=reflection.confirmed_cause,
        hypotheses=list(reflection.hypotheses),
    )
    await remember_reflection(work, run, reflection)
    if decision in DIRECTED:
        return {**_direct(work, reflection), "notes": notes}
    question = f"{why}. {_question(work, failure)}" if why else _question(work, failure)
    return await _escalate(work, run, failure, reflection, question, notes)


def baseline(work: Work, run: Run, failure: Failure) -> Reflection:
    """Return what the rules alone make of it."""
    verdict, facts = failure.classification, failure.facts
    return Reflection(
        id=run.deps.new_id(),
        step_id=work.step.id,
        tool=facts.tool,
        tool_class=facts.tool_class,
        decision=_by_rules(work, run, failure),
        observed_issue=facts.message[:600],
        hypotheses=(verdict.reason,),
        evidence_refs=tuple(
            f"attempt:{work.step.id}:{attempt.number}" for attempt in work.attempts
        ),
        next_action=verdict.reaction.value,
        category=verdict.category.value,
        subclass=verdict.subclass.value,
        signature=failure.signature,
        source=source_of(run, "rules"),
        created_at=str(run.now()),
    )


def _by_rules(work: Work, run: Run, failure: Failure) -> NextAction:
    """Return the fix the matrix and the class suggest without a model."""
    verdict = failure.classification
    spare = has_fallback(work.step, work.policy(run), run)
    unused = not any(a.tier in {Tier.TIER3, Tier.DIRECTED} for a in work.attempts)
    if spare and unused and verdict.category is not Category.REQUIREMENT:
        return NextAction.FALLBACK
    if verdict.category is Category.REQUIREMENT:
        return NextAction.CLARIFY
    if run.deps.reasoner is None:
        asks = (
            verdict.reaction in {Reaction.ASK_USER, Reaction.PROBE_FIRST}
            or _row(work, run, failure).action is Action.CLARIFY
            or _may_have_happened(work)
        )
        return NextAction.CLARIFY if asks and run.can_ask else NextAction.GIVE_UP
    return NextAction.LOCAL_REPLAN


def _row(work: Work, run: Run, failure: Failure) -> Row:
    """Return the line of the matrix in force."""
    trigger = Trigger((work.state.get("decision") or {}).get("trigger", Trigger.HARD))
    return look_up(trigger, failure.classification.category, run.deps.matrix)


def _may_have_happened(work: Work) -> bool:
    """Tell whether the last call left an effect in doubt; a new task repeats it."""
    seen = work.observation
    called = seen.effect_key is not None and seen.facts is not None
    return called and not surely_nothing(seen.facts or FailureFacts())


def _direct(work: Work, reflection: Reflection) -> dict[str, Any]:
    correction = Correction(
        action=DIRECTED[reflection.decision],
        tier="directed",
        reason=reflection.next_action or reflection.observed_issue[:200],
        changes=reflection.patch or {},
        reflection_id=reflection.id,
    )
    trigger = (work.state.get("decision") or {}).get("trigger", "hard")
    return {
        "decision": {**correction.plain(), "trigger": trigger},
        "reflections": [reflection.plain()],
    }


async def _escalate(
    work: Work,
    run: Run,
    failure: Failure,
    reflection: Reflection,
    question: str,
    notes: list[dict[str, Any]],
) -> dict[str, Any]:
    escalation = Escalation.model_validate(
        {
            "action": ESCALATED[reflection.decision],
            "reason": reflection.next_action or failure.classification.reason,
            "question": question,
            "options": () if run.deps.reasoner else ("retry", "stop"),
            "reflection_id": reflection.id,
        }
    )
    return await end_failed(
        work,
        run,
        failure,
        None,
        escalation,
        reflections=[reflection.plain()],
        notes=notes,
    )


def _question(work: Work, failure: Failure) -> str:
    """Return the concrete question about a failure."""
    step = work.step
    return (
        f"Step {step.id!r} ({step.description or step.tool}) failed: "
        f"{failure.facts.message[:300]} ({failure.classification.reason}). "
        "What should be done?"
    )
