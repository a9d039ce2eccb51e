"""A persistence folder through kills, other processes, and all that is in the way."""

import copy
import gc
import sqlite3
from contextlib import closing

import pytest

from mendgraph.tools.persist import PersistError, open_folder

PLACE = ("mendgraph", "test")


def test_closing_twice_and_forgetting_to_close_are_harmless(tmp_path):
    """Connections are closed with the last copy of the saver, and only then."""
    folder = open_folder(tmp_path)
    folder.close()
    folder.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        folder.store.get(PLACE, "a")
    forgotten = open_folder(tmp_path)
    connection = forgotten.checkpointer.conn
    clone = copy.copy(forgotten.checkpointer)
    del forgotten
    gc.collect()
    assert clone.get_tuple({"configurable": {"thread_id": "t1"}}) is None
    del clone
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_file_is_no_folder(tmp_path):
    """The message names the path and says what to give instead."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(PersistError, match=r"file is a file; name a folder"):
        open_folder(tmp_path / "file")
    with pytest.raises(PersistError, match=r"cannot be made .+ choose another folder"):
        open_folder(tmp_path / "file" / "below")


def test_locked_database_is_told(tmp_path):
    """A program that holds the file is named as the cause."""
    open_folder(tmp_path).close()
    other = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(PersistError, match=r"store\.sqlite: another program holds it"):
        open_folder(tmp_path, busy_s=0.01)
    other.close()
    open_folder(tmp_path, busy_s=0.01).close()


def test_other_files_in_the_way_are_told(tmp_path):
    """Neither a foreign file nor a folder is taken for a database."""
    (tmp_path / "checkpoints.sqlite").write_text("hello " * 200)
    with pytest.raises(PersistError, match="is no SQLite database; move it away"):
        open_folder(tmp_path)
    (tmp_path / "checkpoints.sqlite").unlink()
    (tmp_path / "store.sqlite").mkdir()
    with pytest.raises(PersistError, match="cannot be opened; make it a file"):
        open_folder(tmp_path)


@pytest.mark.parametrize("last", range(5))
def test_a_store_whose_setup_was_killed_can_be_opened(tmp_path, last):
    """A change that was made and not yet noted is noted by whoever comes next."""
    open_folder(tmp_path).close()
    path = tmp_path / "store.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM store_migrations WHERE v >= ?", (last,))
    with open_folder(tmp_path) as opened:
        opened.store.put(("a",), "b", {"c": 1})
        assert opened.store.get(("a",), "b").value == {"c": 1}
        noted = opened.store.conn.execute("SELECT count(*) FROM store_migrations")
        assert noted.fetchone()[0] == 5
