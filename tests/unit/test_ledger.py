"""Effects, their digests and keys, and the ledger that remembers them."""

import asyncio
import itertools
import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from mendgraph.state.effect import (
    EffectStatus,
    LedgerEntry,
    Resolution,
    adoptable,
    compensation_order,
    digest,
    idempotency_key,
    next_generation,
    resolve,
)
from mendgraph.state.policy import Compensation, ConfirmCall, ToolPolicy
from mendgraph.tools.ledger import Ledger, LedgerError, entry_key

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


@pytest.fixture
def ledger():
    """A ledger over a store in memory, its clock counting up from 1,000."""
    ticks = itertools.count(1_000)
    return Ledger(InMemoryStore(), lambda: float(next(ticks)))


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


def test_intent_is_there_before_the_outcome(ledger):
    """A crash between begin and finish leaves an entry in doubt."""

    async def crash():
        await ledger.begin(entry())
        return await ledger.find("t1", "s1", digest("pay", {"amount": 5}))

    found = asyncio.run(crash())
    assert (found.status, found.in_doubt) == (EffectStatus.INTENT, True)
    assert found.created_at == 1_000.0


def test_finish_records_the_outcome_and_keeps_what_it_knew(ledger):
    """The output's reference and the note stay until they are replaced."""

    async def run():
        begun = await ledger.begin(entry())
        await ledger.finish(begun.key, EffectStatus.PENDING, "ref-1", "accepted")
        return await ledger.finish(begun.key, EffectStatus.DONE)

    done = asyncio.run(run())
    assert (done.status, done.output_ref, done.note) == ("done", "ref-1", "accepted")
    assert done.created_at < done.updated_at


@pytest.mark.parametrize("status", ["done", "pending"])
def test_begin_refuses_what_has_happened(ledger, status):
    """The ledger is a second wall behind `resolve`."""

    async def run():
        begun = await ledger.begin(entry())
        await ledger.finish(begun.key, EffectStatus(status))
        await ledger.begin(entry())

    with pytest.raises(LedgerError, match=f"is {status}; resolve it"):
        asyncio.run(run())


def test_begin_again_only_under_the_same_key(ledger):
    """In doubt, the same key may go on; no key and another key may not."""

    async def run():
        first = await ledger.begin(entry())
        again = await ledger.begin(entry())
        assert again.created_at == first.created_at
        for key in (None, "another"):
            with pytest.raises(LedgerError, match="is intent"):
                await ledger.begin(entry(idempotency_key=key))
        failed = await ledger.finish(first.key, EffectStatus.FAILED)
        assert failed.status is EffectStatus.FAILED
        return await ledger.begin(entry(idempotency_key="another"))

    assert asyncio.run(run()).idempotency_key == "another"


def test_reopen_is_for_doubt_only(ledger):
    """An idempotent tool without a key is repeated in the open."""

    async def run():
        begun = await ledger.begin(entry(idempotency_key=None))
        await ledger.finish(begun.key, EffectStatus.UNKNOWN)
        again = await ledger.reopen(begun.key, "repeating is harmless")
        await ledger.finish(begun.key, EffectStatus.DONE)
        with pytest.raises(LedgerError, match="is done"):
            await ledger.reopen(begun.key)
        return again

    again = asyncio.run(run())
    assert (again.status, again.note) == ("intent", "repeating is harmless")


def test_a_done_effect_cannot_be_denied(ledger):
    """Done never becomes failed; an unknown key is told."""

    async def run():
        begun = await ledger.begin(entry())
        await ledger.finish(begun.key, EffectStatus.DONE)
        await ledger.finish(begun.key, EffectStatus.DONE)
        with pytest.raises(LedgerError, match="cannot become failed"):
            await ledger.finish(begun.key, EffectStatus.FAILED)
        with pytest.raises(LedgerError, match="no intent"):
            await ledger.finish("t1/none", EffectStatus.DONE)

    asyncio.run(run())


def test_undone_and_wanted_again_is_a_new_generation(ledger):
    """The undone effect stays on record and the next has a key of its own."""
    call = digest("pay", {"amount": 5})

    async def run():
        first = await ledger.begin(entry())
        for status in (EffectStatus.DONE, EffectStatus.COMPENSATING):
            await ledger.finish(first.key, status)
        await ledger.finish(first.key, EffectStatus.COMPENSATED)
        undone = await ledger.find("t1", "s1", call)
        second = entry(generation=next_generation(undone))
        await ledger.begin(second)
        return first, undone, await ledger.find("t1", "s1", call)

    first, undone, second = asyncio.run(run())
    assert (undone.status, second.generation) == ("compensated", 1)
    assert first.idempotency_key != second.idempotency_key
    assert (next_generation(None), next_generation(second)) == (0, 1)


def test_adopted_effect_moves_with_its_key(ledger):
    """The new step finds the effect, the old place is empty, the key is the same."""

    async def run():
        old = await ledger.begin(entry("s1"))
        await ledger.finish(old.key, EffectStatus.DONE, "ref")
        moved = await ledger.adopt(old.key, step_id="n1", lineage="n1", plan_version=2)
        found = await ledger.find("t1", "n1", old.arguments_digest)
        gone = await ledger.find("t1", "s1", old.arguments_digest)
        with pytest.raises(LedgerError, match="already has"):
            await ledger.adopt(moved.key, step_id="n1", lineage="n1", plan_version=2)
        return old, found, gone

    old, found, gone = asyncio.run(run())
    assert (found.status, found.output_ref, gone) == ("done", "ref", None)
    assert found.idempotency_key == old.idempotency_key
    assert found.note == "adopted from step s1"


def test_threads_with_odd_names_do_not_mix(ledger):
    """Periods, slashes and prefixes in a thread id stay within that thread."""
    threads = ("a", "a.b", "a/b", "ab", "用户", " ", "a\x00")

    async def run():
        for each in threads:
            await ledger.begin(entry(thread=each))
        return [await ledger.of_thread(each) for each in threads]

    assert [len(each) for each in asyncio.run(run())] == [1] * len(threads)


def test_entries_come_in_creation_order(ledger):
    """The ledger of a thread reads like a diary, also when the clock stands still."""
    still = Ledger(ledger._store, lambda: 5.0)
    names = [f"s{number}" for number in range(12, 0, -1)]

    async def run():
        for name in names:
            await still.begin(entry(name))
        await still.begin(entry("s3", tool="mail"))
        return await still.of_thread("t1"), await still.of_lineage("t1", "s3")

    everything, lineage = asyncio.run(run())
    assert [each.step_id for each in everything] == [*names, "s3"]
    assert [each.tool for each in lineage] == ["pay", "mail"]


def test_hostile_text_is_stored_as_text(ledger):
    """NUL and lone surrogates, which databases refuse, do not lose an entry."""

    async def run():
        await ledger.begin(entry(arguments={"memo": "a\x00\ud800b", "n": [1, "\x00"]}))
        return await ledger.of_thread("t1")

    stored = asyncio.run(run())[0].arguments
    assert stored == {"memo": "a\\x00\\ud800b", "n": [1, "\\x00"]}
