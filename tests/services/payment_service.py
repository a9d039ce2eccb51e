"""A payment service in its own process, with faults, for tests of exactly-once.

It commits a payment at most once per idempotency key and counts the money in its own
SQLite table. Faults are chosen by seed and request number, so a run can be repeated.

    POST /pay     {order, amount, idempotency_key?}    GET /pay/{order}
    POST /refund  {order, idempotency_key?}            GET /ledger
"""

import json
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

SERVER = Path(__file__).with_name("payment_server.py")
FAULTS = (
    "rate_limited",  # 429 with Retry-After, nothing happened
    "unavailable",  # 503, nothing happened
    "hang_before",  # no answer for `hang_s`, nothing happened
    "hang_after",  # no answer for `hang_s`, it happened
    "drop_before",  # the connection breaks, nothing happened
    "drop_after",  # the connection breaks, it happened
    "error_after",  # 500, it happened
    "processing",  # accepted; final after `polls` status requests
)


@dataclass(frozen=True)
class Faults:
    """What goes wrong: by chance (0..1 each) and at given POST numbers (from 1)."""

    rates: dict[str, float] = field(default_factory=dict)
    at: dict[int, str] = field(default_factory=dict)
    get_rates: dict[str, float] = field(default_factory=dict)
    """Chances for status requests; only the faults before the effect make sense."""
    retry_after: str = "1"
    hang_s: float = 5.0
    polls: int = 2

    def pick(self, method: str, number: int, seed: int) -> str:
        """Return the fault of a request, or an empty text."""
        if method == "POST" and number in self.at:
            return self.at[number]
        left = random.Random(f"{seed}:{method}:{number}").random()  # noqa: S311
        for name, rate in (self.rates if method == "POST" else self.get_rates).items():
            left -= rate
            if left < 0:
                return name
        return ""


def totals(path: Path) -> dict[str, Any]:
    """Return what really happened, from the service's own table."""
    per_order = "SELECT order_id, count(*), sum(cents) FROM {} GROUP BY order_id"
    with closing(sqlite3.connect(path, timeout=10)) as database:
        paid = database.execute(per_order.format("payments")).fetchall()
        back = database.execute(per_order.format("refunds")).fetchall()
    return {
        "payments": {order: count for order, count, _ in paid},
        "refunds": {order: count for order, count, _ in back},
        "amounts": {order: cents / 100 for order, _, cents in paid},
        "net": (sum(row[2] for row in paid) - sum(row[2] for row in back)) / 100,
    }


@dataclass
class PaymentService:
    """The running service as a test sees it."""

    base_url: str
    database: Path
    process: subprocess.Popen[str]

    def moved(self) -> dict[str, Any]:
        """Return `payments` and `refunds` per order, `amounts`, `net`, from its table.

        Works after `stop`, too.
        """
        return totals(self.database)

    def requests(self) -> list[tuple[str, str, str]]:
        """Return method, path and fault of every request so far."""
        select = "SELECT method, path, fault FROM requests ORDER BY number"
        with closing(sqlite3.connect(self.database, timeout=10)) as database:
            return database.execute(select).fetchall()

    def stop(self) -> None:
        """End the process; a second call does nothing."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop."""
        self.stop()


def start_payment_service(
    tmp_path: Path, seed: int = 0, faults: Faults | None = None
) -> PaymentService:
    """Start the service on a free port; a second start on one folder goes on."""
    database = tmp_path / "payments.sqlite"
    config = json.dumps(asdict(faults or Faults()))
    command = [sys.executable, str(SERVER), str(database), str(seed), config]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    port = process.stdout.readline().strip() if process.stdout else ""
    if not port:
        process.wait()
        raise RuntimeError("the payment service did not start")
    return PaymentService(f"http://127.0.0.1:{port}", database, process)
