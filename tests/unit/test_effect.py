"""Digests, keys, and what to do about an effect in doubt: pure rules."""

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.state.effect import (
    EffectStatus,
    LedgerEntry,
    Resolution,
    absence_believed_from,
    adoptable,
    compensation_order,
    digest,
    idempotency_key,
    resolve,
)
from mendgraph.state.policy import Compensation, ConfirmCall, ToolPolicy
from mendgraph.tools.ledger import entry_key

KEYED = ToolPolicy(idempotency_arg="key")
HARMLESS = ToolPolicy(idempotent=True)
ASKABLE = ToolPolicy(confirm_with=ConfirmCall(tool="status"))
BLIND = ToolPolicy()
UNDOABLE = ToolPolicy(compensate_with=Compensation(tool="refund"))

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text("aé\u0301用\x00"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=10,
)


def entry(lineage="s1", tool="pay", generation=0, thread="t1", **more):
    """An entry for paying 5 in step `lineage`."""
    call = digest(tool, {"amount": 5})
    fields = {
        "key": entry_key(thread, lineage, call, generation),
        "thread_id": thread,
        "step_id": lineage,
        "lineage": lineage,
        "plan_version": 1,
        "tool": tool,
        "arguments": {"amount": 5},
        "arguments_digest": call,
        "generation": generation,
        "idempotency_key": idempotency_key(thread, lineage, call, generation),
    }
    return LedgerEntry(**{**fields, **more})


@given(st.dictionaries(st.text("abcdef"), json_values, max_size=5))
def test_digest_ignores_the_order_of_names(arguments):
    """The same call has the same digest, however its arguments were written down."""
    turned = dict(reversed(arguments.items()))
    assert digest("pay", arguments) == digest("pay", turned)
    assert digest("pay", arguments) == digest("pay", json.loads(json.dumps(arguments)))


def test_digest_tells_alike_values_apart():
    """1, 1.0, True and "1" are four approvals, not one."""
    values = (1, 1.0, True, "1", [1], {"a": 1}, None)
    assert len({digest("pay", {"x": each}) for each in values}) == len(values)
    assert digest("pay", {"x": 1}) != digest("refund", {"x": 1})


def test_digest_reads_text_as_people_do():
    """Composed and decomposed accents are the same text, names included."""
    assert digest("pay", {"café": "é"}) == digest("pay", {"cafe\u0301": "e\u0301"})


def test_digest_leaves_out_the_key_and_takes_what_json_cannot():
    """The key is no part of the identity; dates, sets and surrogates have a form."""
    with_key = {"to": {"b", "a"}, "on": date(2026, 1, 2), "x": "\ud800", "key": "k"}
    without = {"to": {"a", "b"}, "on": "2026-01-02", "x": "\ud800"}
    assert digest("pay", with_key, leave_out=("key",)) == digest("pay", without)


def test_digest_refuses_two_names_that_are_one():
    """Nothing may hide behind a name that normalises to another."""
    with pytest.raises(ValueError, match="rename one"):
        digest("pay", {"é": 1, "e\u0301": 2})


def test_idempotency_key_changes_exactly_with_what_matters():
    """An unchanged retry has the same key, anything else a new one."""
    call, other = digest("pay", {"amount": 5}), digest("pay", {"amount": 6})
    first = idempotency_key("t1", "s1", call)
    others = [
        idempotency_key("t2", "s1", call),
        idempotency_key("t1", "s2", call),
        idempotency_key("t1", "s1", other),
        idempotency_key("t1", "s1", call, 1),
        idempotency_key("t1s", "1", call),
    ]
    assert first == idempotency_key("t1", "s1", call)
    assert len({first, *others}) == 6
    assert len(first) == 36


@pytest.mark.parametrize(
    ("status", "policy", "expected"),
    [
        ("done", BLIND, Resolution.REUSE),
        ("failed", BLIND, Resolution.CALL),
        ("compensated", BLIND, Resolution.CALL),
        ("pending", KEYED, Resolution.WAIT),
        ("intent", KEYED, Resolution.REPEAT_SAME_KEY),
        ("unknown", KEYED, Resolution.REPEAT_SAME_KEY),
        ("intent", HARMLESS, Resolution.REPEAT_SAME_KEY),
        ("intent", ASKABLE, Resolution.CONFIRM),
        ("unknown", ASKABLE, Resolution.CONFIRM),
        ("intent", BLIND, Resolution.ASK_PERSON),
        ("unknown", BLIND, Resolution.ASK_PERSON),
        ("compensating", KEYED, Resolution.ASK_PERSON),
    ],
)
def test_resolution(status, policy, expected):
    """What is in doubt goes to the key, else to the service, else to a person."""
    assert resolve(entry(status=status), policy) is expected


def test_resolution_without_history_or_without_a_key():
    """A first call is a call; a policy's key argument helps only if a key was sent."""
    assert resolve(None, BLIND) is Resolution.CALL
    keyless = entry(status="intent", idempotency_key=None)
    assert resolve(keyless, KEYED) is Resolution.ASK_PERSON


@given(st.sampled_from(EffectStatus), st.booleans(), st.booleans(), st.booleans())
def test_nothing_in_doubt_is_ever_called_blindly(status, keyed, idempotent, confirmed):
    """No policy turns doubt into a plain call."""
    policy = ToolPolicy(
        idempotency_arg="key" if keyed else None,
        idempotent=idempotent,
        confirm_with=ConfirmCall(tool="status") if confirmed else None,
    )
    found = resolve(entry(status=status), policy)
    happened_not = {EffectStatus.FAILED, EffectStatus.COMPENSATED}
    assert (found is Resolution.CALL) == (status in happened_not)


def test_absence_is_believed_only_after_the_timeout():
    """A request on its way can still arrive after the service was asked."""
    known = entry(status="intent", updated_at=100.0)
    assert absence_believed_from(known, ToolPolicy(timeout_s=7)) == 107.0


def test_compensation_runs_backwards_over_what_is_done():
    """Only done effects that can be undone, and half-undone ones, newest first."""
    policies = {"pay": UNDOABLE, "mail": BLIND}
    entries = [
        entry("s1", status="done", created_at=1),
        entry("s2", status="failed", created_at=2),
        entry("s3", status="compensating", created_at=3),
        entry("s4", tool="mail", status="done", created_at=4),
        entry("s5", status="unknown", created_at=5),
        entry("s6", status="done", created_at=6),
        entry("s7", status="done", created_at=7, compensates="k"),
        entry("s8", tool="gone", status="done", created_at=8),
    ]
    found = compensation_order(entries, policies)
    assert [each.step_id for each in found] == ["s6", "s3", "s1"]


def test_effect_of_a_vanished_step_is_found_again():
    """A replan with new ids meets the payment already made; a live twin is another."""
    call = digest("pay", {"amount": 5})
    known = [entry("s1", status="done"), entry("s2", status="failed", created_at=9)]
    assert adoptable(known, call, {"s9"}).step_id == "s1"
    assert adoptable(known, call, {"s1", "s2"}) is None
    assert adoptable(known, digest("pay", {"amount": 6}), {"s9"}) is None
