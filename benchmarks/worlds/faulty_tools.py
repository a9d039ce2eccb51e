"""A small real world with faults that recur: SQLite, CSV, text files, HTTP on loopback.

Every fault is put into the arguments of a step, so the mend is known; every error is
the real one of the tool. Statements are made of fixed words only.
"""

import csv
import json
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from mendgraph.state.policy import Effect, ToolPolicy
from mendgraph.tools.shipped.files import file_tools
from mendgraph.tools.shipped.sql_sqlite import sqlite_tools
from mendgraph.tools.shipped.toolkit import Toolkit, make_tool

RESERVED = ("group", "order", "index", "table", "check", "default", "transaction")
COLUMNS = ("amount", "region", "customer", "placed_on")
MOST_ORDERS = 100
CITIES = ("北京", "上海", "广州", "Zürich", "Oslo")


@dataclass(frozen=True)
class Fault:
    """A step that fails until its patch is applied."""

    kind: str
    step: dict[str, Any]
    patch: dict[str, Any] | None = None
    """None: the step is right as it is."""


@dataclass
class World:
    """The folder, the server, and what was injected where."""

    folder: Path
    address: str
    truth: dict[str, Fault] = field(default_factory=dict)
    """Words that name a step in a prompt → its fault."""

    def toolkit(self) -> Toolkit:
        """Return the shipped tools and one that reads the loopback server."""
        sql = sqlite_tools(self.folder / "shop.db", root=self.folder)
        return (
            sql.only("sqlite_query")
            + file_tools(self.folder)
            + Toolkit(
                (make_tool(self.list_orders, "list_orders"),),
                {
                    "list_orders": ToolPolicy(
                        effect=Effect.READ, idempotent=True, tool_class="http_read"
                    )
                },
            )
        )

    def list_orders(self, limit: int) -> dict[str, Any]:
        """Read the newest orders from the shop's service."""
        answer = httpx.get(f"{self.address}/orders", params={"limit": limit}, timeout=5)
        if answer.is_error:
            raise httpx.HTTPStatusError(
                f"{answer.status_code}: {answer.text}",
                request=answer.request,
                response=answer,
            )
        return dict(answer.json())


class _Orders(BaseHTTPRequestHandler):
    """Answers with so many orders, or refuses more than a hundred."""

    def do_GET(self) -> None:
        """Answer one request."""
        limit = int(self.path.rpartition("limit=")[2])
        over = limit > MOST_ORDERS
        body: dict[str, Any] = {"rows": [{"id": n} for n in range(min(limit, 3))]}
        if over:
            body = {"error": f"limit may be at most {MOST_ORDERS}"}
        text = json.dumps(body).encode()
        self.send_response(400 if over else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_args: object) -> None:
        """Stay silent."""


