"""What is known of an effect after a call or a look: rules on facts and outputs, pure.

Whatever is not certain stays in doubt; only what surely did not happen is `failed`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mendgraph.nodes.checks import condition
from mendgraph.state.effect import EffectStatus
from mendgraph.state.failure import FailureFacts
from mendgraph.state.policy import ToolPolicy

CLIENT_ERRORS = range(400, 500)
MAYBE_STATUSES = frozenset({408, 409, 425, 499})
"""Client errors after which the request may still have been carried out."""
NEVER_SENT = ("ConnectionRefusedError", "gaierror", "ConnectTimeout", "ConnectError")
LOST_STATES = ("08", "57P", "40003")
"""SQLSTATE classes after which a transaction's end is unknown."""
NOT_FOUND = 404


class Told(StrEnum):
    """What a confirm call says of an effect."""

    HAPPENED = "happened"
    PENDING = "pending"
    FAILED = "failed"
    """It was tried, and its end is final and bad."""
    ABSENT = "absent"
    """The service knows nothing of it."""


def effect_status(
    facts: FailureFacts | None,
    value: object,
    arguments: Mapping[str, Any],
    policy: ToolPolicy,
) -> EffectStatus:
    """Return what is known of the effect after its call."""
    if facts is not None:
        return EffectStatus.FAILED if surely_nothing(facts) else EffectStatus.UNKNOWN
    if policy.failed_when and condition(policy.failed_when, value, arguments):
        return EffectStatus.FAILED
    if is_pending(policy, value, arguments):
        return EffectStatus.PENDING
    return EffectStatus.DONE


def is_pending(policy: ToolPolicy, value: object, arguments: Mapping[str, Any]) -> bool:
    """Tell whether a business status is accepted but not final (F18)."""
    if policy.pending_when and condition(policy.pending_when, value, arguments):
        return True
    if policy.failed_when and condition(policy.failed_when, value, arguments):
        return False
    return bool(policy.final_when) and not condition(
        policy.final_when or "", value, arguments
    )


def surely_nothing(facts: FailureFacts) -> bool:
    """Tell whether a failed call certainly had no effect."""
    if facts.http_status is not None:
        return (
            facts.http_status in CLIENT_ERRORS
            and facts.http_status not in MAYBE_STATUSES
        )
    if facts.sqlstate is not None:
        return not facts.sqlstate.startswith(LOST_STATES)
    return any(name.rsplit(".", 1)[-1] in NEVER_SENT for name in facts.exceptions)


def reading(
    policy: ToolPolicy,
    facts: FailureFacts | None,
    value: object,
    arguments: Mapping[str, Any],
) -> Told | None:
    """Return what a confirm call's answer says of the effect; None when nothing."""
    if facts is not None:
        return Told.ABSENT if facts.http_status == NOT_FOUND else None
    confirm = policy.confirm_with
    rules = (
        (confirm.absent_when if confirm else None, Told.ABSENT),
        (confirm.failed_when if confirm else None, Told.FAILED),
        (policy.failed_when, Told.FAILED),
        (policy.pending_when, Told.PENDING),
        (confirm.done_when if confirm else None, Told.HAPPENED),
        (policy.final_when, Told.HAPPENED),
    )
    for rule, told in rules:
        if rule and condition(rule, value, arguments):
            return told
    return None
