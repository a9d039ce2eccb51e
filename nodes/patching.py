"""Asking the model for other arguments, or a call out of a fallback's words."""

from collections.abc import Mapping
from typing import Any

from mendgraph.nodes.pausing import ask_model
from mendgraph.nodes.prepare import Prepared, call_digest, masked, prepare
from mendgraph.nodes.prompts import patch_prompt
from mendgraph.nodes.schemas import Patch
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.record import Record
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Run
from mendgraph.tools.thinker import Thought

PATCH_TOKENS = 2_000
"""Cap of a patch answer, reasoning included (the document: about 800)."""


class Proposal(Record):
    """Other arguments, perhaps for another tool, and why."""

    changes: dict[str, Any]
    why: str
    lesson: str = ""
    tool: str | None = None


async def propose_patch(work: Work, run: Run) -> Proposal | str:
    """Return changed arguments, or why there are none to try."""
    entry = work.entry(run)
    thought = await _ask(work, run, entry, fallback="")
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


async def _ask(work: Work, run: Run, entry: Entry, fallback: str) -> Thought[Patch]:
    told = f"{work.step.description} Now do it this simpler way: {fallback}"
    step = work.step.but(description=told) if fallback else work.step
    prompt = patch_prompt(
        step,
        entry,
        work.observation.arguments,
        work.failures[-1],
        attempts=work.attempts,
        snapshots=[_told(snapshot) for snapshot in run.board.resolved],
    )
    label = f"v{work.state['plan_version']}:patch:{work.step.id}:{work.number}"
    return await ask_model(
        run,
        "patch",
        prompt,
        Patch,
        label=label,
        step_id=work.step.id,
        max_tokens=PATCH_TOKENS,
    )


def _told(snapshot: Mapping[str, Any]) -> str:
    """Return a resolved snapshot in a sentence."""
    changed = ", ".join(snapshot.get("patch") or ()) or "the way it is called"
    issue = snapshot["observed_issue"][:160]
    return f"{snapshot['tool']}: {issue} -> changing {changed} helped"


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
    return Proposal(
        changes=patch.arguments, why=why[:300], lesson=patch.lesson[:400], tool=tool
    )


def _base(prepared: Prepared | Observation) -> dict[str, Any]:
    return dict(prepared.arguments) if isinstance(prepared, Prepared) else {}
