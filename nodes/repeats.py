"""New steps that would make a call again that failed because of how it was called.

A replan may not bring back what an earlier version has shown to fail: the ids are new,
the call is the same. It may where something new comes before it, which can mend what
was missing.
"""

from collections.abc import Collection, Iterable, Mapping

from mendgraph.state.effect import digest
from mendgraph.state.failure import Category, Subclass
from mendgraph.state.masking import mask
from mendgraph.state.outcome import StepRecord
from mendgraph.state.plan import Step

ARGUMENTS_TO_BLAME = frozenset(
    f"{Category.EXECUTION}:{subclass}"
    for subclass in (Subclass.PARAM_ERROR, Subclass.CAPABILITY_MISSING)
)
"""Verdicts that the same arguments will meet again, whoever tries and whenever."""


def fingerprint(step: Step) -> str:
    """Return the hash of tool and input templates: what a step calls, not its id."""
    return digest(step.tool or "subtask", step.inputs)[:16]


def repeated_failures(
    new: Iterable[Step], records: Mapping[str, StepRecord], done: Collection[str]
) -> list[str]:
    """Return a problem for each new step that is known to fail.

    Args:
        new: Steps that the proposal adds.
        records: What became of all steps so far, voided ones among them.
        done: Finished steps; a step that needs another one may succeed this time.
    """
    known = {r.fingerprint: r for r in records.values() if _wrongly_called(r)}
    return [
        f"step {step.id!r} makes the call of {failed.step_id!r} again, which failed "
        f"because of its arguments: {_why(failed)}; change what was wrong with it"
        for step in new
        if (failed := known.get(fingerprint(step)))
        and set(step.dependencies) <= {*done}
    ]


def _wrongly_called(record: StepRecord) -> bool:
    """Tell whether the call as planned failed, and for its arguments."""
    if record.failure is None or not record.attempts:
        return False
    first = record.attempts[0]
    return first.status == "failed" and first.verdict in ARGUMENTS_TO_BLAME


def _why(record: StepRecord) -> str:
    return mask(record.attempts[0].error or "no reason given")[:200]
