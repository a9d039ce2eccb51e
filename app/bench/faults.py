"""The fault schedule: which call fails how, by seed, tool, logical step and attempt.

Kinds and seeds are in `faults.json`. An explicit fault raises what a real client would
raise; an implicit one damages an answer that looks like success.
"""

import json
import random
import socket
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx

from mendgraph.bench.tasks import Task

FILE = Path(__file__).with_name("faults.json")
Answer = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One kind of fault."""

    name: str
    surface: str
    """`explicit` raises, `implicit` looks like success."""
    lasts: str
    """`transient`, `argument`, `permanent` (the mirror works) or `hopeless`."""
    times: int
    held_out: bool
    on: str | None = None
    """The tool it can hit; None means fetch and derive."""

    @property
    def group(self) -> str:
        """The row of the recovery grid it belongs to."""
        return f"{self.surface} {self.lasts}"


@lru_cache(maxsize=1)
def _told() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def kinds() -> dict[str, Kind]:
    """Return all kinds by name, as committed."""
    return {each["name"]: Kind(**each) for each in _told()["kinds"]}


def seeds() -> list[int]:
    """Return the committed seeds."""
    return list(_told()["seeds"])


@dataclass(frozen=True)
class Schedule:
    """Faults by logical step; the same for every agent."""

    hits: Mapping[str, Kind]
    """Step id → what its first calls meet."""

    def at(self, step_id: str, tool: str, attempt: int) -> Kind | None:
        """Return the fault of a call, counted from 1 for this tool and step."""
        kind = self.hits.get(step_id)
        if kind is None or attempt > kind.times:
            return None
        mirrored = tool.endswith("_mirror")
        return None if mirrored and kind.lasts != "hopeless" else kind


def schedule(task: Task, chosen: list[Kind], seed: int) -> Schedule:
    """Return where kinds hit a task: different steps, drawn from the seed."""
    drawn_from = f"{task.name}:{seed}:{[kind.name for kind in chosen]}"
    rng = random.Random(drawn_from)  # noqa: S311  reproducible
    free = [step for step in task.steps if step.tool != "published"]
    hits: dict[str, Kind] = {}
    for kind in chosen:
        fits = [s for s in free if _hits(kind, s.tool) and s.id not in hits]
        if fits:
            hits[rng.choice(fits).id] = kind
    return Schedule(hits)


def _hits(kind: Kind, tool: str) -> bool:
    return tool == kind.on if kind.on else tool in {"fetch", "derive"}


def _status(code: int, words: str, **headers: str) -> Exception:
    request = httpx.Request("POST", "http://service.invalid/v1")
    response = httpx.Response(code, headers=headers, text=words, request=request)
    return httpx.HTTPStatusError(f"{code}: {words}", request=request, response=response)


def _no_table() -> Exception:
    return sqlite3.OperationalError("no such table: live_values")


RAISED: dict[str, Callable[[], Exception]] = {
    "http_503": lambda: _status(503, "Service Unavailable, try again later"),
    "http_429": lambda: _status(429, "Too Many Requests", **{"retry-after": "1"}),
    "timeout": lambda: httpx.ReadTimeout("the read timed out"),
    "reset": lambda: ConnectionResetError(104, "Connection reset by peer"),
    "http_502": lambda: _status(502, "Bad Gateway"),
    "db_locked": lambda: sqlite3.OperationalError("database is locked"),
    "dns": lambda: socket.gaierror(-3, "Temporary failure in name resolution"),
    "lost_answer": lambda: httpx.ReadTimeout("the read timed out"),
    "form_422": lambda: _status(422, "argument 'form' must be 'v2'"),
    "form_400": lambda: _status(
        400, "invalid argument 'form': expected 'v2', got 'v1'"
    ),
    "http_410": lambda: _status(
        410, "Gone: this service was shut down, see its mirror"
    ),
    "http_404": lambda: _status(
        404, "Not Found: this resource has moved to the mirror"
    ),
    "no_table": _no_table,
    "gone_derive": lambda: _status(410, "Gone: this service was shut down"),
    "shut": lambda: _status(410, "Gone: the whole service was shut down for good"),
    "forbidden": lambda: _status(403, "Forbidden: the account may not read this key"),
    "down": lambda: _status(501, "Not Implemented: this key is not served anywhere"),
}
"""Kind → the exception a real client would raise."""


def raised(kind: Kind) -> Exception:
    """Return a fresh exception of a kind."""
    return RAISED[kind.name]()


DAMAGED: dict[str, Callable[[Answer], Answer]] = {
    "empty": lambda told: {**told, "rows": [], "row_count": 0, "value": None},
    "truncated": lambda told: {**told, "rows": told["rows"][:1]},
    "wrong_type": lambda told: {**told, "rows": "3 rows"},
    "stale": lambda told: {**told, "as_of": "2025-11-30", "value": "v0000stale"},
    "null_value": lambda told: {**told, "value": None},
    "error_body": lambda _: {"error": "upstream did not answer, try again"},
    "stale_forever": lambda told: {
        **told,
        "as_of": "2025-11-30",
        "value": "v0000stale",
    },
    "empty_forever": lambda told: {**told, "rows": [], "row_count": 0, "value": None},
}
"""Kind → what it makes of a good answer."""
