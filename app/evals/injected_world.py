"""A small world in which causes can be injected: files, SQLite, HTTP, subprocesses.

Every error that comes out of it is the tool's own; the cause is known because it was
put there. Everything lives in one temporary folder and on loopback.
"""

import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from mendgraph.tools.shipped.files import file_tools
from mendgraph.tools.shipped.sql_sqlite import sqlite_tools
from mendgraph.tools.shipped.toolkit import Toolkit, make_tool

SLOW_S = 1.5
"""How long the slow address takes; tools give up sooner."""
IMPATIENT_S = 0.3
REFUSALS: dict[str, tuple[int, dict[str, Any]]] = {
    "/down": (503, {"error": "upstream unavailable"}),
    "/gateway": (502, {"error": "bad gateway"}),
    "/crash": (500, {"error": "internal server error"}),
    "/busy": (429, {"error": "too many requests"}),
    "/private": (401, {"error": "token expired"}),
    "/closed": (403, {"error": "your role may not read this"}),
    "/limit": (400, {"error": "limit must be at most 100"}),
    "/date": (422, {"error": "field 'day' is not a date"}),
    "/customer": (409, {"error": "3 customers are called Smith; which one is meant?"}),
    "/currency": (422, {"error": "please specify the currency of the report"}),
    "/both": (
        422,
        {"error": "the request contradicts itself: newest first and oldest first"},
    ),
    "/period": (422, {"error": "it is unclear which period 'last season' means"}),
}
"""Path → status and body of the loopback service."""


