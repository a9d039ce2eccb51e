"""The kinds of lease, and the choice among them (F73, F74).

`FileLease` and `PostgresLease` are exact: the operating system or the database frees
the thread the moment its holder dies. `ProcessLease` is exact within one process.
`StoreLease` serves every other store and is best effort.
"""

import hashlib
import json
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from mendgraph.tools.lease import (
    Lease,
    LeaseLost,
    LeaseToken,
    ThreadBusy,
    new_token,
)
from mendgraph.tools.ledger import label

LEASES = ("mendgraph", "lease")
CANDIDATES = 100
POSTGRES = "langgraph.store.postgres"


class Held(Protocol):
    """A lock that is held until it is closed."""

    def close(self) -> None:
        """Let go."""


def flock_grab(path: Path) -> Held | None:
    """Lock a file with flock(2); return None when somebody else has it."""
    import fcntl

    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def sqlite_grab(path: Path) -> Held | None:
    """Lock a file as SQLite does, on every system; None when somebody else has it."""
    connection = sqlite3.connect(
        path, timeout=0, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        if "locked" in str(error):
            return None
        raise
    return connection


GRAB = sqlite_grab if sys.platform == "win32" else flock_grab


class ProcessLease:
    """Exact within one process: for stores that live in memory."""

    renew_every_s: float | None = None

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._held: dict[str, LeaseToken] = {}

    def acquire(self, thread_id: str) -> LeaseToken:
        """Take the thread, or raise `ThreadBusy`."""
        token = new_token(thread_id, self._clock)
        with self._guard:
            holder = self._held.setdefault(thread_id, token)
        if holder is not token:
            raise ThreadBusy(thread_id, "this process", holder.since)
        return token

    def renew(self, token: LeaseToken) -> None:
        """Raise `LeaseLost` when the token is no longer held."""
        with self._guard:
            if self._held.get(token.thread_id) != token:
                raise LeaseLost(f"thread {token.thread_id} is no longer held")

    def release(self, token: LeaseToken) -> None:
        """Give the thread back; a second call does nothing."""
        with self._guard:
            if self._held.get(token.thread_id) == token:
                del self._held[token.thread_id]


class LockLease:
    """Exact leases made of locks that die with their holder, or with this object."""

    renew_every_s: float | None = None

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._locks: dict[str, Held] = {}
        weakref.finalize(self, _close_all, self._locks)

    def acquire(self, thread_id: str) -> LeaseToken:
        """Take the thread, or raise `ThreadBusy`."""
        token = new_token(thread_id, self._clock)
        lock = self._grab(token)
        with self._guard:
            self._locks[token.id] = lock
        return token

    def renew(self, token: LeaseToken) -> None:
        """Raise `LeaseLost` when the token is no longer held."""
        with self._guard:
            if token.id not in self._locks:
                raise LeaseLost(f"thread {token.thread_id} is no longer held")

    def release(self, token: LeaseToken) -> None:
        """Give the thread back; a second call does nothing."""
        with self._guard:
            lock = self._locks.pop(token.id, None)
        if lock is not None:
            lock.close()

    def _grab(self, token: LeaseToken) -> Held:
        raise NotImplementedError


def _close_all(locks: dict[str, Held]) -> None:
    """Let go of what was never given back."""
    while locks:
        locks.popitem()[1].close()


class FileLease(LockLease):
    """A locked file per thread; for processes of one machine.

    The files stay (a removed lock file is a race); they are a few bytes each. Not
    for network shares, where file locks are unreliable.

    Args:
        folder: Where the lock files live; made when missing.
        clock: Seconds since the epoch.
        grab: How a file is locked.
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.time,
        grab: Callable[[Path], Held | None] = GRAB,
    ) -> None:
        super().__init__(clock)
        self._folder = folder
        self._lock_file = grab

    def _grab(self, token: LeaseToken) -> Held:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(token.thread_id.encode("utf-8", "replace")).hexdigest()
        note = self._folder / f"{name[:32]}.json"
        lock = self._lock_file(note.with_suffix(".lock"))
        if lock is None:
            holder, since = _read_note(note)
            raise ThreadBusy(token.thread_id, holder, since)
        note.write_text(json.dumps(token.plain()), encoding="utf-8")
        return lock


def _read_note(note: Path) -> tuple[str, float | None]:
    """Return who holds a lock and since when, as far as the note tells."""
    with suppress(OSError, ValueError):
        token = LeaseToken.model_validate_json(note.read_text("utf-8"))
        return token.holder, token.since
    return "another process", None


class StoreLease:
    """Best effort over any store that reads its own writes.

    Each candidate writes its own record, then reads all; whoever sees another live
    one withdraws, so two can both be refused and never both admitted. What is not
    exact is death: it is known only after `ttl_s`, and a holder paused for longer
    may find its lease taken over.

    Args:
        store: Must allow synchronous calls from the calling thread.
        clock: Seconds since the epoch, about the same in every process.
        ttl_s: A holder that has not renewed for this long counts as dead.
    """

    def __init__(
        self,
        store: BaseStore,
        clock: Callable[[], float] = time.time,
        ttl_s: float = 60.0,
    ) -> None:
        self._store = store
        self._clock = clock
        self._ttl_s = ttl_s
        self.renew_every_s: float | None = ttl_s / 4

    def acquire(self, thread_id: str) -> LeaseToken:
        """Take the thread, or raise `ThreadBusy`."""
        token = new_token(thread_id, self._clock)
        self._refuse_if_busy(token)
        self._write(token, "candidate")
        try:
            self._refuse_if_busy(token)
        except ThreadBusy:
            self.release(token)
            raise
        self._write(token, "holder")
        return token

    def renew(self, token: LeaseToken) -> None:
        """Say that the run is alive, or raise `LeaseLost`."""
        own = self._store.get(_place(token.thread_id), token.id)
        if own is not None:
            self._write(token, "holder")
        others = [each for each in self._alive(token) if each["role"] == "holder"]
        if own is None or others:
            self.release(token)
            raise LeaseLost(
                f"thread {token.thread_id} was taken over after {self._ttl_s:g} s "
                "without a sign of life"
            )

    def release(self, token: LeaseToken) -> None:
        """Give the thread back; a second call does nothing."""
        self._store.delete(_place(token.thread_id), token.id)

    def _write(self, token: LeaseToken, role: str) -> None:
        value = {**token.plain(), "role": role, "alive_at": self._clock()}
        self._store.put(_place(token.thread_id), token.id, value, index=False)

    def _refuse_if_busy(self, token: LeaseToken) -> None:
        for other in self._alive(token):
            raise ThreadBusy(token.thread_id, other["holder"], other["since"])

    def _alive(self, token: LeaseToken) -> list[dict[str, Any]]:
        """Return the others' live records; drop the dead, so that they learn of it."""
        place, alive = _place(token.thread_id), []
        for item in self._store.search(place, limit=CANDIDATES):
            if item.namespace != place or item.key == token.id:
                continue
            if item.value["alive_at"] > self._clock() - self._ttl_s:
                alive.append(item.value)
            else:
                self._store.delete(place, item.key)
        return alive


def _place(thread_id: str) -> tuple[str, ...]:
    return (*LEASES, label(thread_id))


def choose_lease(store: BaseStore | None, folder: Path | None = None) -> Lease:
    """Return the strictest lease that the persistence at hand allows.

    Args:
        store: The store of the agent.
        folder: The persistence folder, when there is one.
    """
    if folder is not None:
        return FileLease(folder / "locks")
    if store is None or isinstance(store, InMemoryStore):
        return ProcessLease()
    if any(kind.__module__.startswith(POSTGRES) for kind in type(store).__mro__):
        from mendgraph.tools.persist_postgres import lease_of

        return lease_of(store)
    return StoreLease(store)
