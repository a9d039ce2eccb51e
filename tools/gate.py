"""Which branches of a round are set up first: those that can begin.

All pending steps are sent at once, and setting a branch up takes a few milliseconds of
the one event loop. Where fifty wait for the first, the first would begin after all of
them; so who has to wait anyway is set up once everybody who can begin is ready to call.
Nobody passes the gate later than that: turns, slots, doubts and people come after it.
"""

import asyncio


class Gate:
    """Open while no branch of the round is being set up that can begin."""

    def __init__(self) -> None:
        self._ahead: set[str] = set()
        self._open = asyncio.Event()
        self._open.set()

    def enter(self, step_id: str) -> None:
        """Count a branch that can begin at once."""
        self._ahead.add(step_id)
        self._open.clear()

    def leave(self, step_id: str) -> None:
        """Count it no more: it is ready to call, or ended before."""
        self._ahead.discard(step_id)
        if not self._ahead:
            self._open.set()

    async def passed(self) -> None:
        """Wait until those that can begin are ready."""
        await self._open.wait()
