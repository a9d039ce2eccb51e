"""The model's part of a reflection: evidence in, hypotheses and one decision out.

Code collects the causal chain, makes the probes, calibrates the confidence and picks
the smallest safe correction where nothing was confirmed (6.2, 6.3).
"""

from mendgraph.nodes.economy import Level, Luxury, allows, drop_note, ladder
from mendgraph.nodes.pausing import ask_model
from mendgraph.nodes.probes import Probed, probe
from mendgraph.nodes.prompts import reflect_prompt
from mendgraph.nodes.recalling import lessons_for_failure
from mendgraph.nodes.schemas import ReflectionDraft
from mendgraph.nodes.work import Work
from mendgraph.state.lesson import NextAction, Reflection
from mendgraph.tools.run import Run

ACT, VERIFY = 0.8, 0.6
"""From ACT on a calibrated cause is acted on; from VERIFY it is probed first (6.3)."""
SMALLEST_FIRST = (
    NextAction.PATCH,
    NextAction.FALLBACK,
    NextAction.LOCAL_REPLAN,
    NextAction.GLOBAL_REPLAN,
    NextAction.CLARIFY,
)
"""Corrections by how much they touch."""
REFLECT_TOKENS, LIGHT_TOKENS = 4_000, 1_500


async def deep_reflection(
    work: Work, run: Run, baseline: Reflection
) -> tuple[Reflection, list[dict[str, object]]]:
    """Return the reflection to act on, and notes on what was left out."""
    if run.deps.reasoner is None or run.reserve("model_calls", "reasoning_tokens"):
        return baseline, []
    level = ladder(run.board.spent, run.limits)
    light = not allows(level, Luxury.FULL_REFLECTION)
    lessons = await lessons_for_failure(work, run)
    prompt = reflect_prompt(
        str(work.state.get("task", "")),
        work.step,
        work.failures[-1],
        attempts=work.attempts,
        upstream=await _upstream(work, run),
        lessons=lessons,
        decisions=_open(work, run),
        light=light,
    )
    thought = await ask_model(
        run,
        "reflect",
        prompt,
        ReflectionDraft,
        label=f"v{work.state['plan_version']}:reflect:{work.step.id}:{work.number}",
        step_id=work.step.id,
        max_tokens=LIGHT_TOKENS if light else REFLECT_TOKENS,
    )
    notes = [_dropped(run)] if light and level is Level.LIGHT else []
    if thought.value is None:
        reason = f"{baseline.next_action} (no reflection: {thought.problem})"
        return baseline.but(next_action=reason[:300]), notes
    probed = await probe(work, run, thought.value.probes)
    return await _joined(work, run, baseline, thought.value, probed), notes


def _dropped(run: Run) -> dict[str, object]:
    return drop_note(Luxury.FULL_REFLECTION, run.board.spent, run.limits, run.now())


def _open(work: Work, run: Run) -> tuple[NextAction, ...]:
    """Return the decisions that are still open to the reflector."""
    closed = set()
    if work.corrections >= run.limits.corrections_per_step:
        closed |= {NextAction.PATCH, NextAction.FALLBACK, NextAction.RETRY}
    if not run.can_ask:
        closed.add(NextAction.CLARIFY)
    return tuple(action for action in NextAction if action not in closed)


async def _upstream(work: Work, run: Run) -> dict[str, str]:
    """Return digests of what fed the failed step: its direct upstream only."""
    from mendgraph.nodes.prepare import shortened, upstream_outputs

    try:
        outputs = await upstream_outputs(work, run)
    except (ValueError, KeyError):
        return {}
    return {
        step_id: str(shortened(value, 300))[:600] for step_id, value in outputs.items()
    }


async def _joined(
    work: Work, run: Run, baseline: Reflection, draft: ReflectionDraft, probed: Probed
) -> Reflection:
    """Return the record: the model's words, the rules' facts, the probes' verdict."""
    category = draft.category or baseline.category
    subclass = draft.subclass or baseline.subclass
    calibrated = run.library.calibration.calibrated(
        str(category), str(subclass), draft.confidence
    )
    confirmed = _confirmed(draft, probed)
    tool = baseline.tool or "-"
    reflection = baseline.but(
        decision=draft.decision,
        observed_issue=draft.observed_issue[:600] or baseline.observed_issue,
        confirmed_cause=confirmed,
        hypotheses=tuple(text[:300] for text in draft.hypotheses[:5])
        or baseline.hypotheses,
        cause_step=_known_step(work, draft.cause_step),
        evidence_refs=(*baseline.evidence_refs, *probed.evidence),
        next_action=(draft.suggested_strategy or baseline.next_action)[:300],
        lesson=draft.lesson[:400],
        suggested_strategy=draft.suggested_strategy[:400],
        patch=draft.patch,
        category=str(category),
        subclass=str(subclass),
        signature=f"{category}:{subclass}:{tool}",
        confidence=calibrated,
        source="model",
    )
    return reflection.but(decision=safest(reflection, draft, probed))


def _confirmed(draft: ReflectionDraft, probed: Probed) -> str | None:
    for index in probed.confirmed:
        if 0 <= index < len(draft.hypotheses):
            return draft.hypotheses[index][:300]
    return None


def _known_step(work: Work, step_id: str | None) -> str | None:
    known = {*work.step.dependencies, *(work.state.get("upstream") or ())}
    return step_id if step_id in known else None


def safest(
    reflection: Reflection, draft: ReflectionDraft, probed: Probed
) -> NextAction:
    """Return the decision, made smaller where the cause is doubtful.

    Unknown confidence is no confidence: it neither stops nor speeds a decision, unless
    the probes refuted every hypothesis they tested.
    """
    wanted = reflection.decision
    if reflection.confirmed_cause or wanted not in SMALLEST_FIRST:
        return wanted
    refuted = bool(probed.refuted) and not probed.confirmed
    low = reflection.confidence is not None and reflection.confidence < VERIFY
    if not (refuted or low):
        return wanted
    if draft.patch and wanted is not NextAction.CLARIFY:
        return NextAction.PATCH
    larger = SMALLEST_FIRST.index(wanted) > SMALLEST_FIRST.index(
        NextAction.LOCAL_REPLAN
    )
    replanning = wanted is NextAction.GLOBAL_REPLAN and larger
    return NextAction.LOCAL_REPLAN if replanning else wanted
