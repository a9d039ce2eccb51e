"""May this call be made: rules first, then a person where the rules say so (F14, F15).

Rules are the user's. A deny that matches always wins; otherwise the first rule that
matches decides. Nothing a model or a tool wrote is looked at. An approval is bound to
the digest of the call, expires, and lives only in the step it was given for.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from itertools import count
from typing import Any, cast

from mendgraph.nodes.asking import Answered, ask_in_term
from mendgraph.nodes.edits import edited
from mendgraph.nodes.prepare import Prepared, call_digest, masked
from mendgraph.nodes.refusals import not_authorised, said_no
from mendgraph.nodes.work import Work
from mendgraph.state.call import Approval, Observation
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


class ApprovalExpired(Exception):
    """The approval ran out between permission and call; it is asked for again."""


async def permit(work: Work, asked: Permitted, run: Run) -> Permitted | Observation:
    """Return the call as permitted, or the observation that it is not."""
    prepared = asked.prepared
    entry = run.deps.registry.get(prepared.tool)
    rule = ruling(entry, prepared.arguments, run.deps.authorise)
    if rule is None or rule.decision == "allow":
        return asked
    if rule.decision == "deny":
        reason = f"not authorised: {rule.reason or f'the rules deny {entry.name}'}"
        return not_authorised(work, entry, prepared, reason)
    for turn in count():
        if approved(asked.approval, prepared.digest, run.now()):
            return asked
        answered = await _asked(work, prepared, run, rule, turn)
        if answered is None:
            reason = "it needs an approval and nobody can be asked; give a checkpointer"
            return not_authorised(work, entry, prepared, reason)
        said = _answer(work, asked, run, answered)
        if isinstance(said, Observation) or said.prepared.digest != prepared.digest:
            return said
        asked = said
    raise AssertionError


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


def approved(approval: Approval | None, digest: str, now: float) -> bool:
    """Tell whether an approval is for this very call and still holds."""
    bound = approval is not None and approval.digest == digest
    return bound and not expired(approval, now)


def expired(approval: Approval | None, now: float) -> bool:
    """Tell whether an approval has run out."""
    until = approval.expires_at if approval else None
    return until is not None and now > until


async def _asked(
    work: Work, prepared: Prepared, run: Run, rule: AuthRule, turn: int
) -> Answered | None:
    entry = run.deps.registry.get(prepared.tool)

    def judge(decision: Decision) -> str | None:
        """See that an edit fits the tool and is not denied."""
        if decision.edited_action is None:
            return None
        arguments = edited(prepared.arguments, decision.edited_action, entry)
        if isinstance(arguments, str):
            return arguments
        found = ruling(entry, arguments, run.deps.authorise)
        denied = found is not None and found.decision == "deny"
        return f"The rules deny it: {found.reason}" if found and denied else None

    place = f"{work.step.id}:{work.state['round']}:{work.number}"
    question = _question(work, prepared, run, entry, rule)
    return await ask_in_term(
        run, f"approve:{place}:{prepared.digest}:{turn}", question, judge
    )


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


def _answer(
    work: Work, asked: Permitted, run: Run, answered: Answered
) -> Permitted | Observation:
    decision, until = answered.decision, answered.question.expires_at
    prepared = asked.prepared
    entry = run.deps.registry.get(prepared.tool)
    if decision.type == "approve":
        return asked.but(approval=Approval(digest=prepared.digest, expires_at=until))
    if decision.edited_action:
        arguments = edited(prepared.arguments, decision.edited_action, entry)
        if not isinstance(arguments, str):
            return _as_edited(asked, arguments, entry, until)
    said = decision.message or "no reason was given"
    text = f"a person rejected it: {said}" if decision.type == "reject" else said
    return said_no(work, entry, prepared, text, decision.message)


def _as_edited(
    asked: Permitted, arguments: dict[str, Any], entry: Entry, until: float | None
) -> Permitted:
    """Return the edited call with the consent its editor gave by writing it."""
    before, digest = asked.prepared.arguments, call_digest(entry, arguments)
    edits = {
        name: value
        for name, value in arguments.items()
        if name not in before or before[name] != value
    }
    changed = tuple(dict.fromkeys((*asked.prepared.changed, *edits)))
    return Permitted(
        prepared=asked.prepared.but(
            arguments=arguments, digest=digest, changed=changed
        ),
        approval=Approval(digest=digest, expires_at=until),
        edits={**(asked.edits or {}), **edits},
    )
