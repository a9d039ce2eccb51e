"""LangGraph's SQLite saver and store, made to serve `invoke` and `ainvoke` alike.

The synchronous classes have no async methods, the asynchronous ones refuse calls
from their own event loop and share one asyncio lock across loops. Here every async
method runs its synchronous twin on one worker thread per connection, so any number
of loops and threads may call.
"""

import asyncio
import contextvars
import functools
import sqlite3
import weakref
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.base import BaseStore, Op, PutOp, Result
from langgraph.store.sqlite import SqliteStore

Param = ParamSpec("Param")
Out = TypeVar("Out")
Synchronous = Literal["NORMAL", "FULL"]
IsolationLevel = Literal["DEFERRED"] | None
BUSY_S = 30.0


class Worker:
    """One thread that does the blocking work of one connection, and its closing.

    Copies of a saver (LangGraph makes some) share it; the connection is closed by
    `close`, else when the last of them is gone, at the latest at interpreter exit.
    """

    def __init__(self, name: str, close_connection: Callable[[], object]) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"mendgraph-{name}")
        self._finish = weakref.finalize(self, _finish, self._pool, close_connection)

    async def run(
        self, call: Callable[Param, Out], *args: Param.args, **kwargs: Param.kwargs
    ) -> Out:
        """Run a blocking call on the thread, with the caller's context."""
        bound = functools.partial(call, *args, **kwargs)
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, context.run, bound)

    def close(self) -> None:
        """Wait for calls under way, then close the connection; once is enough."""
        self._pool.shutdown(wait=True)
        self._finish()


def _finish(pool: ThreadPoolExecutor, close_connection: Callable[[], object]) -> None:
    """Let the thread end and close the connection."""
    pool.shutdown(wait=False)
    close_connection()


class ThreadedSaver(BaseCheckpointSaver[str]):
    """Async methods for a saver that has synchronous ones; mix in before it."""

    worker: Worker

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Return the checkpoints, newest first.

        Read at once: the parent's generator holds the connection's lock while it is
        being consumed, so reading another checkpoint meanwhile would block for ever.
        """
        found = super().list(config, filter=filter, before=before, limit=limit)
        return iter([*found])

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await self.worker.run(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        found = await self.worker.run(
            self.list, config, filter=filter, before=before, limit=limit
        )
        for each in found:
            yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As `put`."""
        args = (config, checkpoint, metadata, new_versions)
        return await self.worker.run(self.put, *args)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """As `put_writes`."""
        await self.worker.run(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await self.worker.run(self.delete_thread, thread_id)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As `get_delta_channel_history`."""
        return await self.worker.run(
            self.get_delta_channel_history, config=config, channels=channels
        )


class ThreadedStore(BaseStore):
    """Async batches for a store that has synchronous ones; mix in before it."""

    worker: Worker

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        return await self.worker.run(self.batch, list(ops))


def connect(
    path: Path, isolation: IsolationLevel, busy_s: float, synchronous: Synchronous
) -> sqlite3.Connection:
    """Open a database in WAL mode, usable from any thread.

    Args:
        path: The database file.
        isolation: As `sqlite3.connect` has it.
        busy_s: How long a write waits for another process's write, in seconds.
        synchronous: NORMAL keeps commits through the death of the process, FULL
            through a loss of power too, at an fsync a commit.
    """
    connection = sqlite3.connect(
        path, timeout=busy_s, isolation_level=isolation, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class ThreadedSqliteSaver(ThreadedSaver, SqliteSaver):
    """A SQLite checkpointer for `invoke` and `ainvoke`, from any loop or thread."""

    def __init__(
        self, path: Path, *, busy_s: float = BUSY_S, synchronous: Synchronous = "NORMAL"
    ) -> None:
        connection = connect(path, "DEFERRED", busy_s, synchronous)
        SqliteSaver.__init__(self, connection)
        self.worker = Worker("checkpoints", connection.close)

    def close(self) -> None:
        """Close the connection."""
        self.worker.close()

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """As the parent's, but a failed write is rolled back, not half committed."""
        with self.lock:
            self.setup()
            cursor = self.conn.cursor()
            try:
                yield cursor
            except BaseException:
                self.conn.rollback()
                raise
            else:
                if transaction:
                    self.conn.commit()
            finally:
                cursor.close()


class ThreadedSqliteStore(ThreadedStore, SqliteStore):
    """A SQLite store for plain and async calls, from any loop or thread."""

    def __init__(
        self, path: Path, *, busy_s: float = BUSY_S, synchronous: Synchronous = "NORMAL"
    ) -> None:
        connection = connect(path, None, busy_s, synchronous)
        SqliteStore.__init__(self, connection)
        self.worker = Worker("store", connection.close)

    def close(self) -> None:
        """Close the connection."""
        self.stop_ttl_sweeper()
        self.worker.close()

    def setup(self) -> None:
        """As the parent's, but each migration is noted in its own transaction.

        The parent notes it afterwards: a process killed in between would leave a
        database that no other process could ever set up.
        """
        with self.lock:
            if self.is_setup:
                return
            self.conn.execute(MIGRATED)
            newest = self.conn.execute("SELECT max(v) FROM store_migrations")
            done = newest.fetchone()[0]
            first = 0 if done is None else done + 1
            for number, change in enumerate(self.MIGRATIONS[first:], start=first):
                _migrate(self.conn, number, change)
        super().setup()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Read, then write, each kind in a transaction of its own.

        A transaction that reads first cannot wait for another process's write:
        SQLite fails it at once instead.
        """
        every = list(ops)
        kinds = [_is_put(each) for each in every]
        if len(set(kinds)) < 2:  # noqa: PLR2004 - one kind needs no splitting
            return super().batch(every)
        reads = iter(super().batch([each for each in every if not _is_put(each)]))
        super().batch([each for each in every if _is_put(each)])
        return [None if put else next(reads) for put in kinds]

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """As the parent's, but a failed batch is rolled back, not half committed."""
        self.setup()
        with self.lock:
            if transaction:
                self.conn.execute("BEGIN")
            cursor = self.conn.cursor()
            try:
                yield cursor
            except BaseException:
                self.conn.rollback()
                raise
            else:
                if transaction:
                    self.conn.execute("COMMIT")
            finally:
                cursor.close()


MIGRATED = "CREATE TABLE IF NOT EXISTS store_migrations (v INTEGER PRIMARY KEY)"


def _migrate(connection: sqlite3.Connection, number: int, change: str) -> None:
    """Make one change and note it, both or neither; made already, it is only noted."""
    noted = f"INSERT INTO store_migrations (v) VALUES ({number:d});"  # noqa: S608  ours
    try:
        connection.executescript(f"BEGIN IMMEDIATE;{change};{noted}COMMIT;")
    except sqlite3.OperationalError as error:
        connection.rollback()
        if "duplicate column name" not in str(error):
            raise
        connection.execute(noted)


def _is_put(each: Op) -> bool:
    return isinstance(each, PutOp)
