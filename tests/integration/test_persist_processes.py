"""One persistence folder among real processes: kills, races and other users."""

import asyncio
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mendgraph.state.effect import EffectStatus
from mendgraph.tools.ledger import Ledger
from mendgraph.tools.persist import open_folder

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