@contextmanager
def opened(folder: Path) -> Iterator[World]:
    """Make the world in a folder and keep its server up."""
    folder.mkdir(parents=True, exist_ok=True)
    _database(folder / "shop.db")
    _files(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Orders)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield World(folder, f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()
        server.server_close()


def _database(path: Path) -> None:
    names = [*COLUMNS, *RESERVED]
    columns = ", ".join(f'"{name}"' for name in names)
    marks = ", ".join("?" for _ in names)
    with closing(sqlite3.connect(path)) as shop:
        shop.execute(f"CREATE TABLE sales ({columns})")
        rows = [[f"{name}{n}" for name in names] for n in range(20)]
        shop.executemany(f"INSERT INTO sales VALUES ({marks})", rows)  # noqa: S608  fixed names
        shop.commit()


def _files(folder: Path) -> None:
    rows = [["id", "city", "total"], *[[n, c, n * 7] for n, c in enumerate(CITIES)]]
    for name, mark in (("comma.csv", ","), ("semicolon.csv", ";")):
        with (folder / name).open("w", encoding="utf-8", newline="") as out:
            csv.writer(out, delimiter=mark).writerows(rows)
    (folder / "utf8.txt").write_text("北京 上海", encoding="utf-8")
    (folder / "gb.txt").write_text("北京 上海 广州", encoding="gb18030")


def _query(sql: str) -> dict[str, Any]:
    return {"tool": "sqlite_query", "inputs": {"sql": sql}}


def reserved(dice: random.Random, *, faulty: bool) -> Fault:
    """A column whose name is a reserved word of SQLite."""
    word, count = dice.choice(RESERVED), dice.randint(2, 9)
    good = f'SELECT amount, "{word}" FROM sales LIMIT {count}'  # noqa: S608
    bad = f"SELECT amount, {word} FROM sales LIMIT {count}"  # noqa: S608
    return Fault("reserved", _query(bad if faulty else good), {"sql": good})


def renamed(dice: random.Random, *, faulty: bool) -> Fault:
    """A column that has another name since the schema changed."""
    other, count = dice.choice(COLUMNS[1:]), dice.randint(2, 9)
    good = f"SELECT {other}, amount FROM sales LIMIT {count}"  # noqa: S608
    bad = f"SELECT {other}, price FROM sales LIMIT {count}"  # noqa: S608
    return Fault("renamed", _query(bad if faulty else good), {"sql": good})


def typo(dice: random.Random, *, faulty: bool) -> Fault:
    """A misspelt column, another one each time: nothing to learn from."""
    name = dice.choice(COLUMNS)
    place = dice.randrange(1, len(name) - 1)
    wrong = name[:place] + dice.choice("qxz") + name[place:] + dice.choice("qxz")
    good = f"SELECT {name} FROM sales LIMIT {dice.randint(2, 9)}"  # noqa: S608
    bad = good.replace(name, wrong, 1)
    return Fault("typo", _query(bad if faulty else good), {"sql": good})


def delimiter(dice: random.Random, *, faulty: bool) -> Fault:
    """A CSV file with semicolons, read as if it had commas."""
    path = "semicolon.csv" if faulty else "comma.csv"
    step = {
        "tool": "csv_reader",
        "inputs": {"path": path, "max_rows": dice.randint(2, 50)},
        "validation_rule": "size(output.columns) > 1",
    }
    return Fault("delimiter", step, {"delimiter": ";"})


def encoding(dice: random.Random, *, faulty: bool) -> Fault:
    """A text file of a Chinese system, read as UTF-8."""
    path = "gb.txt" if faulty else "utf8.txt"
    inputs = {"path": path, "max_bytes": dice.randint(200, 900)}
    return Fault(
        "encoding", {"tool": "file_reader", "inputs": inputs}, {"encoding": "gb18030"}
    )


def limit(dice: random.Random, *, faulty: bool) -> Fault:
    """More orders asked for than the service gives at once."""
    wanted = dice.randint(MOST_ORDERS + 1, 900) if faulty else dice.randint(1, 100)
    step = {"tool": "list_orders", "inputs": {"limit": wanted}}
    return Fault("limit", step, {"limit": MOST_ORDERS})


def mismatch(dice: random.Random, *, faulty: bool) -> Fault:
    """Numbers for a template that asks for text: every row is left out."""
    value: Any = dice.randint(1, 99)
    rows = [{"id": value if faulty else str(value)} for _ in range(3)]
    inputs = {
        "path": f"out{dice.randint(1, 5)}.csv",
        "rows": rows,
        "template": {"id": "string"},
    }
    return Fault(
        "mismatch", {"tool": "csv_writer", "inputs": inputs}, {"on_mismatch": "cast"}
    )


RECURRING: tuple[Callable[..., Fault], ...] = (
    reserved,
    renamed,
    delimiter,
    encoding,
    limit,
    mismatch,
)


def task(
    world: World, number: int, dice: random.Random, *, fault_share: float
) -> dict[str, Any]:
    """Return a plan of independent steps, some of them faulty; the truth is noted."""
    steps = []
    for position in range(dice.randint(2, 4)):
        faulty = dice.random() < fault_share
        novel = faulty and dice.random() < 0.1
        fault = (typo if novel else dice.choice(RECURRING))(dice, faulty=faulty)
        name = f"job {number}.{position}."
        world.truth[name] = fault if faulty else Fault(fault.kind, fault.step)
        steps.append({"id": f"s{position}", "description": name, **fault.step})
    return {"goal": f"task {number}", "steps": steps}
