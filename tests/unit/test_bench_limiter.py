"""The limiter of the board: order, bound and cancelled waiters."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.tools.limiter import Limiter


@given(size=st.integers(1, 5), count=st.integers(1, 20))
def test_never_more_than_its_size_at_once(size, count):
    """However many come, at most `size` hold it, and all get their turn in order."""
    inside, most, order = 0, 0, []

    async def hold(limiter, number):
        nonlocal inside, most
        async with limiter:
            inside += 1
            most = max(most, inside)
            order.append(number)
            await asyncio.sleep(0)
            inside -= 1

    async def all_of_them():
        limiter = Limiter(size)
        await asyncio.gather(*(hold(limiter, i) for i in range(count)))

    asyncio.run(all_of_them())
    assert most == min(size, count)
    assert order == list(range(count))


@pytest.mark.parametrize("granted", [False, True])
def test_a_cancelled_waiter_leaves_no_hole(granted):
    """Whoever is cancelled while waiting, or just when served, passes the slot on."""

    async def scene():
        limiter = Limiter(1)
        await limiter.__aenter__()
        waiting = asyncio.create_task(limiter.__aenter__())
        await asyncio.sleep(0)
        if granted:
            await limiter.__aexit__()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        if not granted:
            await limiter.__aexit__()
        await asyncio.wait_for(limiter.__aenter__(), 1)
        return "served"

    assert asyncio.run(scene()) == "served"
