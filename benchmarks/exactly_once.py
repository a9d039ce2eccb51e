"""Does money move exactly once, whatever goes wrong and whenever the worker dies (F16)?

Every run is a task with two payments at a real HTTP service in its own process, with
429, 503, timeouts, dropped connections before and after the commit, 500 after it, and
payments that stay `processing`. Its worker is killed (SIGKILL) at random moments and
another one goes on from the folder. The service's own table is counted. Backoffs of a
second and more are cut to 10 ms; the person who is asked reads the bank's books.
"""

import argparse
import gc
import importlib.util
import json
import os
import platform
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from stress_worker import KINDS, Job, carry_on  # beside this script

SERVICE = Path(__file__).parents[1] / "tests" / "services" / "payment_service.py"
RATES = {
    "rate_limited": 0.06,
    "unavailable": 0.06,
    "hang_before": 0.03,
    "hang_after": 0.04,
    "drop_before": 0.06,
    "drop_after": 0.08,
    "error_after": 0.06,
    "processing": 0.15,
}
GET_RATES = {"unavailable": 0.05, "drop_before": 0.05}
WORKERS = 6
KILL_WITHIN_S = 0.5
"""A worker's life ends at a random moment of this span, where it is to be killed."""
KILL_CHANCE = 0.6
MOST_KILLS = 4
PATIENCE_S = 60.0
SETTLE_S = 1.0
"""What the service still has in hand at the end is done after this."""


@dataclass
class Running:
    """One run: its job, its dice, its present worker."""

    job: Job
    dice: random.Random
    started: float = field(default_factory=time.monotonic)
    pid: int = 0
    kill_at: float | None = None
    kills: int = 0
    workers: int = 0
    ended: str = ""


def load_service() -> ModuleType:
    """Return the tests' payment service; tests are no package."""
    spec = importlib.util.spec_from_file_location("payment_service", SERVICE)
    if spec is None or spec.loader is None:
        raise ImportError(SERVICE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["payment_service"] = module
    spec.loader.exec_module(module)
    return module


def begin(run: Running) -> None:
    """Fork a worker for a run; this process has no threads and no event loop."""
    run.pid = os.fork()
    if run.pid == 0:
        work(run.job)
    run.workers += 1
    doomed = run.kills < MOST_KILLS and run.dice.random() < KILL_CHANCE
    delay = run.dice.uniform(0, KILL_WITHIN_S)
    run.kill_at = time.monotonic() + delay if doomed else None


def work(job: Job) -> None:
    """Be the worker; never return."""
    code = 70
    try:
        code = 0 if carry_on(job) == "done" else 1
    except BaseException as error:  # noqa: BLE001  a forked child must end here
        sys.stderr.write(f"{job.name}: {type(error).__name__}: {error}\n")
    finally:
        sys.stderr.flush()
        os._exit(code)


def look_after(run: Running) -> None:
    """Kill a doomed worker, and replace one that was killed."""
    now = time.monotonic()
    if now - run.started > PATIENCE_S:
        os.kill(run.pid, signal.SIGKILL)
        run.ended = "stuck"
    elif run.kill_at is not None and now >= run.kill_at:
        os.kill(run.pid, signal.SIGKILL)
        run.kill_at = None
    pid, status = os.waitpid(run.pid, 0 if run.ended else os.WNOHANG)
    if pid == 0 or run.ended:
        return
    if os.WIFSIGNALED(status):
        run.kills += 1
        begin(run)
        return
    run.ended = {0: "done", 1: "failed"}.get(os.WEXITSTATUS(status), "crashed")


def all_runs(jobs: list[Job], seed: int) -> list[Running]:
    """Carry out every job, a few at a time."""
    waiting = [Running(job, random.Random(f"{seed}:{job.name}")) for job in jobs]
    waiting.reverse()
    gc.freeze()  # the workers share what is imported
    active: list[Running] = []
    ended: list[Running] = []
    while waiting or active:
        while waiting and len(active) < WORKERS:
            run = waiting.pop()
            run.started = time.monotonic()
            begin(run)
            active.append(run)
        for run in active:
            look_after(run)
        ended += [run for run in active if run.ended]
        active = [run for run in active if not run.ended]
        time.sleep(0.002)
    return ended


def verdict(run: Running, moved: dict[str, Any]) -> str:
    """Return what the bank's table says of a run."""
    orders = [f"{run.job.name}-{place}" for place in range(2)]
    counts = [moved["payments"].get(order, 0) for order in orders]
    if max(counts) > 1:
        return "double"
    wrong = any(moved["amounts"].get(order) != 12.5 for order in orders)
    return "lost" if min(counts) < 1 or wrong else "once"


def measure(count: int, seed: int) -> dict[str, Any]:
    """Carry out the runs and return the figures."""
    service = load_service()
    faults = service.Faults(rates=RATES, get_rates=GET_RATES, hang_s=0.6, polls=2)
    folder = Path(tempfile.mkdtemp(prefix="exactly-once-"))
    dice = random.Random(seed)
    began = time.monotonic()
    try:
        with service.start_payment_service(folder, seed, faults) as bank:
            jobs = [
                Job(
                    name=f"r{number}",
                    folder=folder / f"r{number}",
                    base_url=bank.base_url,
                    database=bank.database,
                    kinds=(dice.choice(KINDS[:2]), dice.choice(KINDS)),
                )
                for number in range(count)
            ]
            ended = all_runs(jobs, seed)
            time.sleep(SETTLE_S)
            moved, requests = bank.moved(), bank.requests()
        return figures(ended, moved, requests, time.monotonic() - began)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def figures(
    ended: list[Running], moved: dict[str, Any], requests: list[Any], took_s: float
) -> dict[str, Any]:
    """Print the table and return the figures."""
    verdicts = Counter(verdict(run, moved) for run in ended)
    states = Counter(run.ended for run in ended)
    faults = Counter(fault for method, _, fault in requests if method == "POST")
    print(f"{'fault of a payment request':<28}{'times':>7}")
    for name in ("", *RATES):
        print(f"{name or 'none':<28}{faults.get(name, 0):>7}")
    print(f"\n{'kills of a run':<28}{'runs':>7}")
    for kills, times in sorted(Counter(run.kills for run in ended).items()):
        print(f"{kills:<28}{times:>7}")
    print(f"\nended as: {dict(states)}")
    for run in ended:
        told = verdict(run, moved)
        if told != "once" or run.ended != "done":
            print(f"  {run.job.name} {run.job.kinds}: {told}, {run.ended}")
    return {
        "runs": len(ended),
        "exactly_once": verdicts["once"],
        "double": verdicts["double"],
        "lost": verdicts["lost"],
        "done": states["done"],
        "kills": sum(run.kills for run in ended),
        "workers": sum(run.workers for run in ended),
        "requests": len(requests),
        "payments": sum(moved["payments"].values()),
        "seconds": round(took_s, 1),
    }


def main() -> None:
    """Print the tables and one line of JSON; a double or lost payment is an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="20 runs")
    options = parser.parse_args()
    count = 20 if options.quick else options.runs
    print(f"Python {platform.python_version()}, {platform.machine()}\n")
    found = measure(count, options.seed)
    print(json.dumps(found))
    sys.exit(found["exactly_once"] != found["runs"])


if __name__ == "__main__":
    main()
