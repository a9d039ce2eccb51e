"""Asking the model for other arguments (tier 2), or for a call out of a fallback's words."""

from typing import Any

from mendgraph.nodes.prepare import Prepared, call_digest, masked, prepare
from mendgraph.nodes.schemas import Patch
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.record import Record
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Run
from mendgraph.tools.thinker import Thought, think_about

PATCH_TOKENS = 2_000
"""Cap of a patch answer, reasoning included (the document: about 800)."""


class Proposal(Record):
    """Other arguments, perhaps for another tool, and why."""

    changes: dict[str, Any]
    why: str
    tool: str | None = None


async def propose_patch(work: Work, run: Run) -> Proposal | str:
    """Return changed arguments, or why there are none to try."""
    entry = work.entry(run)
    thought = await _ask(work, run, entry, fallback=None)
    if thought.value is None:
        return f"no other arguments: {thought.problem}"
    return await checked(work, run, entry, thought.value)


async def propose_fallback(work: Work, run: Run) -> Proposal | str:
    """Turn a fallback described in words into a call."""
    words = work.step.fallback.description if work.step.fallback else ""
    entry = work.entry(run)
    thought = await _ask(work, run, entry, fallback=words)
    if thought.value is None:
        return f"the fallback could not be made a call: {thought.problem}"
    named = thought.value.tool
    if named and named not in run.deps.registry:
        return f"the fallback names no tool: {named!r}"
    chosen = run.deps.registry.get(named) if named else entry
    return await checked(work, run, chosen, thought.value)


async def _ask(
    work: Work, run: Run, entry: Entry, fallback: str | None
) -> Thought[Patch]:
    from mendgraph.nodes.prompts import patch_prompt

    prompt = patch_prompt(
        step=work.step,
        entry=entry,
        arguments=work.observation.arguments,
        failures=work.failures,
        attempts=work.attempts,
        snapshots=run.board.resolved[-3:],
        fallback=fallback,
        alternatives=run.deps.registry if fallback else None,
    )
    label = f"v{work.state['plan_version']}:patch:{work.step.id}"
    return await think_about(
        run, "patch", prompt, Patch, label=label, max_tokens=PATCH_TOKENS
    )


async def checked(work: Work, run: Run, entry: Entry, patch: Patch) -> Proposal | str:
    """Judge a proposal: it must fit the tool and be a call not yet known to fail."""
    prepared = await prepare(work, run)
    if isinstance(prepared, Observation) and entry.name == work.tool:
        base: dict[str, Any] = {}
    else:
        base = _base(prepared)
    changed = {**base, **patch.arguments}
    if not patch.arguments and entry.name == work.tool:
        return "the model changed nothing"
    problems = entry.problems(changed)
    if problems:
        return "the proposed arguments do not fit: " + "; ".join(problems)
    failed = {a.arguments_digest for a in work.attempts if a.status == "failed"}
    if call_digest(entry, changed) in failed:
        return "the proposed call is one that has failed already; it is not repeated"
    tool = entry.name if entry.name != work.tool else None
    why = patch.why or "changed " + ", ".join(masked(patch.arguments, entry.policy))
    return Proposal(changes=patch.arguments, why=why[:300], tool=tool)


def _base(prepared: Prepared | Observation) -> dict[str, Any]:
    return dict(prepared.arguments) if isinstance(prepared, Prepared) else {}
