"""Opening a place where runs live on: a folder or a PostgreSQL database (F73, F74)."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Self

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from mendgraph.tools.lease import Lease
from mendgraph.tools.lease_kinds import FileLease
from mendgraph.tools.sqlite_async import (
    BUSY_S,
    Synchronous,
    ThreadedSqliteSaver,
    ThreadedSqliteStore,
)

CHECKPOINTS = "checkpoints.sqlite"
STORE = "store.sqlite"
MEMORY = "memory"
LOCKS = "locks"
SETUP = "setup.lock"

REMEDIES: dict[str, str] = {
    "locked": "another program holds it; end that program (or wait) and try again",
    "readonly": "it is read-only; make the folder and its files writable",
    "unable to open": "it cannot be opened; make it a file that this user may write",
    "not a database": "it is no SQLite database; move it away",
    "malformed": "it is damaged; restore it from a backup, or move it away",
    "full": "the disk is full; free some space",
    "disk i/o": "the disk failed; check it, and that it is no network share",
}
"""Words in SQLite's message, and what helps."""


class PersistError(Exception):
    """The place cannot be used; the message says what helps."""


@dataclass(frozen=True)
class Persist:
    """What an agent needs to outlive its process. Close it, or use it in `with`."""

    checkpointer: BaseCheckpointSaver[str]
    store: BaseStore
    lease: Lease
    close: Callable[[], None]

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


@dataclass(frozen=True)
class PersistFolder(Persist):
    """As `Persist`, under one folder that also has room for the memory."""

    path: Path
    memory_path: Path
    """Where Chroma keeps the long-term memory."""


def open_folder(
    path: str | os.PathLike[str],
    *,
    busy_s: float = BUSY_S,
    synchronous: Synchronous = "NORMAL",
) -> PersistFolder:
    """Open (and make, if need be) a folder for checkpoints, store and memory.

    Several processes may open the same folder; one thread is run by one of them at a
    time. With `NORMAL` what was written survives the death of the process, with
    `FULL` a loss of power too.

    Args:
        path: The folder.
        busy_s: How long a write waits for another process's write, in seconds.
        synchronous: SQLite's durability.

    Raises:
        PersistError: If the folder cannot be used, with the remedy.
    """
    folder = Path(path).expanduser()
    _make(folder)
    with _explained(folder / SETUP), _alone(folder / SETUP, busy_s):
        with _explained(folder / CHECKPOINTS):
            saver = ThreadedSqliteSaver(
                folder / CHECKPOINTS, busy_s=busy_s, synchronous=synchronous
            )
            with _closed_on_error(saver.close):
                saver.setup()
                _try_write(saver.conn)
        with _closed_on_error(saver.close), _explained(folder / STORE):
            store = ThreadedSqliteStore(
                folder / STORE, busy_s=busy_s, synchronous=synchronous
            )
            with _closed_on_error(store.close):
                store.setup()
                _try_write(store.conn)

    def close() -> None:
        saver.close()
        store.close()

    return PersistFolder(
        checkpointer=saver,
        store=store,
        lease=FileLease(folder / LOCKS),
        close=close,
        path=folder,
        memory_path=folder / MEMORY,
    )


def open_postgres(uri: str) -> Persist:
    """Open checkpoints and store in PostgreSQL, for any number of workers.

    The tables are made or migrated by whichever worker comes first.

    Args:
        uri: As `postgresql://user:password@host:5432/database`.

    Raises:
        PersistError: If the database cannot be used, with the remedy.
    """
    try:
        from mendgraph.tools.persist_postgres import connect_postgres
    except ImportError as error:
        raise PersistError(
            "PostgreSQL needs `pip install 'mendgraph[postgres]'`"
        ) from error
    return connect_postgres(uri)


def _make(folder: Path) -> None:
    """Make the folder, and see that files can be written there."""
    try:
        if folder.exists() and not folder.is_dir():
            raise PersistError(f"{folder} is a file; name a folder for `persist`")
        (folder / LOCKS).mkdir(parents=True, exist_ok=True)
        (folder / MEMORY).mkdir(exist_ok=True)
        for each in (folder, folder / LOCKS, folder / MEMORY):
            TemporaryFile(dir=each).close()
    except OSError as error:
        raise PersistError(
            f"{folder} cannot be made or written ({error.strerror}); make it writable "
            "for this user, or choose another folder"
        ) from error


def _try_write(connection: sqlite3.Connection) -> None:
    """Write and take it back; where the tables exist, nothing else would write yet."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA user_version={version:d}")
    connection.rollback()


@contextmanager
def _alone(path: Path, busy_s: float) -> Iterator[None]:
    """Let one process at a time make or migrate tables."""
    lock = sqlite3.connect(path, timeout=busy_s, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        lock.close()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        words = str(error).lower()
        found = (remedy for word, remedy in REMEDIES.items() if word in words)
        remedy = next(found, "check the file")
        raise PersistError(
            f"{path}: {remedy}, or choose another folder (SQLite: {error})"
        ) from error


@contextmanager
def _closed_on_error(close: Callable[[], None]) -> Iterator[None]:
    """Close what was opened when the rest fails."""
    try:
        yield
    except BaseException:
        close()
        raise
