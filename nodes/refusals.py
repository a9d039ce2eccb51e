"""Calls that are not made: nobody allowed them, or they are known to fail."""

from mendgraph.nodes.prepare import Prepared, refused
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.failure import (
    Category,
    Classification,
    Failure,
    Layer,
    Reaction,
    Subclass,
)
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Run


def verdict(
    rule: str, reason: str, subclass: Subclass, *, transient: bool = False
) -> Classification:
    """Return the class of a call that may not be made."""
    missing = subclass is Subclass.MISSING_CONSTRAINT
    return Classification(
        category=Category.REQUIREMENT if missing else Category.ENVIRONMENT,
        subclass=subclass,
        transient=transient,
        reaction=Reaction.NO_RETRY,
        wait_s=0.0 if transient else None,
        confidence=1.0,
        reason=reason,
        rule=rule,
    )


def not_authorised(
    work: Work, entry: Entry, prepared: Prepared, reason: str
) -> Observation:
    """Return the observation of a call the rules stand against."""
    told = verdict("authorisation", reason, Subclass.PERMISSION_DENIED)
    return refused(work, entry, reason, told, prepared.arguments)


def ran_out(work: Work, prepared: Prepared, run: Run) -> Observation:
    """Return the observation of an approval that ran out while the call waited."""
    reason = "the approval expired before the call was made"
    told = verdict(
        "approval_expired", reason, Subclass.MISSING_CONSTRAINT, transient=True
    )
    entry = run.deps.registry.get(prepared.tool)
    return refused(work, entry, reason, told, prepared.arguments)


def said_no(
    work: Work, entry: Entry, prepared: Prepared, text: str, advice: str | None
) -> Observation:
    """Return the observation of a call a person did not want; it is evidence."""
    told = verdict("person", text, Subclass.MISSING_CONSTRAINT)
    return refused(work, entry, text, told, prepared.arguments).but(advice=advice)


def repeats_failure(work: Work, prepared: Prepared, run: Run) -> Observation | None:
    """Refuse a call that failed before for a reason that repeating does not change."""
    failure = failed_for_good(work, prepared.tool, prepared.digest)
    if failure is None:
        return None
    text = f"the same call failed before and is not repeated: {failure.facts.message}"
    told = failure.classification.but(
        reason=f"not repeated: {failure.classification.reason}",
        reaction=Reaction.NO_RETRY,
        rule="identical",
    )
    entry = run.deps.registry.get(prepared.tool)
    return refused(work, entry, text[:600], told, prepared.arguments)


def failed_for_good(work: Work, tool: str, digest: str) -> Failure | None:
    """Return how this very call failed for a reason that repeating does not change."""
    for failure in work.failures:
        facts = failure.facts
        called = facts.layer not in {Layer.PLAN, Layer.MONITOR}
        same = (facts.tool, facts.arguments_digest) == (tool, digest)
        if same and called and not failure.classification.transient:
            return failure
    return None
