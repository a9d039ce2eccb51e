"""One run per thread: a second run on a thread is refused, not lost (F73).

Two runs on one thread silently overwrite each other's checkpoints. A lease is taken
before a run and given back after it; `mendgraph.tools.lease_kinds` has the kinds.

    LeaseError
    ├── ThreadBusy   somebody else is running the thread
    └── LeaseLost    it was ours and is no more
"""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from datetime import UTC, datetime
from typing import Protocol
from uuid import uuid4

from mendgraph.state.record import Record


class LeaseError(Exception):
    """A run may not go on with its thread."""


class ThreadBusy(LeaseError):
    """Somebody else is running the thread."""

    def __init__(self, thread_id: str, holder: str, since: float | None) -> None:
        self.thread_id, self.holder, self.since = thread_id, holder, since
        super().__init__(
            f"thread {thread_id} is being run by {holder}{_since(since)}; wait until "
            "it ends, or use another thread_id"
        )


class LeaseLost(LeaseError):
    """The lease was ours and has been taken over."""


class LeaseToken(Record):
    """Proof of a lease; give it back with `release`."""

    thread_id: str
    id: str
    holder: str
    since: float
    """Seconds since the epoch."""


class Lease(Protocol):
    """A way to run a thread alone.

    Calls are plain and quick; a coroutine uses `ahold`, which makes them elsewhere.
    """

    renew_every_s: float | None
    """How often a holder must call `renew`; None when death alone ends the lease."""

    def acquire(self, thread_id: str) -> LeaseToken:
        """Take the thread, or raise `ThreadBusy`."""

    def renew(self, token: LeaseToken) -> None:
        """Say that the run is alive, or raise `LeaseLost`."""

    def release(self, token: LeaseToken) -> None:
        """Give the thread back; a second call does nothing."""


def _since(since: float | None) -> str:
    """Return ` since 2026-01-31 09:00:00 UTC`, or nothing."""
    if since is None:
        return ""
    return f" since {datetime.fromtimestamp(since, UTC):%Y-%m-%d %H:%M:%S} UTC"


def this_process() -> str:
    """Return how other processes should name this one."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def new_token(thread_id: str, clock: Callable[[], float]) -> LeaseToken:
    """Return a token for this process and this moment."""
    return LeaseToken(
        thread_id=thread_id, id=uuid4().hex, holder=this_process(), since=clock()
    )


@contextmanager
def hold(lease: Lease, thread_id: str) -> Iterator[LeaseToken]:
    """Hold a thread while the body runs, with a heartbeat where one is needed.

    A long body calls `lease.renew(token)` now and then to learn of a lost lease.

    Raises:
        ThreadBusy: If somebody else is running the thread.
    """
    token = lease.acquire(thread_id)
    stop = threading.Event()
    beat = _heartbeat(lease, token, stop)
    try:
        yield token
    finally:
        stop.set()
        if beat is not None:
            beat.join()
        lease.release(token)


@asynccontextmanager
async def ahold(lease: Lease, thread_id: str) -> AsyncIterator[LeaseToken]:
    """Hold a thread from a coroutine; as `hold`, with the store asked elsewhere."""
    holding = hold(lease, thread_id)
    token = await _enter(holding)
    try:
        yield token
    finally:
        await asyncio.shield(asyncio.to_thread(holding.__exit__, None, None, None))


async def _enter(holding: AbstractContextManager[LeaseToken]) -> LeaseToken:
    """Enter on another thread; a cancellation leaves no lease behind."""
    entering = asyncio.ensure_future(asyncio.to_thread(holding.__enter__))
    try:
        return await asyncio.shield(entering)
    except asyncio.CancelledError:
        await asyncio.wait({entering})
        if entering.exception() is None:
            await asyncio.to_thread(holding.__exit__, None, None, None)
        raise


def _heartbeat(
    lease: Lease, token: LeaseToken, stop: threading.Event
) -> threading.Thread | None:
    """Renew until told to stop; a lost lease ends it, a store that is away does not."""
    every = lease.renew_every_s
    if every is None:
        return None

    def beat() -> None:
        while not stop.wait(every):
            try:
                lease.renew(token)
            except LeaseLost:
                return
            except Exception:  # noqa: BLE001, S112 - the next beat may reach the store
                continue

    thread = threading.Thread(target=beat, name="mendgraph-lease", daemon=True)
    thread.start()
    return thread
