"""SQLite saver and store for both ways of calling, from several loops."""

import asyncio
import contextlib
import inspect
import sqlite3
import threading
from typing import TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph.store.sqlite import SqliteStore

from mendgraph.tools.persist import open_folder
from mendgraph.tools.sqlite_async import ThreadedSqliteSaver, ThreadedSqliteStore

PLACE = ("mendgraph", "test")


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


def test_batch_that_reads_and_writes_waits_for_other_writers(folder, monkeypatch):
    """Another process's write between the two halves fails the batch no more."""
    with open_folder(folder.path, busy_s=0.1) as other:
        read = SqliteStore._batch_get_ops

        def read_then_rival(store, *args):
            read(store, *args)
            other.store.batch([PutOp(PLACE, "rival", {"n": 2})])

        monkeypatch.setattr(SqliteStore, "_batch_get_ops", read_then_rival)
        mixed = [GetOp(PLACE, "a"), PutOp(PLACE, "a", {"n": 1})]
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            SqliteStore.batch(folder.store, mixed)
        assert folder.store.batch(mixed) == [None, None]
    monkeypatch.undo()
    assert {item.key for item in folder.store.search(PLACE)} == {"a", "rival"}


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
