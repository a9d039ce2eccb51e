"""PostgreSQL checkpoints, store and lease (F74); needs the `postgres` extra.

Connections are in autocommit mode: the setup builds indexes CONCURRENTLY, which
PostgreSQL refuses inside a transaction. They come from a pool that replaces dead
ones, so a restart of the server costs the calls under way, not the agent.
"""

import hashlib
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.base import BaseStore
from langgraph.store.postgres import PostgresStore
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool

from mendgraph.tools.lease import LeaseLost, LeaseToken, ThreadBusy
from mendgraph.tools.lease_kinds import Held, LockLease
from mendgraph.tools.persist import Persist, PersistError
from mendgraph.tools.sqlite_async import ThreadedSaver, ThreadedStore, Worker

Pool = ConnectionPool[psycopg.Connection[DictRow]]
POOL_SIZE = 8
CONNECT_S = 10.0
SETUP_S = 60.0
APPLICATION_NAME = 63
SETUP_PAUSE_S = 0.05
KEEPALIVE: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
HOLDER = """
SELECT a.application_name, extract(epoch FROM a.backend_start)::float8
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted
  AND l.classid = (%(key)s::bigint >> 32 & 4294967295)::oid
  AND l.objid = (%(key)s::bigint & 4294967295)::oid AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Keeper:
    """Closes the pool once neither saver nor store is left, or when told to."""

    def __init__(self, pool: Pool) -> None:
        self.close = weakref.finalize(self, pool.close)


class ThreadedPostgresSaver(ThreadedSaver, PostgresSaver):
    """A PostgreSQL checkpointer for `invoke` and `ainvoke`."""

    def __init__(self, pool: Pool, keeper: Keeper) -> None:
        PostgresSaver.__init__(self, pool)
        self.keeper = keeper
        self.worker = Worker("checkpoints", _nothing)


class ThreadedPostgresStore(ThreadedStore, PostgresStore):
    """A PostgreSQL store for synchronous and asynchronous calls."""

    def __init__(self, pool: Pool, keeper: Keeper) -> None:
        PostgresStore.__init__(self, pool)
        self.keeper = keeper
        self.worker = Worker("store", _nothing)


def _nothing() -> None:
    """Leave the connections to the pool's keeper."""


def advisory_key(text: str) -> int:
    """Return the signed 64-bit lock number of a text."""
    head = hashlib.sha256(f"mendgraph:{text}".encode("utf-8", "replace")).digest()[:8]
    return int.from_bytes(head, "big", signed=True)


def _try_lock(connection: psycopg.Connection[Any], key: int) -> bool:
    """Take an advisory lock of the session, when nobody else has it."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone()
    return row is not None and bool(row[0])


class AdvisoryLock:
    """A lock on a connection of its own."""

    def __init__(self, connection: psycopg.Connection[Any], key: int) -> None:
        self.connection, self._key = connection, key

    def close(self) -> None:
        """Unlock, then close: the server learns of a closed connection only later."""
        with suppress(psycopg.Error):
            self.connection.execute("SELECT pg_advisory_unlock(%s)", (self._key,))
        self.connection.close()


class PostgresLease(LockLease):
    """An advisory lock per thread on a connection of its own; exact.

    The lock ends with the connection, so `renew` asks the connection whether it is
    alive.

    Args:
        conninfo: Connection string.
        clock: Seconds since the epoch.
    """

    def __init__(self, conninfo: str, clock: Callable[[], float] = time.time) -> None:
        super().__init__(clock)
        self._conninfo = conninfo
        self.renew_every_s = 30.0

    def renew(self, token: LeaseToken) -> None:
        """Raise `LeaseLost` when the lock's connection is gone."""
        super().renew(token)
        with self._guard:
            lock = self._locks.get(token.id)
        try:
            if isinstance(lock, AdvisoryLock):
                lock.connection.execute("SELECT 1")
        except psycopg.Error as error:
            self.release(token)
            raise LeaseLost(
                f"the database connection that held thread {token.thread_id} is gone"
            ) from error

    def _grab(self, token: LeaseToken) -> Held:
        name = f"mendgraph {token.holder}"[:APPLICATION_NAME]
        connection = psycopg.connect(
            self._conninfo, autocommit=True, application_name=name, **KEEPALIVE
        )
        key = advisory_key(token.thread_id)
        if _try_lock(connection, key):
            return AdvisoryLock(connection, key)
        holder = connection.execute(HOLDER, {"key": key}).fetchone()
        if holder is None and _try_lock(connection, key):
            return AdvisoryLock(connection, key)
        connection.close()
        label, since = holder or (None, None)
        who = (label or "").removeprefix("mendgraph ") or "another process"
        raise ThreadBusy(token.thread_id, who, since)


