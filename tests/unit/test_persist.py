"""A folder that keeps runs: both ways of calling, several loops, crashes, messages."""

import asyncio
import contextlib
import copy
import gc
import inspect
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph.store.sqlite import SqliteStore

from mendgraph.state.effect import EffectStatus
from mendgraph.tools.ledger import Ledger
from mendgraph.tools.persist import PersistError, open_folder
from mendgraph.tools.sqlite_async import ThreadedSqliteSaver, ThreadedSqliteStore

PLACE = ("mendgraph", "test")
BEGIN_AND_HANG = """
import asyncio, sys, time
from mendgraph.state.effect import LedgerEntry
from mendgraph.tools.ledger import Ledger, entry_key
from mendgraph.tools.persist import open_folder
folder = open_folder(sys.argv[1])
folder.lease.acquire("t1")
entry = LedgerEntry(key=entry_key("t1", "s1", "d"), thread_id="t1", step_id="s1",
    lineage="s1", plan_version=1, tool="pay", arguments_digest="d")
asyncio.run(Ledger(folder.store, time.time).begin(entry))
print("called", flush=True)
sys.stdin.read()
"""
COUNT_UP = """
import sys
from langgraph.store.base import GetOp, PutOp
from mendgraph.tools.persist import open_folder
place = ("mendgraph", "race")
with open_folder(sys.argv[1]) as folder:
    for number in range(int(sys.argv[3])):
        key = f"{sys.argv[2]}-{number}"
        folder.store.batch([GetOp(place, key), PutOp(place, key, {"n": number})])
"""


@pytest.fixture
def folder(tmp_path):
    with open_folder(tmp_path / "run") as opened:
        yield opened


class State(TypedDict):
    total: int


def counter(folder):
    """A graph that counts its runs, with a synchronous and an asynchronous node."""
    builder = StateGraph(State)
    builder.add_node("one", lambda state: {"total": state["total"] + 1})
    builder.add_edge(START, "one")
    return builder.compile(checkpointer=folder.checkpointer, store=folder.store)


def config(thread="t1"):
    return {"configurable": {"thread_id": thread}}


def own_async(kind):
    """The async methods a class or its parents define, and where."""
    found = inspect.getmembers(
        kind,
        lambda each: (
            inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        ),
    )
    return {name: function for name, function in found if not name.startswith("__")}


def works(kind, name):
    """Whether a synchronous method of the library's class does something."""
    return getattr(kind, name) is not getattr(BaseCheckpointSaver, name, None)


def test_every_async_method_of_the_saver_has_a_working_twin():
    """What SqliteSaver can do synchronously, ours can do asynchronously."""
    doable = {
        name
        for name in own_async(BaseCheckpointSaver)
        if works(SqliteSaver, name.removeprefix("a"))
    }
    ours = {
        name
        for name, function in own_async(ThreadedSqliteSaver).items()
        if function is not getattr(SqliteSaver, name, None)
    }
    assert doable >= {"aget_tuple", "alist", "aput", "aput_writes", "adelete_thread"}
    assert doable - ours == set()
    assert set(own_async(SqliteSaver)) - ours == {
        "aget",
        "acopy_thread",
        "adelete_for_runs",
        "aprune",
    }


def test_every_async_method_of_the_store_goes_through_ours():
    """The store's async methods all end in `abatch`, which is ours."""
    assert ThreadedSqliteStore.abatch is not SqliteStore.abatch
    inherited = own_async(BaseStore).keys() - {"abatch"}
    calls = {
        name: "self.abatch" in inspect.getsource(getattr(BaseStore, name))
        for name in inherited
    }
    assert all(calls.values())
    assert {"aget", "asearch", "aput", "adelete", "alist_namespaces"} == inherited
    assert own_async(ThreadedSqliteStore).keys() == inherited | {"abatch"}


