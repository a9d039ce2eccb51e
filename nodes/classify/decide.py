"""Facts to class: the first rule that holds decides, and says so (F24, F25).

Status first, then message, then code: error bodies of vendors contradict themselves.
"""

from mendgraph.nodes.classify import (
    aws,
    brokers,
    data,
    flow,
    http,
    models,
    mysql,
    network,
    output,
    plan,
    postgres,
    requirement,
    rpc,
    smtp,
    sqlite,
    system,
    web,
    words,
)
from mendgraph.nodes.classify.rule import FOLLOW_UP, UNSURE, Rule, Seen
from mendgraph.state.failure import Classification, FailureFacts, Reaction
from mendgraph.state.waits import stated_wait
from mendgraph.tools.facts import from_text

ORDER: tuple[tuple[Rule, ...], ...] = (
    flow.FIRST_RULES,
    models.LIMIT_RULES,
    postgres.RULES,
    sqlite.RULES,
    mysql.RULES,
    aws.RULES,
    rpc.GRPC_RULES,
    rpc.MCP_RULES,
    smtp.RULES,
    brokers.RULES,
    http.FORBIDDEN_RULES,
    output.CUT_RULES,
    models.RULES,
    data.BODY_RULES,
    http.STATUS_RULES,
    web.RULES,
    system.EXIT_RULES,
    data.RULES,
    network.RULES,
    output.RULES,
    system.ERRNO_RULES,
    words.RULES,
    flow.TIMEOUT_RULES,
    data.LAST_RULES,
    flow.MONITOR_RULES,
    plan.RULES,
    requirement.RULES,
    output.LAST_RULES,
    system.LAST_EXIT_RULES,
)
RULES: tuple[Rule, ...] = tuple(rule for table in ORDER for rule in table)
"""Every rule, by priority."""

FALLBACK = Rule("no rule knows this failure", lambda _: True, UNSURE, 0.3)
SURE = 0.6
"""From this confidence on a class is acted on without asking a model."""


def classify(facts: FailureFacts, now: float = 0.0) -> Classification:
    """Return the class of the failure, with the reason and the rule that decided.

    `now` is the time since 1970 in seconds: waits stated as a moment need it.
    """
    rule = decide(facts)
    if rule.verdict is FOLLOW_UP:
        return _secondary(facts, rule, now)
    return _classification(facts, rule, now)


def decide(facts: FailureFacts) -> Rule:
    """Return the first rule that holds for the facts."""
    seen = Seen(facts)
    return next((rule for rule in RULES if rule.when(seen)), FALLBACK)


def _secondary(facts: FailureFacts, rule: Rule, now: float) -> Classification:
    """Give a follow-up the class of the first error, when that is known."""
    if not facts.earlier_message:
        found = _classification(facts, rule, now)
        return found.but(secondary=True, reason=f"{found.reason}; it is not known here")
    first = classify(from_text(facts.earlier_message, tool=facts.tool), now)
    reason = f"{rule.name}: {facts.earlier_message!r} ({first.reason})"
    return first.but(secondary=True, reason=reason)


def _classification(facts: FailureFacts, rule: Rule, now: float) -> Classification:
    verdict = rule.verdict
    stated = stated_wait(facts, now) if verdict.transient else None
    waits = verdict.reaction is Reaction.BACKOFF and stated is not None
    return Classification(
        category=verdict.category,
        subclass=verdict.subclass,
        transient=verdict.transient,
        reaction=Reaction.RETRY_AFTER if waits else verdict.reaction,
        wait_s=rule.wait_s if stated is None else stated,
        confidence=rule.confidence,
        reason=_reason(facts, rule),
        rule=rule.name,
    )


_EVIDENCE: tuple[tuple[str, str], ...] = (
    ("http_status", "HTTP status"),
    ("sqlstate", "SQLSTATE"),
    ("errno", "errno"),
    ("exit_code", "exit code"),
    ("error_code", "code"),
    ("error_type", "type"),
    ("finish_reason", "finish reason"),
    ("content_type", "content type"),
)


def _reason(facts: FailureFacts, rule: Rule) -> str:
    """Say the rule in words, with the facts that stand for it."""
    values = ((label, getattr(facts, name)) for name, label in _EVIDENCE)
    evidence = [f"{label} {value}" for label, value in values if value is not None]
    evidence += list(facts.exceptions[:2])
    return f"{rule.name} ({', '.join(evidence)})" if evidence else rule.name
