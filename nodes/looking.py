"""Asking the service how far an effect is: the confirm call, made by code (F16, F18).

A look is a read like any other: budgets and authorisation rules hold for it, and where
the rules would have a person asked first it is not made. It never changes the ledger.
"""

from collections.abc import Mapping
from typing import Any

from mendgraph.nodes.aftermath import Told, reading
from mendgraph.nodes.attempt import observe, out_of_budget
from mendgraph.nodes.permit import ruling
from mendgraph.nodes.prepare import Prepared, refused
from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.effect import LedgerEntry
from mendgraph.state.failure import Category, Classification, Reaction, Subclass
from mendgraph.state.masking import MASK
from mendgraph.state.record import Record
from mendgraph.tools.bindings import BindingError, render
from mendgraph.tools.call import call_tool
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Deps, Run

CUT = "…"
"""Ends a value that was shortened to be stored."""

UNCLEAR = Classification(
    category=Category.ENVIRONMENT,
    subclass=Subclass.SERVICE_UNAVAILABLE,
    transient=False,
    reaction=Reaction.ASK_USER,
    confidence=0.9,
    reason="it is not known whether the effect happened",
    rule="doubt",
)


class Look(Record):
    """What a confirm call told, and its observation."""

    told: Told | None
    seen: Observation


async def look(work: Work, prepared: Prepared, run: Run, entry: LedgerEntry) -> Look:
    """Make the confirm call of an effect.

    Args:
        work: The step, whose wait is waited first.
        prepared: The call that may have happened.
        run: The node's view of the world.
        entry: What the ledger knows of it.
    """
    policy = run.deps.registry.get(entry.tool).policy
    confirm = policy.confirm_with
    if confirm is None:
        raise ValueError(f"{entry.tool} has no confirm call")
    tool = run.deps.registry.get(confirm.tool)
    before = await run.output(entry.output_ref) if entry.output_ref else {}
    known = {"args": with_key(prepared.arguments, run.deps, entry), "output": before}
    given = _arguments(confirm.arguments, known)
    problem = given if isinstance(given, str) else _forbidden(tool, given, run)
    if problem:
        return Look(told=None, seen=refused(work, tool, problem, UNCLEAR))
    await waited(work, run)
    return await _call(work, prepared, run, tool, dict(given), before)  # type: ignore[arg-type]  # no text any more


def with_key(
    arguments: Mapping[str, Any], deps: Deps, entry: LedgerEntry
) -> dict[str, Any]:
    """Return a call's arguments with the idempotency key it was made under."""
    own = deps.registry.get(entry.tool).policy.idempotency_arg
    return {**arguments, **({own: entry.idempotency_key} if own else {})}


async def waited(work: Work, run: Run) -> None:
    """Wait as decided before the attempt, once for this attempt."""
    if work.call.wait_s and not run.waited:
        await run.deps.sleep(work.call.wait_s)
    run.waited = True


def _arguments(
    templates: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any] | str:
    """Return the confirm call's arguments, or why they cannot be made."""
    try:
        given = {name: render(each, known) for name, each in templates.items()}
    except BindingError as error:
        return str(error)
    if any(hidden(each) for each in given.values()):
        return "the arguments it would be looked up by are masked or cut"
    return given


def hidden(value: Any) -> bool:
    """Tell whether a value kept in the ledger is not the one that was used."""
    text = str(value)
    return MASK in text or CUT in text


def _forbidden(tool: Entry, given: Mapping[str, Any], run: Run) -> str | None:
    """Return why the look may not be made, if so."""
    rule = ruling(tool, given, run.deps.authorise)
    if rule is not None and rule.decision != "allow":
        reason = rule.reason or f"the rules say {rule.decision}"
        return f"{tool.name} may not be called to look: {reason}"
    return "; ".join(tool.problems(given)) or None


async def _call(
    work: Work,
    prepared: Prepared,
    run: Run,
    tool: Entry,
    given: dict[str, Any],
    before: Any,
) -> Look:
    exhausted = run.reserve("executions", "seconds")
    if exhausted:
        return Look(told=None, seen=out_of_budget(work, tool, exhausted))
    run.spend(executions=1)
    called = await call_tool(
        tool,
        given,
        timeout_s=tool.policy.timeout_s,
        clock=run.deps.clock,
        config=run.config,
    )
    effect = run.deps.registry.get(prepared.tool)
    told = reading(effect.policy, called.facts, called.value, prepared.arguments)
    joined = called.but(value=_joined(before, called.value))
    return Look(told=told, seen=await observe(work, prepared, run, effect, joined))


def _joined(before: Any, after: Any) -> Any:
    """Return the newest answer with what only the first one said beside it."""
    both = isinstance(before, Mapping) and isinstance(after, Mapping)
    return {**before, **after} if both else after
