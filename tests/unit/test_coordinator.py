"""Retries to one service share a timer and a health record."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from mendgraph.tools.coordinator import (
    Coordinator,
    Outcome,
    ServiceRecord,
    is_healthy,
    unavailable_streak,
)


class World:
    """A clock that only sleeping moves, and a store that counts its batches."""

    def __init__(self):
        self.now = 1_000.0
        self.slept = []
        self.store = CountingStore()

    def clock(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def process(self, name="p1"):
        return Coordinator(self.store, self.clock, self.sleep, lambda: name)


class CountingStore(InMemoryStore):
    """An in-memory store that counts what is asked of it."""

    def __init__(self):
        super().__init__()
        self.batches = 0

    async def abatch(self, ops):
        self.batches += 1
        return await super().abatch(ops)


@pytest.fixture
def world():
    return World()


async def record(coordinator, outcomes, status=None):
    """Record `+` as success and `-` as failure."""
    for each in outcomes:
        await coordinator.record("bank", each == "+", None if each == "+" else status)


def test_healthy_service_costs_no_store_traffic(world):
    """A thousand successes touch the store never."""
    one = world.process()
    asyncio.run(record(one, "+" * 1_000))
    assert (world.store.batches, one.healthy("bank")) == (0, True)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ("---", True),
        ("----", False),
        ("--++", True),
        ("---++", False),
        ("---+++", True),
        ("+" * 9 + "-" * 11, False),
        ("+" * 10 + "-" * 10, True),
        ("-" * 20 + "+" * 10, True),
        ("-" * 20 + "+" * 9, False),
    ],
)
def test_health_is_half_of_the_last_twenty(world, outcomes, expected):
    """More than half failed, with four or more seen, makes a service unhealthy."""
    one = world.process()
    asyncio.run(record(one, outcomes))
    assert one.healthy("bank") is expected


def test_health_forgets_after_a_minute(world):
    """Old failures say nothing about now."""
    one = world.process()
    asyncio.run(record(one, "----"))
    world.now += 60.5
    assert one.healthy("bank") is True


def test_services_do_not_blame_each_other(world):
    """One service's failures are not another's."""
    one = world.process()
    asyncio.run(record(one, "-----", 503))
    assert (one.healthy("mail"), one.alternate_due("mail")) == (True, False)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([503, 503], False),
        ([503, 503, 503], True),
        ([503, 503, 500, 503], False),
        ([503, 503, 503, None], False),
    ],
)
def test_alternate_is_due_after_three_unavailable_in_a_row(world, statuses, expected):
    """Three 503 in a row, not three among others."""
    one = world.process()

    async def run():
        for status in statuses:
            await one.record("bank", status is None, status)

    asyncio.run(run())
    assert one.alternate_due("bank") is expected


def test_processes_share_failures_and_recovery(world):
    """What one process suffered, another knows at its own first failure."""
    one, two = world.process("p1"), world.process("p2")

    async def run():
        await record(one, "---", 503)
        await record(two, "-", 503)
        shared = two.healthy("bank"), two.alternate_due("bank")
        world.now += 1
        await record(two, "+++++")
        await one.delay("bank")
        return shared, one.healthy("bank"), two.healthy("bank")

    assert asyncio.run(run()) == ((False, True), True, True)


def test_turn_waits_as_long_as_asked(world):
    """A single retry waits its own time, counted from the asking."""
    one = world.process()

    async def run():
        async with one.turn("bank", 5.0):
            return world.now

    assert asyncio.run(run()) == 1_005.0


def test_turn_without_wait_writes_nothing(world):
    """No wait, no timer to share: one read."""
    one = world.process()

    async def run():
        async with one.turn("bank", 0.0):
            pass

    asyncio.run(run())
    assert (world.slept, world.store.batches) == ([], 1)


def test_retries_to_one_service_run_one_at_a_time(world):
    """Three at once take turns; a second service is not held up by them."""
    one = world.process()
    inside, most, order = 0, 0, []

    async def retry(service, name):
        nonlocal inside, most
        async with one.turn(service, 0.0):
            inside += service == "bank"
            most = max(most, inside)
            for _ in range(3):
                await asyncio.sleep(0)
            order.append(name)
            inside -= service == "bank"

    async def run():
        calls = [("bank", "a"), ("bank", "b"), ("bank", "c"), ("mail", "m")]
        await asyncio.gather(*(retry(*each) for each in calls))

    asyncio.run(run())
    assert (most, [each for each in order if each != "m"]) == (1, ["a", "b", "c"])
    assert order.index("m") < order.index("b")


def test_timer_is_shared_between_processes(world):
    """One process is told to wait ten seconds; the other's retry waits them too."""
    one, two = world.process("p1"), world.process("p2")

    async def run():
        await one._announce("bank", world.now + 10)
        expected = await two.delay("bank", 2.0)
        async with two.turn("bank", 2.0):
            return expected, world.now

    assert asyncio.run(run()) == (10.0, 1_010.0)
    assert one.hold_s("bank") == 0.0


def test_timer_moved_while_waiting_is_obeyed(world):
    """A longer Retry-After seen elsewhere during the wait extends it."""
    one, two = world.process("p1"), world.process("p2")
    plain = world.sleep

    async def sleep(seconds):
        if not world.slept:
            await two._announce("bank", world.now + 30)
        await plain(seconds)

    one._sleep = sleep

    async def run():
        async with one.turn("bank", 5.0):
            return world.now

    assert asyncio.run(run()) == 1_030.0


def test_failing_body_frees_the_turn(world):
    """A retry that raises does not lock its service up."""
    one = world.process()

    async def run():
        with pytest.raises(ValueError, match="no"):
            async with one.turn("bank", 0.0):
                raise ValueError("no")
        async with one.turn("bank", 0.0):
            return True

    assert asyncio.run(run()) is True


def test_each_event_loop_has_its_own_lock(world):
    """One coordinator serves a second event loop after the first is gone."""
    one = world.process()

    async def run():
        async with one.turn("bank", 1.0):
            return world.now

    assert [asyncio.run(run()) for _ in range(2)] == [1_001.0, 1_002.0]


def test_records_of_long_dead_processes_are_dropped(world):
    """The store does not collect the dead."""
    old, new = world.process("old"), world.process("new")

    async def run():
        await record(old, "-")
        world.now += 3_601
        await record(new, "-")
        place = ("mendgraph", "service", "bank")
        return [item.key for item in await world.store.asearch(place)]

    assert asyncio.run(run()) == ["new"]


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=40))
def test_joining_records_is_order_free(pairs):
    """Union of outcomes does not depend on who reads first, and stays bounded."""
    known = [
        ServiceRecord(outcomes=(Outcome(at=at, ok=ok),), not_before=at)
        for at, ok in sorted(set(pairs))
    ]
    left, right = ServiceRecord(), ServiceRecord()
    for each in known:
        left = left.joined(each)
    for each in reversed(known):
        right = each.joined(right)
    assert (left.not_before, len(left.outcomes)) == (
        right.not_before,
        min(20, len(known)),
    )
    assert [each.at for each in left.outcomes] == [each.at for each in right.outcomes]
    assert is_healthy(left, 1_000.0)
    assert unavailable_streak(left) == 0