def connect_postgres(uri: str) -> Persist:
    """Return saver, store and lease on one pool; make the tables when missing.

    Raises:
        PersistError: If the database cannot be reached or used.
    """
    with _explained(uri):
        pool = _pool(uri)
        keeper = Keeper(pool)
        try:
            saver = ThreadedPostgresSaver(pool, keeper)
            store = ThreadedPostgresStore(pool, keeper)
            with _alone(uri):
                saver.setup()
                store.setup()
        except BaseException:
            keeper.close()
            raise

    def close() -> None:
        saver.worker.close()
        store.worker.close()
        keeper.close()

    return Persist(
        checkpointer=saver, store=store, lease=PostgresLease(uri), close=close
    )


def _pool(uri: str) -> Pool:
    """Return an open pool, once its first connection stands."""
    psycopg.connect(uri, connect_timeout=int(CONNECT_S)).close()
    return ConnectionPool(
        uri,
        connection_class=psycopg.Connection[DictRow],
        min_size=1,
        max_size=POOL_SIZE,
        timeout=CONNECT_S,
        check=ConnectionPool.check_connection,
        kwargs={
            "autocommit": True,
            "prepare_threshold": 0,
            "row_factory": dict_row,
            **KEEPALIVE,
        },
        open=True,
    )


@contextmanager
def _alone(uri: str) -> Iterator[None]:
    """Let one worker at a time set up.

    The lock is polled for: a session blocked in `pg_advisory_lock` is a transaction
    that CREATE INDEX CONCURRENTLY waits for, and both would wait for ever.
    """
    with psycopg.connect(uri, autocommit=True) as connection:
        deadline = time.monotonic() + SETUP_S
        while not _try_lock(connection, advisory_key("setup")):
            if time.monotonic() > deadline:
                raise PersistError(
                    "another worker has been setting up this database for "
                    f"{SETUP_S:g} s; see pg_stat_activity, end it, and try again"
                )
            time.sleep(SETUP_PAUSE_S)
        yield


@contextmanager
def _explained(uri: str) -> Iterator[None]:
    """Turn the driver's errors into ours; the password is never part of the text."""
    try:
        yield
    except psycopg.Error as error:
        where, words = _where(uri), " ".join(str(error).split())
        raise PersistError(
            f"PostgreSQL at {where} cannot be used: {_masked(words, uri)}; check "
            "that it runs there, and the user's password and right to create tables"
        ) from None


def _where(uri: str) -> str:
    """Return host, port and database of a connection string."""
    try:
        parts = conninfo_to_dict(uri)
    except psycopg.Error:
        return "the given address"
    host, port = parts.get("host", "localhost"), parts.get("port", "5432")
    return f"{host}:{port}/{parts.get('dbname', '')}"


def _masked(text: str, uri: str) -> str:
    """Return text without the password of a connection string."""
    try:
        password = conninfo_to_dict(uri).get("password")
    except psycopg.Error:
        return text.replace(uri, "***")
    return text.replace(str(password), "***") if password else text


def lease_of(store: BaseStore) -> PostgresLease:
    """Return a lease in the database of a PostgreSQL store.

    Raises:
        PersistError: If the store does not tell where its database is.
    """
    source: Any = getattr(store, "conn", None)
    if isinstance(source, psycopg.Connection | psycopg.AsyncConnection):
        info = source.info
        return PostgresLease(make_conninfo(info.dsn, password=info.password or None))
    conninfo = getattr(source, "conninfo", None)
    if not isinstance(conninfo, str):
        raise PersistError("the PostgreSQL store does not tell where its database is")
    return PostgresLease(conninfo)
