"""A thread held by a real other process: refused while it lives, free after it."""

import os
import signal
import subprocess
import sys

import pytest

from mendgraph.tools.lease import ThreadBusy
from mendgraph.tools.lease_kinds import FileLease, flock_grab, sqlite_grab

GRABS = {"flock_grab": flock_grab, "sqlite_grab": sqlite_grab}
HOLDER = """
import sys, time
from pathlib import Path
from mendgraph.tools.lease_kinds import FileLease, flock_grab, sqlite_grab
lease = FileLease(Path(sys.argv[1]), grab=globals()[sys.argv[2]])
lease.acquire("t1")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["flock_grab", "sqlite_grab"])
def other_process(request, tmp_path):
    """A real process that holds thread t1 in `tmp_path`."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path), request.param],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "held\n"
    child.grab = GRABS[request.param]
    yield child
    child.kill()
    child.communicate()


def test_other_process_is_refused_until_it_ends(other_process, tmp_path):
    """A second process reads who holds the thread, and gets it after the first."""
    lease = FileLease(tmp_path, grab=other_process.grab)
    with pytest.raises(ThreadBusy, match=f"process {other_process.pid} on .+ since "):
        lease.acquire("t1")
    other_process.communicate("")
    assert lease.acquire("t1").holder.startswith(f"process {os.getpid()} ")


def test_killed_process_frees_its_thread(other_process, tmp_path):
    """SIGKILL leaves no lock behind: the operating system lets go."""
    other_process.send_signal(signal.SIGKILL)
    other_process.wait()
    token = FileLease(tmp_path, grab=other_process.grab).acquire("t1")
    assert token.thread_id == "t1"
