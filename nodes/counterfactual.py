"""Counterfactuals: would the failed step have passed, had an earlier argument differed?

Tried only where every step between is a read or simulatable and allowed without asking
(F28). The replay is a deterministic rerun, so what it shows confirms a cause; nothing
of it enters the task's results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mendgraph.nodes.checks import Seen, inspect
from mendgraph.nodes.permit import ruling
from mendgraph.nodes.prompt_parts import reads
from mendgraph.nodes.schemas import Counterfactual
from mendgraph.nodes.work import Work
from mendgraph.state.plan import Step
from mendgraph.tools.bindings import BindingError, expressions, render
from mendgraph.tools.call import call_tool
from mendgraph.tools.cel import RuleError
from mendgraph.tools.influences import Influence
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Run

HELD = "call:"
"""Prefix under which a round's board holds how a finished step was called."""
LONGEST = 4
"""Calls one replay may make."""


@dataclass(frozen=True)
class Made:
    """How a step was called: all that a replay needs."""

    step: Step
    tool: str
    inputs: Mapping[str, Any]
    changes: Mapping[str, Any]
    references: Mapping[str, str] = field(default_factory=dict)
    """Upstream step → reference of the output it read."""


@dataclass(frozen=True)
class Replayed:
    """What a replay showed."""

    held: bool | None
    """The failed step passed; None: it could not be tried, or told nothing."""
    told: str
    influence: Influence | None = None


def made(work: Work, run: Run) -> Made:
    """Return how the step was called last."""
    references = dict(work.state.get("upstream") or {})
    for step_id in work.state.get("awaits") or ():
        outcome = run.board.outcome(step_id)
        if outcome and outcome.output_ref:
            references[step_id] = outcome.output_ref
    templates = work.step.templates if work.call.inputs is None else work.call.inputs
    return Made(work.step, work.tool, templates, work.call.changes, references)


def hold_call(work: Work, run: Run) -> None:
    """Hold how a finished step was called, for replays of this round."""
    if replayable(run.deps.registry.get(work.tool)):
        run.board.remember(f"{HELD}{work.step.id}", made(work, run))


def replayable(entry: Entry) -> bool:
    """Tell whether calling a tool once more leaves nothing behind."""
    return not entry.policy.has_effect or entry.policy.simulatable


async def replay(work: Work, run: Run, wanted: Counterfactual) -> Replayed:
    """Call the earlier step with the other argument, and all that leads to the failed.

    Args:
        work: The failed step.
        run: The node's view of the world.
        wanted: Step, argument and the value it would have had.
    """
    path = _path(work, run, wanted.step)
    if isinstance(path, str):
        return Replayed(None, f"counterfactual not tried: {path}")
    if run.board.spent.executions + len(path) > run.limits.executions:
        return Replayed(None, "counterfactual not tried: no budget")
    outputs: dict[str, Any] = {}
    for call in path:
        changed = {wanted.argument: wanted.value} if call is path[0] else {}
        problem = await _step(call, run, outputs, changed)
        last = call is path[-1]
        if problem and not last:
            return Replayed(None, f"counterfactual: {call.step.id}: {problem}"[:300])
        if last:
            return _judged(work, run, path[0].tool, wanted, problem)
    return Replayed(None, "counterfactual not tried: there is no path")


def _judged(
    work: Work, run: Run, tool: str, wanted: Counterfactual, problem: str | None
) -> Replayed:
    value = repr(wanted.value)[:80]
    verb = "would have passed" if problem is None else "would have failed all the same"
    told = (
        f"counterfactual (replayed): with {wanted.argument}={value} in {wanted.step}, "
        f"{work.step.id} {verb}" + (f": {problem}" if problem else "")
    )
    influence = Influence(
        cause=tool,
        argument=wanted.argument,
        effect=work.tool,
        mattered=problem is None,
        at=run.now(),
    )
    return Replayed(problem is None, told[:300], influence)


def _path(work: Work, run: Run, start: str) -> list[Made] | str:
    """Return the calls from the changed step to the failed one, or why not."""
    if start == work.step.id:
        return "the fix itself tries it"
    chain = _calls_between(work, run, start)
    if isinstance(chain, str):
        return chain
    for call in chain:
        entry = run.deps.registry.get(call.tool)
        if not replayable(entry):
            return f"{call.tool} of step {call.step.id} has an effect"
    return chain


def _calls_between(work: Work, run: Run, start: str) -> list[Made] | str:
    """Walk up from the failed step; what reads a replayed step is replayed too."""
    held = {}
    frontier = [made(work, run)]
    while frontier:
        call = frontier.pop()
        held[call.step.id] = call
        for step_id in call.references:
            found, above = run.board.recall(f"{HELD}{step_id}")
            if found and step_id not in held:
                frontier.append(above)
    if start not in held:
        return f"how step {start!r} was called is not at hand"
    chain = _downstream(held, start)
    if chain[-1].step.id != work.step.id:
        return f"{work.step.id} reads nothing that comes from {start}"
    return chain if len(chain) <= LONGEST else f"{len(chain)} calls would be needed"


def _downstream(held: Mapping[str, Made], start: str) -> list[Made]:
    """Return the start and everything that reads from it, what is read first."""
    touched = {start}
    while fresh := {
        i for i, c in held.items() if i not in touched and reads(c.step, _ids(touched))
    }:
        touched |= fresh
    chain: list[str] = [start]
    while len(chain) < len(touched):
        waiting = touched - set(chain)
        chain += sorted(
            i for i in waiting if not reads(held[i].step, _ids(waiting - {i}))
        )
    return [held[i] for i in chain]


def _ids(ids: set[str]) -> frozenset[str]:
    return frozenset(ids)


async def _step(
    call: Made, run: Run, outputs: dict[str, Any], changed: Mapping[str, Any]
) -> str | None:
    """Replay one call and keep its output; return why it failed, if it did."""
    entry = run.deps.registry.get(call.tool)
    known = await _known(call, run, outputs)
    try:
        arguments = {
            **render(call.inputs, known),
            **render(call.changes, known),
            **changed,
        }
    except (BindingError, RuleError) as error:
        return str(error)[:200]
    problems = entry.problems(arguments) or _forbidden(entry, arguments, run)
    if problems:
        return "; ".join(problems)[:200]
    run.spend(executions=1)
    limit = call.step.timeout_s or entry.policy.timeout_s
    called = await call_tool(
        entry, arguments, timeout_s=limit, clock=run.deps.clock, config=run.config
    )
    if called.facts is not None:
        return called.facts.message[:200]
    outputs[call.step.id] = called.value
    seen = Seen(call.step, entry.policy, called.value, arguments, known)
    return "; ".join(inspect(seen).problems)[:200] or None


async def _known(call: Made, run: Run, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the call reads: replayed outputs first, else those that were."""
    ids = frozenset(call.references)
    read = [e.step_references(ids) for e in expressions([call.inputs, call.changes])]
    needed = frozenset[str]().union(*read) | frozenset(
        i for i in ids if reads(call.step, frozenset({i}))
    )
    return {
        i: outputs[i] if i in outputs else await run.output(call.references[i])
        for i in needed
    }


def _forbidden(entry: Entry, arguments: Mapping[str, Any], run: Run) -> list[str]:
    rule = ruling(entry, arguments, run.deps.authorise)
    allowed = rule is None or rule.decision == "allow"
    return [] if allowed else [f"{entry.name} may not be called without asking"]
