"""The ledger remembers effects through crashes, replans and undoing."""

import asyncio
import itertools

import pytest
from langgraph.store.memory import InMemoryStore

from mendgraph.state.effect import (
    EffectStatus,
    LedgerEntry,
    digest,
    idempotency_key,
    next_generation,
)
from mendgraph.tools.ledger import Ledger, LedgerError, entry_key


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
