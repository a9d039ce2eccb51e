"""The process behind `payment_service`: its bank and its HTTP face."""

import argparse
import json
import socket
import sqlite3
import sys
import threading
import time
import uuid
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from payment_service import Faults, totals  # beside this script

REUSED_KEY = (
    "Keys for idempotent requests can only be used with the same parameters they were "
    "first used with. Try using a key other than '{key}' if you meant to execute a "
    "different request."
)
SCHEMA = """
PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS payments (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL, cents INTEGER NOT NULL,
    key TEXT UNIQUE, polls_left INTEGER NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS refunds (
    id TEXT PRIMARY KEY, payment TEXT NOT NULL UNIQUE, order_id TEXT NOT NULL,
    cents INTEGER NOT NULL, key TEXT UNIQUE, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT, method TEXT, path TEXT, fault TEXT);
"""


class Refused(Exception):
    """A request the service answers with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"type": code, "code": code, "message": message}}


class Bank:
    """The service's own truth; every method is one transaction."""

    def __init__(self, path: Path, faults: Faults, seed: int) -> None:
        self.faults, self.seed = faults, seed
        self._lock = threading.Lock()
        self._db = sqlite3.connect(
            path, timeout=10, isolation_level=None, check_same_thread=False
        )
        self._db.row_factory = sqlite3.Row
        self._db.executescript(SCHEMA)

    def arrive(self, method: str, path: str) -> str:
        """Number a request, log it, and return its fault."""
        with self._lock, self._db:
            count = "SELECT count(*) FROM requests WHERE method = ?"
            number = self._db.execute(count, (method,)).fetchone()[0] + 1
            fault = self.faults.pick(method, number, self.seed)
            row = (method, path, fault)
            insert = "INSERT INTO requests (method, path, fault) VALUES (?, ?, ?)"
            self._db.execute(insert, row)
        return fault

    def pay(self, body: dict[str, Any], fault: str) -> dict[str, Any]:
        """Move money once per key; without a key, once per request."""
        order, cents, key = _order(body), _cents(body), body.get("idempotency_key")
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            known = self._by_key("payments", key)
            if known is not None:
                if (known["order_id"], known["cents"]) != (order, cents):
                    raise Refused(400, "idempotency_error", REUSED_KEY.format(key=key))
                return {**_shown(known), "replayed": True}
            polls = self.faults.polls if fault == "processing" else 0
            row = (f"pay_{uuid.uuid4().hex}", order, cents, key, polls, time.time())
            self._db.execute("INSERT INTO payments VALUES (?, ?, ?, ?, ?, ?)", row)
            return _shown(self._payment(order))

    def refund(self, body: dict[str, Any]) -> dict[str, Any]:
        """Give the money of an order's newest payment back, once."""
        order, key = _order(body), body.get("idempotency_key")
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            known = self._by_key("refunds", key)
            if known is not None and known["order_id"] != order:
                raise Refused(400, "idempotency_error", REUSED_KEY.format(key=key))
            if known is None:
                known = self._refund_now(order, key)
        return {"id": known["id"], "order": order, "amount": known["cents"] / 100}

    def status(self, order: str) -> dict[str, Any]:
        """Return an order's newest payment; asking moves a processing one on."""
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            found = _shown(self._payment(order))
            step = "UPDATE payments SET polls_left = polls_left - 1 WHERE id = ?"
            self._db.execute(f"{step} AND polls_left > 0", (found["id"],))
        return found

    def _refund_now(self, order: str, key: str | None) -> sqlite3.Row:
        paid = self._payment(order)
        row = (f"re_{uuid.uuid4().hex}", paid["id"], order, paid["cents"], key)
        with suppress(sqlite3.IntegrityError):
            insert = "INSERT INTO refunds VALUES (?, ?, ?, ?, ?, ?)"
            self._db.execute(insert, (*row, time.time()))
            select = "SELECT * FROM refunds WHERE id = ?"
            return self._db.execute(select, row[:1]).fetchone()
        raise Refused(409, "already_refunded", f"order {order} is already refunded")

    def _by_key(self, table: str, key: str | None) -> sqlite3.Row | None:
        if key is None:
            return None
        select = f"SELECT * FROM {table} WHERE key = ?"  # noqa: S608 - our two tables
        return self._db.execute(select, (key,)).fetchone()

    def _payment(self, order: str) -> sqlite3.Row:
        select = "SELECT * FROM payments WHERE order_id = ? ORDER BY rowid DESC"
        found = self._db.execute(select, (order,)).fetchone()
        if found is None:
            raise Refused(404, "not_found", f"no payment for order {order}")
        return found


