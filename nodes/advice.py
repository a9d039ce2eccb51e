"""Changed arguments without a model: distilled rules, strategies, resolved snapshots.

A rule changes arguments of the call, never the tool or its authorisation (F23).
"""

from collections.abc import Collection, Mapping
from typing import Any

from mendgraph.nodes.prepare import call_digest
from mendgraph.state.failure import Failure
from mendgraph.state.lesson import MendRule, NextAction, StrategyState
from mendgraph.state.record import Record
from mendgraph.tools.cel import RuleError, bounded_view
from mendgraph.tools.evaluate import evaluate, holds
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Run

USABLE = frozenset({StrategyState.ACTIVE, StrategyState.CANDIDATE})
"""Candidates are tried too: only use can make them rise."""


class Advice(Record):
    """Arguments to change, and on whose word."""

    changes: dict[str, Any]
    source: str
    """`rule:ID`, `strategy:ID` or `snapshot:ID`."""
    why: str


async def find_advice(
    run: Run,
    entry: Entry,
    failure: Failure,
    arguments: Mapping[str, Any],
    output: Any,
    failed_digests: Collection[str],
) -> Advice | None:
    """Return the first advice that gives a call not yet known to fail.

    Args:
        run: The node's view of the world.
        entry: The tool.
        failure: What went wrong.
        arguments: The real arguments of the failed call.
        output: What it returned, if it did.
        failed_digests: Digests of calls that failed.
    """
    known = {
        "tool": entry.name,
        "args": dict(arguments),
        "error": error_view(failure),
        "output": bounded_view(output),
    }
    for advice in await _offers(run, entry, failure, known):
        changed = {**arguments, **advice.changes}
        new = call_digest(entry, changed) not in failed_digests
        if new and not entry.problems(changed):
            return advice
    return None


def early_advice(run: Run, entry: Entry, arguments: Mapping[str, Any]) -> Advice | None:
    """Return the first change that a rule makes on the arguments alone."""
    known = {"tool": entry.name, "args": dict(arguments), "error": {}, "output": None}
    own = entry.policy.idempotency_arg
    for rule in run.library.rules.early(entry.name, entry.tool_class):
        advice = _by_rule(run, rule, known, own)
        if advice and not entry.problems({**arguments, **advice.changes}):
            return advice
    return None


def error_view(failure: Failure) -> dict[str, Any]:
    """Return the failure as rules see it."""
    facts = failure.facts
    return {
        "message": facts.message,
        "http_status": facts.http_status or 0,
        "sqlstate": facts.sqlstate or "",
        "errno": facts.errno or 0,
        "subclass": failure.classification.subclass.value,
        "problems": list(facts.problems),
        "timeout_s": facts.timeout_s or 0.0,
    }


async def _offers(
    run: Run, entry: Entry, failure: Failure, known: dict[str, Any]
) -> list[Advice]:
    offers = _from_rules(run, entry, failure, known)
    offers += await _from_strategies(run, entry, failure, known)
    return offers + _from_snapshots(run, failure, known["args"])


def _from_rules(
    run: Run, entry: Entry, failure: Failure, known: dict[str, Any]
) -> list[Advice]:
    offers = []
    own = entry.policy.idempotency_arg
    for rule in run.library.rules.lookup(failure.signature, entry.tool_class):
        advice = _by_rule(run, rule, known, own)
        offers += [advice] if advice else []
    return offers


def _by_rule(
    run: Run, rule: MendRule, known: Mapping[str, Any], own: str | None
) -> Advice | None:
    """Return what a rule changes; an idempotency key is never touched."""
    mended = run.library.rules.apply(rule, known, protected=(own,) if own else ())
    changes = _changed(known["args"], mended) if mended else {}
    if not changes:
        return None
    why = rule.description or f"rule {rule.id}"
    return Advice(changes=changes, source=f"rule:{rule.id}", why=why)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in after.items() if k not in before or before[k] != v}


async def _from_strategies(
    run: Run, entry: Entry, failure: Failure, known: dict[str, Any]
) -> list[Advice]:
    offers = []
    found = await run.library.strategies.for_signature(
        failure.signature, entry.tool_class
    )
    for strategy in found:
        usable = strategy.state in USABLE and strategy.action is NextAction.PATCH
        changes = patched(strategy.patch, strategy.condition, known) if usable else None
        if changes:
            source = f"strategy:{strategy.id}"
            offers.append(
                Advice(changes=changes, source=source, why=strategy.content[:200])
            )
    return offers


def patched(
    patch: Mapping[str, str], condition: str | None, known: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the new arguments a CEL patch gives, or None where it does not apply."""
    try:
        if condition and not holds(condition, known):
            return None
        return {name: evaluate(source, known) for name, source in patch.items()}
    except RuleError:
        return None


def _from_snapshots(
    run: Run, failure: Failure, arguments: Mapping[str, Any]
) -> list[Advice]:
    """Return what mended the same failure of the same values in this task.

    A value that was right for another step, such as its key, is not handed on.
    """
    return [
        Advice(
            changes=snapshot["patch"],
            source=f"snapshot:{snapshot['id']}",
            why=f"it mended step {snapshot['step_id']}",
        )
        for snapshot in run.board.resolved
        if snapshot["signature"] == failure.signature
        and snapshot.get("patch")
        and all(arguments.get(n) == old for n, old in snapshot["replaced"].items())
    ]
