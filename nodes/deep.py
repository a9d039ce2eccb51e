"""The deep look at a failure: evidence in, hypotheses and one decision out.

Code collects the causal chain, makes the probes, calibrates the confidence and picks
the smallest safe correction where nothing was confirmed (6.2, 6.3).
"""

from mendgraph.nodes.bands import Band, band_of, safest
from mendgraph.nodes.economy import Level, Luxury, allows, drop_note, ladder
from mendgraph.nodes.findings import Findings, findings
from mendgraph.nodes.learning import source_of
from mendgraph.nodes.monitor import has_fallback
from mendgraph.nodes.opinions import agrees, opinion, sampled
from mendgraph.nodes.pausing import ask_model
from mendgraph.nodes.prompts import reflect_prompt
from mendgraph.nodes.recalling import lessons_for_failure
from mendgraph.nodes.schemas import ReflectionDraft
from mendgraph.nodes.templating import Prompt
from mendgraph.nodes.tracing import Chain, blamed, trace
from mendgraph.nodes.work import Work
from mendgraph.state.lesson import NextAction, Reflection
from mendgraph.tools.run import Run

REFLECT_TOKENS, LIGHT_TOKENS = 4_000, 1_500
FEW_OUTCOMES = (
    "confidence is not calibrated: too few outcomes of this class are recorded"
)

Looked = tuple[Reflection, list[dict[str, object]]]


async def deep_reflection(work: Work, run: Run, baseline: Reflection) -> Looked:
    """Return the reflection to act on, and notes on what was left out."""
    chain = await trace(work, run)
    baseline = traced(work, baseline, chain)
    if run.deps.reasoner is None or run.reserve("model_calls", "reasoning_tokens"):
        return baseline, []
    level = ladder(run.board.spent, run.limits)
    light = not allows(level, Luxury.FULL_REFLECTION)
    notes = [_dropped(run)] if light and level is Level.LIGHT else []
    prompt = await _prompt(work, run, chain, light=light)
    draft = await _ask(work, run, prompt, light=light)
    if isinstance(draft, str):
        reason = f"{baseline.next_action} (no reflection: {draft})"
        return baseline.but(next_action=reason[:300]), notes
    band = _band(run, baseline, draft)
    found = await findings(work, run, draft, band, light=light)
    if band is Band.EXPLORE and level is Level.FULL and not found.confirmed:
        found = await _with_opinion(work, run, prompt, draft, found)
    return joined(work, run, baseline, draft, chain, found), notes


def traced(work: Work, baseline: Reflection, chain: Chain) -> Reflection:
    """Return the rules' view with what the causal chain shows (F26)."""
    if not chain.suspicions:
        return baseline
    first = blamed(chain, work.failures[-1], work.step.id)
    return baseline.but(
        cause_step=chain.suspect.step_id if chain.suspect else None,
        hypotheses=tuple(dict.fromkeys((first, *baseline.hypotheses))),
        evidence_refs=(*baseline.evidence_refs, *chain.evidence),
    )


def _dropped(run: Run) -> dict[str, object]:
    return drop_note(Luxury.FULL_REFLECTION, run.board.spent, run.limits, run.now())


async def _prompt(work: Work, run: Run, chain: Chain, *, light: bool) -> Prompt:
    return reflect_prompt(
        str(work.state.get("task", "")),
        work.step,
        work.failures[-1],
        attempts=(*work.tried, *work.attempts),
        upstream=chain.told(),
        lessons=await lessons_for_failure(work, run),
        decisions=_open(work, run),
        light=light,
    )


def _open(work: Work, run: Run) -> tuple[NextAction, ...]:
    """Return the decisions that are still open to the reflector."""
    closed = set()
    if work.corrections >= run.limits.corrections_per_step:
        closed |= {NextAction.PATCH, NextAction.FALLBACK, NextAction.RETRY}
    if not run.can_ask:
        closed.add(NextAction.CLARIFY)
    return tuple(action for action in NextAction if action not in closed)


