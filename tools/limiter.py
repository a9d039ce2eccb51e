"""A semaphore whose turns cost the same however many wait.

`asyncio.Semaphore` looks through all its waiters at every acquire (CPython 3.11,
`Semaphore.locked`), so a thousand waiting branches made a million looks.
"""

import asyncio
from collections import deque


class Limiter:
    """At most `size` holders at once, served in the order they came."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        """Hand the slot to the first that still waits, or keep it free."""
        while self._waiters:
            turn = self._waiters.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