def test_saver_answers_alike_both_ways(folder):
    """Put one way, read the other: tuple, list, history, writes, deletion."""
    saver = folder.checkpointer
    start = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}

    async def write(checkpoint):
        saved = await saver.aput(start, checkpoint, {"source": "input", "step": 1}, {})
        await saver.aput_writes(saved, [("x", 1)], "task", "path")
        listed = [each async for each in saver.alist(start, limit=5)]
        history = await saver.aget_delta_channel_history(config=saved, channels=["x"])
        return await saver.aget_tuple(saved), await saver.aget(saved), listed, history

    found, alone, listed, history = asyncio.run(write(empty_checkpoint()))
    assert found == saver.get_tuple(start) == listed[0] == next(saver.list(start))
    assert (found.pending_writes, alone) == ([("task", "x", 1)], found.checkpoint)
    assert history == saver.get_delta_channel_history(
        config=found.config, channels=["x"]
    )
    asyncio.run(saver.adelete_thread("t1"))
    assert saver.get_tuple(start) is None


def test_reading_while_listing_does_not_block(folder):
    """A checkpoint can be read inside a loop over checkpoints."""
    counter(folder).invoke({"total": 0}, config())
    saver = folder.checkpointer
    seen = [saver.get_tuple(each.config).config for each in saver.list(config())]
    assert len(seen) >= 2


def test_graph_goes_on_whichever_way_it_is_called(folder):
    """One thread of one graph, run by invoke and by three event loops."""
    graph = counter(folder)
    graph.invoke({"total": 0}, config())
    for _ in range(3):
        total = graph.get_state(config()).values["total"]
        asyncio.run(graph.ainvoke({"total": total}, config()))
    assert graph.get_state(config()).values == {"total": 4}

    async def history():
        return [each async for each in graph.aget_state_history(config())]

    assert len(asyncio.run(history())) == len([*graph.get_state_history(config())])


def test_two_loops_at_once(folder):
    """Two event loops in two threads write through one connection."""
    graph = counter(folder)

    async def many(name):
        calls = (
            graph.ainvoke({"total": 0}, config(f"{name}{each}")) for each in range(10)
        )
        await asyncio.gather(*calls)

    names = ("a", "b")
    loops = [threading.Thread(target=asyncio.run, args=(many(name),)) for name in names]
    for each in loops:
        each.start()
    for each in loops:
        each.join()
    totals = [
        graph.get_state(config(f"{name}{number}")).values["total"]
        for name in names
        for number in range(10)
    ]
    assert totals == [1] * 20


def test_store_answers_alike_both_ways(folder):
    """Put one way, read the other; search, names, mixed batches, deletion."""
    store = folder.store

    async def use():
        await store.aput(PLACE, "a", {"n": 1})
        store.put(PLACE, "b", {"n": 2})
        found = await store.abatch(
            [PutOp(PLACE, "a", {"n": 9}), GetOp(PLACE, "a"), GetOp(PLACE, "none")]
        )
        names = await store.alist_namespaces(prefix=("mendgraph",))
        await store.adelete(PLACE, "b")
        items = await store.asearch(PLACE)
        return found, names, {item.key: item.value for item in items}

    (put, before, none), names, items = asyncio.run(use())
    assert (put, before.value, none) == (None, {"n": 1}, None)
    assert (names, items) == ([PLACE], {"a": {"n": 9}})
    assert store.get(PLACE, "a").value == {"n": 9}


def test_failed_batch_leaves_nothing_behind(folder):
    """A batch that cannot be stored whole is not stored in part, and hurts no more."""
    store = folder.store
    with pytest.raises(TypeError):
        store.batch([PutOp(PLACE, "a", {"n": 1}), PutOp(PLACE, "b", {"n": object()})])
    with contextlib.suppress(sqlite3.OperationalError), store._cursor() as cursor:
        cursor.execute("DELETE FROM store")
        cursor.execute("INSERT INTO store VALUES ('x')")
    store.put(PLACE, "c", {"n": 3})
    assert [item.key for item in store.search(PLACE)] == ["c"]


