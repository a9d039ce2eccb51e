"""A thread is run by one at a time, within a process and between processes."""

import asyncio
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.store.memory import InMemoryStore

from mendgraph.tools.lease import (
    LeaseLost,
    LeaseToken,
    ThreadBusy,
    ahold,
    hold,
)
from mendgraph.tools.lease_kinds import (
    FileLease,
    ProcessLease,
    StoreLease,
    choose_lease,
    flock_grab,
    sqlite_grab,
)


class Clock:
    """A clock moved by hand."""

    def __init__(self):
        self.now = 1_769_850_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["process", "flock", "sqlite", "store"])
def lease(request, tmp_path, clock):
    """Every kind that needs no server."""
    kinds = {
        "process": lambda: ProcessLease(clock),
        "flock": lambda: FileLease(tmp_path, clock, flock_grab),
        "sqlite": lambda: FileLease(tmp_path, clock, sqlite_grab),
        "store": lambda: StoreLease(InMemoryStore(), clock),
    }
    return kinds[request.param]()


def test_second_run_is_refused_with_the_remedy(lease):
    """The message says who, since when, and what to do."""
    lease.acquire("t1")
    with pytest.raises(ThreadBusy) as refused:
        lease.acquire("t1")
    shape = (
        r"thread t1 is being run by .+ since 2026-01-31 09:00:00 UTC; "
        r"wait until it ends, or use another thread_id"
    )
    assert re.fullmatch(shape, str(refused.value))
    assert lease.acquire("t2").thread_id == "t2"


def test_released_thread_is_free_again(lease):
    """Release frees, twice does no harm, and a stale token frees nobody else's run."""
    first = lease.acquire("t1")
    lease.renew(first)
    lease.release(first)
    second = lease.acquire("t1")
    lease.release(first)
    with pytest.raises(ThreadBusy):
        lease.acquire("t1")
    with pytest.raises(LeaseLost):
        lease.renew(first)
    lease.renew(second)


def test_one_of_many_racing_threads_wins(lease):
    """Of sixteen at once at most one is admitted; of an exact lease exactly one."""
    start = threading.Barrier(16)

    def race(_):
        start.wait()
        try:
            return lease.acquire("t1")
        except ThreadBusy:
            return None

    with ThreadPoolExecutor(16) as pool:
        winners = [each for each in pool.map(race, range(16)) if each]
    assert len(winners) in ({0, 1} if isinstance(lease, StoreLease) else {1})


def test_body_that_raises_frees_the_thread(lease):
    """A failed run does not lock its thread up, in either kind of call."""
    with pytest.raises(ValueError, match="no"), hold(lease, "t1"):
        raise ValueError("no")

    async def run():
        async with ahold(lease, "t1") as token:
            with pytest.raises(ThreadBusy):
                async with ahold(lease, "t1"):
                    pass
            return token

    assert asyncio.run(run()).thread_id == "t1"
    lease.acquire("t1")


def test_holder_without_a_readable_note_is_still_refused(tmp_path):
    """A lock without its note (a crash between the two) is a lock."""
    holder = FileLease(tmp_path)
    token = holder.acquire("t1")
    for note in tmp_path.glob("*.json"):
        note.write_text("{")
    with pytest.raises(ThreadBusy, match="run by another process; wait"):
        FileLease(tmp_path).acquire("t1")
    holder.release(token)


def test_odd_thread_ids_have_their_own_files(tmp_path):
    """No thread id leaves the folder or meets another's file."""
    lease = FileLease(tmp_path / "locks")
    names = ["../x", "a/b", "a" * 5_000, "用户", "", "\ud800"]
    assert [lease.acquire(each).thread_id for each in names] == names
    assert len(list((tmp_path / "locks").glob("*.lock"))) == len(names)
    assert [each.name for each in tmp_path.iterdir()] == ["locks"]


def test_store_lease_of_the_dead_is_taken_over(clock):
    """After the time to live another run gets the thread, and the first learns it."""
    lease = StoreLease(InMemoryStore(), clock, ttl_s=60)
    first = lease.acquire("t1")
    clock.now += 59
    lease.renew(first)
    clock.now += 59
    with pytest.raises(ThreadBusy):
        lease.acquire("t1")
    clock.now += 2
    second = lease.acquire("t1")
    with pytest.raises(LeaseLost, match="taken over after 60 s"):
        lease.renew(first)
    lease.renew(second)


def test_store_lease_holder_that_wakes_late_gives_way(clock):
    """A record written back after a takeover does not make two holders."""
    lease = StoreLease(InMemoryStore(), clock, ttl_s=60)
    first = lease.acquire("t1")
    clock.now += 61
    second = lease.acquire("t1")
    lease._write(first, "holder")
    with pytest.raises(LeaseLost):
        lease.renew(first)
    lease.renew(second)


def test_passing_candidate_does_not_cost_the_holder_its_lease(clock):
    """Somebody who asks and is about to withdraw is no holder."""
    lease = StoreLease(InMemoryStore(), clock)
    token = lease.acquire("t1")
    rival = LeaseToken(thread_id="t1", id="x", holder="rival", since=clock())
    lease._write(rival, "candidate")
    lease.renew(token)
    with pytest.raises(ThreadBusy):
        lease.acquire("t1")


def test_heartbeat_renews_while_the_body_runs(clock):
    """A run longer than the time to live keeps its thread."""
    lease = StoreLease(InMemoryStore(), clock)
    beats = threading.Semaphore(0)
    renew = lease.renew

    def counting(token):
        renew(token)
        beats.release()

    lease.renew, lease.renew_every_s = counting, 0.001
    with hold(lease, "t1"):
        assert all(beats.acquire(timeout=5) for _ in range(3))
    assert not [
        each for each in threading.enumerate() if each.name == "mendgraph-lease"
    ]


def test_cancelled_waiter_leaves_no_lease(clock):
    """A run cancelled while it takes the thread does not keep it."""
    lease = ProcessLease(clock)
    entered, go_on = threading.Event(), threading.Event()
    acquire = lease.acquire

    def slow(thread_id):
        entered.set()
        go_on.wait(5)
        return acquire(thread_id)

    lease.acquire = slow

    async def waiter():
        async with ahold(lease, "t1"):
            pass

    async def run():
        task = asyncio.create_task(waiter())
        await asyncio.to_thread(entered.wait, 5)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert acquire("t1").thread_id == "t1"


def test_choice_follows_the_persistence(tmp_path):
    """A folder has files, memory a registry, any other store its records."""

    class OtherStore(StoreLease.__mro__[-1]):
        """A store of somebody else's."""

    kinds = [
        choose_lease(None),
        choose_lease(InMemoryStore()),
        choose_lease(InMemoryStore(), tmp_path),
        choose_lease(OtherStore()),
    ]
    expected = [ProcessLease, ProcessLease, FileLease, StoreLease]
    assert [type(each) for each in kinds] == expected