def _order(body: dict[str, Any]) -> str:
    order = body.get("order")
    if not isinstance(order, str) or not order:
        raise Refused(400, "parameter_missing", "Missing required param: order.")
    return order


def _cents(body: dict[str, Any]) -> int:
    amount = body.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float) or amount <= 0:
        raise Refused(400, "parameter_invalid", "amount must be a positive number")
    return round(amount * 100)


def _shown(row: sqlite3.Row) -> dict[str, Any]:
    status = "processing" if row["polls_left"] else "succeeded"
    shown = {"id": row["id"], "order": row["order_id"], "amount": row["cents"] / 100}
    return {**shown, "status": status, "replayed": False}


class Handler(BaseHTTPRequestHandler):
    """One request: perhaps a fault, the bank, perhaps a fault."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    bank: Bank
    path_of_totals: Path

    def do_GET(self) -> None:
        """Answer a status or totals request."""
        if self.path == "/ledger":
            self._answer(200, totals(self.path_of_totals))
            return
        order = unquote(self.path.removeprefix("/pay/"))
        self._serve(lambda _fault: self.bank.status(order))

    def do_POST(self) -> None:
        """Answer a payment or refund request."""
        size = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(size) or b"{}")
        calls = {
            "/pay": lambda fault: self.bank.pay(body, fault),
            "/refund": lambda _fault: self.bank.refund(body),
        }
        self._serve(calls.get(self.path, self._lost))

    def _lost(self, _fault: str) -> dict[str, Any]:
        raise Refused(404, "not_found", f"no such resource: {self.path}")

    def _serve(self, call: Any) -> None:
        fault = self.bank.arrive(self.command, self.path)
        if self._went_wrong_before(fault):
            return
        try:
            status, body = 200, call(fault)
        except Refused as refused:
            status, body = refused.status, refused.body
        if not self._went_wrong_after(fault):
            self._answer(status, body)

    def _went_wrong_before(self, fault: str) -> bool:
        faults = self.bank.faults
        if fault == "rate_limited":
            error = {"type": "rate_limit", "message": "Too many requests"}
            self._answer(429, {"error": error}, {"Retry-After": faults.retry_after})
        elif fault == "unavailable":
            error = {"type": "unavailable", "message": "Service Unavailable"}
            self._answer(503, {"error": error})
        elif fault == "hang_before":
            time.sleep(faults.hang_s)
            self._drop()
        elif fault == "drop_before":
            self._drop()
        else:
            return False
        return True

    def _went_wrong_after(self, fault: str) -> bool:
        if fault == "error_after":
            self._answer(500, {"error": {"type": "api_error", "message": "Internal"}})
        elif fault == "hang_after":
            time.sleep(self.bank.faults.hang_s)
            self._drop()
        elif fault == "drop_after":
            self._drop()
        else:
            return False
        return True

    def _drop(self) -> None:
        """Break the connection without an answer."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(
        self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> None:
        data = json.dumps(body).encode()
        with suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing; the table of requests has it all."""


class Server(ThreadingHTTPServer):
    """Says nothing of clients that died while they were answered."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell of our own faults only."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until killed; the port is the first line on stdout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", type=Path)
    parser.add_argument("seed", type=int)
    parser.add_argument("faults", type=json.loads)
    options = parser.parse_args()
    given = options.faults
    given["at"] = {int(number): name for number, name in given["at"].items()}
    Handler.path_of_totals = options.database
    Handler.bank = Bank(options.database, Faults(**given), options.seed)
    server = Server(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