async def _ask(
    work: Work, run: Run, prompt: Prompt, *, light: bool, sample: int = 1
) -> ReflectionDraft | str:
    """Return the model's look, or why there is none."""
    label = f"v{work.state['plan_version']}:reflect:{work.step.id}:{work.number}"
    thought = await ask_model(
        run,
        "reflect",
        prompt,
        ReflectionDraft,
        label=label if sample == 1 else f"{label}:sample{sample}",
        step_id=work.step.id,
        max_tokens=LIGHT_TOKENS if light else REFLECT_TOKENS,
    )
    return thought.value or str(thought.problem)


async def _with_opinion(
    work: Work, run: Run, prompt: Prompt, draft: ReflectionDraft, found: Findings
) -> Findings:
    """Ask for two more looks; most of them may support a cause, never confirm it."""

    async def ask(number: int) -> ReflectionDraft | None:
        look = await _ask(work, run, prompt, light=True, sample=number)
        return None if isinstance(look, str) else look

    vote = await sampled(draft, ask)
    evidence = (*found.evidence, opinion(vote))
    return found.but(evidence=evidence, supported=agrees(vote, draft))


def _band(run: Run, baseline: Reflection, draft: ReflectionDraft) -> Band:
    return band_of(_calibrated(run, baseline, draft))


def _calibrated(run: Run, baseline: Reflection, draft: ReflectionDraft) -> float | None:
    category = str(draft.category or baseline.category)
    subclass = str(draft.subclass or baseline.subclass)
    return run.library.calibration.calibrated(category, subclass, draft.confidence)


def joined(
    work: Work,
    run: Run,
    baseline: Reflection,
    draft: ReflectionDraft,
    chain: Chain,
    found: Findings,
) -> Reflection:
    """Return the record: the model's words, the rules' facts, the probes' verdict."""
    category, subclass = _class(baseline, draft, found)
    confidence = _calibrated(run, baseline, draft)
    standing, ruled_out = _sorted(draft, found)
    told = (*ruled_out, *(() if confidence is not None else (FEW_OUTCOMES,)))
    return baseline.but(
        decision=_decision(work, run, draft, found, band_of(confidence)),
        observed_issue=draft.observed_issue[:600] or baseline.observed_issue,
        confirmed_cause=found.confirmed,
        hypotheses=standing or baseline.hypotheses,
        cause_step=_cause_step(work, draft, chain),
        evidence_refs=(*baseline.evidence_refs, *found.evidence, *told),
        next_action=(draft.suggested_strategy or baseline.next_action)[:300],
        lesson=draft.lesson[:400],
        suggested_strategy=draft.suggested_strategy[:400],
        patch=draft.patch,
        category=category,
        subclass=subclass,
        signature=f"{category}:{subclass}:{baseline.tool or '-'}",
        confidence=confidence,
        stated=draft.confidence,
        band=band_of(confidence).value,
        source=source_of(run, "model"),
    )


def _class(
    baseline: Reflection, draft: ReflectionDraft, found: Findings
) -> tuple[str, str]:
    """Return category and subclass: the model's, unless its cause was refuted."""
    if found.refuted:
        return baseline.category, baseline.subclass
    category = str(draft.category or baseline.category)
    return category, str(draft.subclass or baseline.subclass)


def _sorted(
    draft: ReflectionDraft, found: Findings
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hypotheses that still stand, and a line for each that does not."""
    texts = [text[:300] for text in draft.hypotheses[:5]]
    out = [text for i, text in enumerate(texts) if i in found.ruled_out]
    standing = tuple(text for text in texts if text not in out)
    return standing, tuple(f"refuted: {text}"[:300] for text in out)


def _decision(
    work: Work, run: Run, draft: ReflectionDraft, found: Findings, band: Band
) -> NextAction:
    trusted = bool(found.confirmed) or (found.supported and not found.refuted)
    return safest(
        draft.decision,
        band,
        confirmed=trusted,
        refuted=found.refuted,
        patch=bool(draft.patch),
        fallback=has_fallback(work.step, work.policy(run), run),
    )


def _cause_step(work: Work, draft: ReflectionDraft, chain: Chain) -> str | None:
    """Return the blamed step: the model's if there is such a step, else the rules'."""
    upstream = work.state.get("upstream") or ()
    known = {*work.step.dependencies, *upstream, *chain.step_ids}
    if draft.cause_step in known:
        return draft.cause_step
    return chain.suspect.step_id if chain.suspect else None
