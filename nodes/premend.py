"""Mending a call before it is first made, by rules that look at its arguments alone.

A known fault then costs nothing. A rule changes arguments and nothing else: permission
is asked for the call as it will be made. If the changed call fails, the call as planned
is tried, and where that works the rule has misfired.
"""

from mendgraph.nodes.advice import Advice, early_advice
from mendgraph.nodes.prepare import Prepared, prepare
from mendgraph.nodes.work import Work
from mendgraph.state.call import Call
from mendgraph.state.outcome import Tier
from mendgraph.tools.run import Run

UNMENDED = "unmended"
"""Source of a call that undoes what a rule had changed beforehand."""


async def premended(work: Work, prepared: Prepared, run: Run) -> tuple[Work, Prepared]:
    """Return the step and its first call as a rule mends it, or both as they are."""
    if work.attempts or work.call != Call():
        return work, prepared
    advice = early_advice(run, run.deps.registry.get(prepared.tool), prepared.arguments)
    if advice is None:
        return work, prepared
    call = Call(changes=advice.changes, source=advice.source, why=advice.why[:300])
    changed = Work({**work.state, "call": call.plain()})
    again = await prepare(changed, run)
    return (changed, again) if isinstance(again, Prepared) else (work, prepared)


def is_premended(work: Work) -> bool:
    """Tell whether a rule changed the call before it was first made."""
    by_rule = (work.call.source or "").startswith("rule:")
    return work.call.tier is Tier.FIRST and by_rule


async def as_planned(work: Work, run: Run) -> Advice | None:
    """Return what undoes the rule's change, so that the call is made as planned."""
    before = await prepare(Work({**work.state, "call": {}}), run)
    if not isinstance(before, Prepared):
        return None
    planned = {
        k: before.arguments[k] for k in work.call.changes if k in before.arguments
    }
    if planned.keys() != work.call.changes.keys():
        return None  # the rule added an argument, which a change cannot take away
    rule_id = (work.call.source or "").partition(":")[2]
    return Advice(
        changes=planned,
        source=f"{UNMENDED}:{rule_id}",
        why=f"the call as planned, without what rule {rule_id} had changed",
    )
