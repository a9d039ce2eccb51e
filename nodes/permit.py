"""May this call be made: rules first, then a person where the rules say so (F14, F15).

Rules are the user's. A deny that matches always wins; otherwise the first rule that
matches decides. Nothing a model or a tool wrote is looked at.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, cast

from mendgraph.nodes.asking import ask
from mendgraph.nodes.prepare import Prepared, call_digest, masked, refused
from mendgraph.nodes.work import Work
from mendgraph.state.call import Approval, Observation
from mendgraph.state.failure import Category, Classification, Reaction, Subclass
from mendgraph.state.interrupts import Decision, DecisionType, Kind, Question
from mendgraph.state.policy import AuthRule
from mendgraph.state.record import Record
from mendgraph.tools.cel import RuleError, compile_rule
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Run


class Permitted(Record):
    """A call that may be made, perhaps as a person edited it."""

    prepared: Prepared
    approval: Approval | None = None
    edits: dict[str, Any] | None = None


def _verdict(rule: str, reason: str, category: Category) -> Classification:
    return Classification(
        category=category,
        subclass=Subclass.PERMISSION_DENIED
        if category is Category.ENVIRONMENT
        else Subclass.MISSING_CONSTRAINT,
        transient=False,
        reaction=Reaction.NO_RETRY,
        confidence=1.0,
        reason=reason,
        rule=rule,
    )


async def permit(work: Work, prepared: Prepared, run: Run) -> Permitted | Observation:
    """Return the call as permitted, or the observation that it is not."""
    entry = run.deps.registry.get(prepared.tool)
    rule = ruling(entry, prepared.arguments, run.deps.authorise)
    if rule is None or rule.decision == "allow":
        return Permitted(prepared=prepared)
    if rule.decision == "deny":
        return _denied(work, entry, prepared, rule)
    if _approved(work.approval, prepared.digest, run.now()):
        return Permitted(prepared=prepared, approval=work.approval)
    return await _ask(work, prepared, run, entry, rule)


def ruling(
    entry: Entry, arguments: Mapping[str, Any], rules: Iterable[AuthRule]
) -> AuthRule | None:
    """Return the rule that decides on a call, or None where none speaks."""
    matching = [rule for rule in rules if _matches(rule, entry, arguments)]
    denying = [rule for rule in matching if rule.decision == "deny"]
    return next(iter((*denying, *matching)), None)


def _matches(rule: AuthRule, entry: Entry, arguments: Mapping[str, Any]) -> bool:
    if not fnmatchcase(entry.name, rule.tool):
        return False
    if rule.when is None:
        return True
    known = {
        "args": dict(arguments),
        "tool": entry.name,
        "effect": entry.policy.effect.value,
    }
    try:
        return compile_rule(rule.when).holds(known)
    except RuleError:
        return rule.decision != "allow"  # what cannot be judged is never allowed by it


def _approved(approval: Approval | None, digest: str, now: float) -> bool:
    if approval is None or approval.digest != digest:
        return False
    return approval.expires_at is None or now <= approval.expires_at


def _denied(
    work: Work, entry: Entry, prepared: Prepared, rule: AuthRule
) -> Observation:
    reason = rule.reason or f"the rules deny {entry.name}"
    verdict = _verdict(
        "authorisation", f"not authorised: {reason}", Category.ENVIRONMENT
    )
    return refused(work, entry, verdict.reason, verdict, prepared.arguments)


async def _ask(
    work: Work, prepared: Prepared, run: Run, entry: Entry, rule: AuthRule
) -> Permitted | Observation:
    question = _question(work, prepared, run, entry, rule)
    key = (
        f"approve:{work.step.id}:{work.state['round']}:{work.number}:{prepared.digest}"
    )
    decision = await ask(run, key, question)
    if decision is None:
        reason = "it needs an approval and nobody can be asked; give a checkpointer"
        verdict = _verdict("authorisation", reason, Category.ENVIRONMENT)
        return refused(work, entry, reason, verdict, prepared.arguments)
    return _answered(work, prepared, run, entry, decision)


def _question(
    work: Work, prepared: Prepared, run: Run, entry: Entry, rule: AuthRule
) -> Question:
    term = entry.policy.approval_expires_s
    why = rule.reason or f"Step {work.step.id!r} wants to call {entry.name!r}."
    return Question(
        kind=Kind.APPROVAL,
        name=entry.name,
        args=masked(prepared.arguments, entry.policy),
        description=f"{why} {work.step.description}".strip(),
        step_id=work.step.id,
        plan_version=work.state["plan_version"],
        args_digest=prepared.digest,
        expires_at=run.now() + term if term else None,
        term_s=term,
        allowed=cast("tuple[DecisionType, ...]", rule.allowed),
    )


def _answered(
    work: Work, prepared: Prepared, run: Run, entry: Entry, decision: Decision
) -> Permitted | Observation:
    if decision.type == "approve":
        return _consent(prepared, entry, run)
    if decision.type == "edit" and decision.edited_action:
        return _edited(work, prepared, run, entry, decision.edited_action.args)
    said = decision.message or "no reason was given"
    text = f"a person rejected it: {said}" if decision.type == "reject" else said
    verdict = _verdict("person", text, Category.REQUIREMENT)
    seen = refused(work, entry, text, verdict, prepared.arguments)
    return seen.but(advice=decision.message)


def _consent(prepared: Prepared, entry: Entry, run: Run) -> Permitted:
    term = entry.policy.approval_expires_s
    expires = run.now() + term if term else None
    approval = Approval(digest=prepared.digest, expires_at=expires)
    return Permitted(prepared=prepared, approval=approval)


def _edited(
    work: Work, prepared: Prepared, run: Run, entry: Entry, edits: dict[str, Any]
) -> Permitted | Observation:
    """Take edited arguments: checked against the schema and authorised again."""
    arguments = {**prepared.arguments, **edits}
    problems = entry.problems(arguments)
    if problems:
        text = "the edited arguments do not fit: " + "; ".join(problems)
        verdict = _verdict("person", text, Category.REQUIREMENT)
        return refused(work, entry, text, verdict, arguments)
    rule = ruling(entry, arguments, run.deps.authorise)
    changed = prepared.but(
        arguments=arguments,
        digest=call_digest(entry, arguments),
        changed=tuple(dict.fromkeys((*prepared.changed, *edits))),
    )
    if rule and rule.decision == "deny":
        return _denied(work, entry, changed, rule)
    return _consent(changed, entry, run).but(edits=edits)
