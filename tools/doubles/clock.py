"""A clock that moves when it is told to: a double, so that waits are exact and free."""

import asyncio


class VirtualClock:
    """Seconds since the epoch that pass only by `sleep` and `advance`.

    Give the object itself as `clock=` and its method as `sleep=`.
    """

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self.now = start
        self.slept: list[float] = []
        """Every wait, in seconds, in order."""

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.slept.append(round(seconds, 6))
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Move on."""
        self.now += seconds
