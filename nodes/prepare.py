"""From a step to a call: bindings rendered, preconditions and arguments checked.

Everything here happens before anything is called, so a fault found here had no effect.
"""

from collections.abc import Mapping
from typing import Any

from mendgraph.nodes.work import Work
from mendgraph.state.call import Observation
from mendgraph.state.effect import digest
from mendgraph.state.failure import (
    Category,
    Classification,
    FailureFacts,
    Layer,
    Reaction,
    Subclass,
)
from mendgraph.state.masking import MASK, mask_value
from mendgraph.state.policy import ToolPolicy
from mendgraph.state.record import Record
from mendgraph.tools.bindings import BindingError, expressions, render, variables
from mendgraph.tools.cel import RuleError, compile_rule
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Run

ITEMS_SHOWN = 5
"""Items of a list that records and prompts hold."""


class Prepared(Record):
    """A call ready to be permitted and made."""

    tool: str
    arguments: dict[str, Any]
    digest: str
    changed: tuple[str, ...] = ()


async def upstream_outputs(work: Work, run: Run) -> dict[str, Any]:
    """Return the outputs of the steps this one reads, by step id."""
    references = dict(work.state.get("upstream") or {})
    for step_id in work.state.get("awaits") or ():
        outcome = run.board.outcome(step_id)
        if outcome and outcome.output_ref:
            references[step_id] = outcome.output_ref
    wanted = _read_by(work, frozenset(references))
    return {i: await run.output(references[i]) for i in wanted}


def _read_by(work: Work, known: frozenset[str]) -> frozenset[str]:
    inputs = [work.step.templates, work.call.inputs, work.call.changes]
    rules = [work.step.precondition_rule, work.step.validation_rule]
    found = [e.step_references(known) for each in inputs for e in expressions(each)]
    found += [compile_rule(rule).step_references(known) for rule in rules if rule]
    return frozenset().union(*found)


async def prepare(work: Work, run: Run) -> Prepared | Observation:
    """Return the call to make, or why it cannot be made."""
    entry = work.entry(run)
    try:
        outputs = await upstream_outputs(work, run)
        arguments = _arguments(work, outputs)
        _require(work.step.precondition_rule, outputs, arguments)
    except (BindingError, RuleError, KeyError) as error:
        return refused(work, entry, str(error), BROKEN_INPUT)
    problems = entry.problems(arguments)
    if problems:
        return refused(work, entry, "; ".join(problems), WRONG_ARGUMENTS, arguments)
    return Prepared(
        tool=entry.name,
        arguments=arguments,
        digest=call_digest(entry, arguments),
        changed=tuple(work.call.changes),
    )


def call_digest(entry: Entry, arguments: Mapping[str, Any]) -> str:
    """Return the digest approvals and effects are bound to.

    An argument left out is the same as its default written out.
    """
    own = entry.policy.idempotency_arg
    whole = {**entry.defaults, **arguments}
    return digest(entry.name, whole, leave_out=(own,) if own else ())


def _arguments(work: Work, outputs: Mapping[str, Any]) -> dict[str, Any]:
    templates = work.step.templates if work.call.inputs is None else work.call.inputs
    rendered = render(templates, outputs)
    changes = render(work.call.changes, outputs)
    kept = {k: v for k, v in changes.items() if v != MASK}
    return {**rendered, **kept}


def _require(
    rule: str | None, outputs: Mapping[str, Any], arguments: Mapping[str, Any]
) -> None:
    if not rule:
        return
    known = {**variables(outputs), "args": dict(arguments)}
    if not compile_rule(rule).holds(known):
        raise RuleError(f"precondition_rule does not hold: {rule}")


BROKEN_INPUT = Classification(
    category=Category.PLAN,
    subclass=Subclass.PRECONDITION_ERROR,
    transient=False,
    reaction=Reaction.REPLAN,
    confidence=0.9,
    reason="what earlier steps gave does not fit what this step needs",
    rule="binding",
)
WRONG_ARGUMENTS = Classification(
    category=Category.EXECUTION,
    subclass=Subclass.PARAM_ERROR,
    transient=False,
    reaction=Reaction.ADJUST_PARAMS,
    confidence=0.95,
    reason="the arguments do not fit the tool's schema",
    rule="argument_schema",
)


def refused(
    work: Work,
    entry: Entry,
    message: str,
    verdict: Classification,
    arguments: Mapping[str, Any] | None = None,
) -> Observation:
    """Return the observation of a call that was not made."""
    shown = masked(arguments or {}, entry.policy)
    return Observation(
        status="failed",
        tool=entry.name,
        arguments=shown,
        arguments_digest=call_digest(entry, arguments) if arguments else "",
        classification=verdict,
        facts=FailureFacts(
            message=message,
            layer=Layer.PLAN if verdict is BROKEN_INPUT else Layer.MONITOR,
            tool=entry.name,
            tool_class=entry.tool_class,
            arguments=shown,
            attempts=work.number - 1,
        ),
    )


def masked(arguments: Mapping[str, Any], policy: ToolPolicy) -> dict[str, Any]:
    """Return arguments fit to be stored and shown: secrets masked, long values cut."""
    hidden = mask_value(dict(arguments), policy.secret_args)
    return {name: shortened(value) for name, value in hidden.items()}


def shortened(value: Any, longest: int = 600) -> Any:
    """Return a value cut to what a record or a prompt can hold."""
    if isinstance(value, str):
        return value if len(value) <= longest else value[:longest] + "…"
    if isinstance(value, list):
        head = [shortened(item, 120) for item in value[:ITEMS_SHOWN]]
        return head if len(value) <= ITEMS_SHOWN else [*head, f"… {len(value)} items"]
    if isinstance(value, Mapping):
        return {key: shortened(item, 200) for key, item in list(value.items())[:20]}
    return value