def test_failed_checkpoint_write_is_rolled_back(folder):
    """A write that breaks in the middle takes back its first half."""
    saver = folder.checkpointer
    start = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}
    saver.put(start, empty_checkpoint(), {}, {})
    with contextlib.suppress(sqlite3.OperationalError), saver.cursor() as cursor:
        cursor.execute("DELETE FROM checkpoints")
        cursor.execute("DELETE FROM nowhere")
    assert saver.get_tuple(start) is not None


def test_expired_items_are_swept(folder):
    """Time to live works as in the library's store, and the sweeper is stopped."""
    store = folder.store
    store.ttl_config = {"sweep_interval_minutes": 60}
    store.put(PLACE, "old", {"n": 1}, ttl=-1)
    store.put(PLACE, "new", {"n": 2}, ttl=60)
    store.start_ttl_sweeper()
    assert store.sweep_ttl() == 1
    folder.close()
    assert store._ttl_sweeper_thread is None


def test_databases_are_in_wal_mode_with_the_durability_asked_for(tmp_path):
    """NORMAL keeps commits through a kill, FULL through a power loss."""
    for level, number in (("NORMAL", 1), ("FULL", 2)):
        with open_folder(tmp_path, synchronous=level) as folder:
            for each in (folder.checkpointer, folder.store):
                asked = [
                    each.conn.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("journal_mode", "synchronous")
                ]
                assert asked == ["wal", number]


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
    assert clone.get_tuple(config()) is None
    del clone
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_intent_survives_a_kill_and_is_in_doubt(tmp_path):
    """SIGKILL between intent and outcome: the entry is there, the thread is free."""
    child = subprocess.Popen(
        [sys.executable, "-c", BEGIN_AND_HANG, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "called\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    with open_folder(tmp_path) as folder:
        token = folder.lease.acquire("t1")
        found = asyncio.run(Ledger(folder.store, lambda: 0.0).of_thread("t1"))
        folder.lease.release(token)
    assert [(each.tool, each.status) for each in found] == [
        ("pay", EffectStatus.INTENT)
    ]


def test_two_processes_open_and_write_one_new_folder(tmp_path):
    """Both set up and write at once; nothing is lost and nobody fails."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", COUNT_UP, str(tmp_path), name, "100"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    errors = [child.communicate()[1] for child in children]
    assert errors == ["", ""]
    with open_folder(tmp_path) as folder:
        assert len(folder.store.search(("mendgraph", "race"), limit=500)) == 200


def test_a_file_is_no_folder(tmp_path):
    """The message names the path and says what to give instead."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(PersistError, match=r"file is a file; name a folder"):
        open_folder(tmp_path / "file")
    with pytest.raises(PersistError, match=r"cannot be made .+ choose another folder"):
        open_folder(tmp_path / "file" / "below")


@pytest.fixture
def open_place():
    """A folder that other users can reach; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


def open_as_nobody(*folders):
    """Open folders as a user without rights; return what the user reads."""
    code = (
        "import os, sys\n"
        "from mendgraph.tools.persist import PersistError, open_folder\n"
        "os.geteuid() or os.setuid(65534)\n"
        "for folder in sys.argv[1:]:\n"
        "    try:\n        open_folder(folder)\n"
        "    except PersistError as error:\n        print(error)\n"
    )
    command = [sys.executable, "-c", code, *map(str, folders)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.stderr == ""
    return told.stdout.splitlines()


def test_read_only_places_are_told(open_place):
    """A user without the right to write reads what to do, for folder and file."""
    closed, files = open_place / "closed", open_place / "files"
    for each in (closed, files):
        open_folder(each).close()
    closed.chmod(0o555)
    for each in (files, files / "locks", files / "memory"):
        each.chmod(0o777)
    for each in files.glob("*.sqlite"):
        each.chmod(0o444)
    (files / "setup.lock").chmod(0o666)
    whole, below, file = open_as_nobody(closed, closed / "below", files)
    remedy = "make it writable for this user, or choose another folder"
    assert remedy in whole
    assert "below cannot be made or written (Permission denied)" in below
    assert "checkpoints.sqlite: it is read-only; make the folder and its files" in file


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