class _Service(BaseHTTPRequestHandler):
    """Answers as its path says."""

    def do_GET(self) -> None:
        """Answer one request."""
        path = self.path.partition("?")[0]
        if path == "/slow":
            time.sleep(SLOW_S)
        status, body = REFUSALS.get(path, (200, {"ok": True, "rows": [{"id": 1}]}))
        text = b"<html>not json" if path == "/garbled" else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_args: object) -> None:
        """Stay silent."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_args: object) -> None:
        """A client that gave up is part of the measure."""


@dataclass(frozen=True)
class World:
    """The folder and the addresses: one that answers and one where nobody listens."""

    folder: Path
    address: str
    nobody: str

    def toolkit(self) -> Toolkit:
        """Return the tools whose failures are attributed, and the ones that look."""
        sql = sqlite_tools(self.folder / "shop.db", root=self.folder, timeout_s=0.2)
        broken = sqlite_tools(
            self.folder / "broken.db", prefix="broken", root=self.folder, timeout_s=0.2
        )
        own = (self.fetch, self.run_python, self.load_json, self.find_customer)
        looks = (self.exists, self.reachable, self.matches)
        made = tuple(make_tool(each, each.__name__) for each in (*own, *looks))
        shipped = sql.only("sqlite_query") + broken.only("broken_query")
        return shipped + file_tools(self.folder) + Toolkit(made, {})

    def fetch(self, url: str, limit: int = 10) -> dict[str, Any]:
        """Read an address of the shop's service; `!` stands for one nobody serves."""
        base = self.nobody if url.startswith("!") else self.address
        address = base + url.removeprefix("!")
        answer = httpx.get(address, params={"limit": limit}, timeout=IMPATIENT_S)
        if answer.is_error:
            raise httpx.HTTPStatusError(
                f"{answer.status_code}: {answer.text}",
                request=answer.request,
                response=answer,
            )
        return dict(answer.json())

    def run_python(self, code: str) -> dict[str, Any]:
        """Run a short Python program and return what it prints."""
        done = subprocess.run(  # noqa: S603  the code comes from the labelled set
            [sys.executable, "-I", "-c", code],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
        return {"printed": done.stdout}

    def load_json(self, path: str) -> dict[str, Any]:
        """Read a JSON file."""
        return {"value": json.loads((self.folder / path).read_text("utf-8"))}

    def find_customer(self, name: str) -> dict[str, Any]:
        """Return the one customer of a name."""
        found = self._named(name)
        if len(found) > 1:
            listed = ", ".join(f"{first} {name}" for first in found)
            raise LookupError(f"{name!r} is ambiguous: {listed}")
        if not found:
            raise LookupError(f"there is no customer {name!r}")
        return {"name": f"{found[0]} {name}"}

    def exists(self, what: str) -> dict[str, Any]:
        """Tell whether a file of the folder or a table of the shop is there."""
        if (self.folder / what).exists():
            return {"exists": True}
        query = "SELECT count(*) FROM sqlite_schema WHERE name = ?"
        with closing(sqlite3.connect(self.folder / "shop.db")) as shop:
            try:
                return {"exists": bool(shop.execute(query, [what]).fetchone()[0])}
            except sqlite3.OperationalError:
                return {"exists": False}

    def reachable(self, what: str) -> dict[str, Any]:
        """Tell whether an address, a file or a table's database answers a read.

        What is simply not there is no fault of the place where it would be.
        """
        try:
            if what.startswith(("!", "/")):
                self.fetch(what)
            elif (self.folder / what).is_file() and not what.endswith(".db"):
                (self.folder / what).read_bytes()
            else:
                self._ping(what if what.endswith(".db") else "shop.db")
        except (httpx.HTTPError, OSError, ValueError, sqlite3.Error) as error:
            status = getattr(getattr(error, "response", None), "status_code", 0)
            refused = status in {400, 404, 409, 422}
            return {"ok": refused, "why": str(error)[:100]}
        return {"ok": True, "why": ""}

    def matches(self, term: str) -> dict[str, Any]:
        """Count the customers that a name could mean."""
        return {"count": len(self._named(term))}

    def _named(self, name: str) -> list[str]:
        query = "SELECT first FROM customers WHERE last = ? ORDER BY first"
        with closing(sqlite3.connect(self.folder / "people.db")) as people:
            return [row[0] for row in people.execute(query, [name])]

    def _ping(self, name: str) -> None:
        path = self.folder / name
        with closing(sqlite3.connect(path, timeout=0.1)) as database:
            database.execute("SELECT count(*) FROM sqlite_schema").fetchone()


PEOPLE = (
    ("Anna", "Smith"),
    ("Bob", "Smith"),
    ("Wei", "王"),
    ("Li", "王"),
    ("Nora", "Jones"),
    ("Olaf", "Jones"),
    ("Ida", "Berg"),
)


@contextmanager
def opened(folder: Path) -> Iterator[World]:
    """Make the world in a folder and keep its service up."""
    folder.mkdir(parents=True, exist_ok=True)
    _databases(folder)
    _files(folder)
    server = _Server(("127.0.0.1", 0), _Service)
    spare = _Server(("127.0.0.1", 0), _Service)
    nobody = f"http://127.0.0.1:{spare.server_address[1]}"
    spare.server_close()  # the port is free, and nobody listens there
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield World(folder, f"http://127.0.0.1:{server.server_address[1]}", nobody)
    finally:
        server.shutdown()
        server.server_close()


def _databases(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "shop.db")) as shop:
        shop.execute('CREATE TABLE sales (id, amount, region, "group", "index")')
        rows = [[n, n * 10, "north", "a", n] for n in range(5)]
        shop.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?)", rows)
        shop.commit()
    with closing(sqlite3.connect(folder / "people.db")) as people:
        people.execute("CREATE TABLE customers (first, last)")
        people.executemany("INSERT INTO customers VALUES (?, ?)", PEOPLE)
        people.commit()
    (folder / "broken.db").write_bytes(b"this is no database at all" * 40)


def _files(folder: Path) -> None:
    (folder / "gb.txt").write_text("北京 上海 广州", encoding="gb18030")
    (folder / "latin.txt").write_text("Zürich Genève", encoding="latin-1")
    (folder / "semicolon.csv").write_text("a;b\n1;2\n", encoding="utf-8")
    (folder / "cut.json").write_text('{"rows": [1, 2', encoding="utf-8")
    (folder / "single.json").write_text("{'rows': 1}", encoding="utf-8")
    (folder / "folder.csv").mkdir(exist_ok=True)
