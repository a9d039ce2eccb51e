"""What is done about a reflection: within the caps, and only while mending converges.

The reflector proposes one of a closed set of fixes. Depth, budgets and convergence are
counted here; where they change its mind, the reason is said (F45).
"""

from mendgraph.nodes.convergence import (
    Look,
    look_of,
    looks_at,
    not_converging,
    way_out,
)
from mendgraph.nodes.monitor import has_fallback
from mendgraph.nodes.refusals import failed_for_good
from mendgraph.nodes.work import Work
from mendgraph.state.correction import Action
from mendgraph.state.lesson import NextAction, Reflection
from mendgraph.state.outcome import Tier
from mendgraph.tools.run import Run

IN_VAIN = 2
"""Corrections in a row without effect after which a person is asked (6.4)."""

DIRECTED: dict[NextAction, Action] = {
    NextAction.PATCH: Action.CHANGE_ARGUMENTS,
    NextAction.FALLBACK: Action.FALLBACK,
    NextAction.RETRY: Action.RETRY_SAME,
}
"""Fixes the step loop carries out itself."""
FIXES = frozenset({*DIRECTED, NextAction.LOCAL_REPLAN, NextAction.GLOBAL_REPLAN})
"""What counts as a correction of its lineage (6.4)."""


def decided(
    work: Work, run: Run, reflection: Reflection
) -> tuple[Reflection, str | None]:
    """Return the reflection with what will be done, and why it is not as proposed."""
    wanted, why = _converging(work, run, reflection)
    useful, vain = _useful(work, run, reflection, wanted)
    decision, capped = _within_caps(work, run, useful)
    said = "; ".join(part for part in (why, vain, capped) if part)
    if not said:
        return reflection.but(decision=decision), None
    told = f"{said}; so {decision.value}. {reflection.next_action}"
    return reflection.but(decision=decision, next_action=told[:300]), said


def _converging(
    work: Work, run: Run, reflection: Reflection
) -> tuple[NextAction, str | None]:
    """Return another way where corrections of the lineage do not converge."""
    own = work.state.get("reflections") or ()
    looks = [Look.model_validate(each) for each in work.state.get("looked") or ()]
    looks += [*looks_at(own, {work.step.id}), look_of(reflection.plain())]
    why = not_converging(looks)
    if why is None:
        return reflection.decision, None
    unused = not any(a.tier is Tier.TIER3 for a in work.attempts)
    way = way_out(
        looks,
        fallback=unused and has_fallback(work.step, work.policy(run), run),
        planner=run.deps.reasoner is not None,
        person=run.can_ask,
    )
    return way, why


def _useful(
    work: Work, run: Run, reflection: Reflection, wanted: NextAction
) -> tuple[NextAction, str | None]:
    """Return a wider fix where the wanted one makes a call that is known to fail."""
    seen = work.observation
    patch = (reflection.patch or {}) if wanted is NextAction.PATCH else {}
    changes = any(seen.arguments.get(name) != value for name, value in patch.items())
    again = wanted in {NextAction.RETRY, NextAction.PATCH} and not changes
    if not again or not failed_for_good(work, seen.tool, seen.arguments_digest):
        return wanted, None
    wider = NextAction.LOCAL_REPLAN if run.deps.reasoner else NextAction.GIVE_UP
    return wider, "the same call is known to fail"


def _within_caps(
    work: Work, run: Run, wanted: NextAction
) -> tuple[NextAction, str | None]:
    """Return the decision the caps leave; the reflector may not exceed them."""
    if wanted not in FIXES:
        return wanted, None
    count = work.corrections
    if count >= run.limits.corrections_per_step:
        return NextAction.GIVE_UP, f"{count} corrections of it are all there may be"
    if exhausted := run.reserve("corrections", "executions", "seconds"):
        return NextAction.GIVE_UP, str(exhausted)
    if count >= IN_VAIN and run.can_ask:
        return NextAction.CLARIFY, f"{count} corrections in a row had no effect"
    return wanted, None
