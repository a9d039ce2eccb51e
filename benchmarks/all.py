"""Run every measure, one after the other, and write docs/BENCHMARKS.md.

Each measure is a process of its own, so that none warms or burdens another; its last
line is one JSON object. Those that count (calls, tokens, bytes, simulated seconds) run
side by side first, those that take time alone afterwards. `--quick` is the regression
guard for CI: smaller, with guards on ratios; only a full run writes the document.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guards import broken
from measure import versions
from page import write_page

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
PAGE, IMAGES = DOCS / "BENCHMARKS.md", DOCS / "images"
KEPT, BEFORE = HERE / "results" / "latest.json", HERE / "results" / "before.json"
"""Figures of the last full run, and of an older commit for comparison."""
LIMIT_S = 2_400


@dataclass(frozen=True)
class Measure:
    """One script."""

    name: str
    guard: bool = True
    """Run in `--quick`, too."""
    full: tuple[str, ...] = ()
    """Further arguments of a full run."""
    timed: bool = False
    """It takes time, so nothing else may run beside it."""

    def command(self, quick: bool) -> list[str]:
        """Return the command line, without the interpreter."""
        extra = ("--quick",) if quick else self.full
        return [f"benchmarks/{self.name}.py", *extra]


MEASURES = (
    Measure("learning", guard=False),
    Measure("recovery"),
    Measure("caf"),
    Measure("attribution", guard=False),
    Measure("exactly_once", guard=False, full=("--quick",)),
    Measure("state_size"),
    Measure("tokens"),
    Measure("replan", guard=False),
    Measure("memory", guard=False, timed=True),
    Measure("rollback", timed=True),
    Measure("overhead", timed=True),
    Measure("makespan", timed=True),
    Measure("monitor", guard=False, timed=True),
    Measure("retrieval", guard=False, timed=True),
    Measure("latency", timed=True),
)


def last_json(text: str) -> dict[str, Any]:
    """Return the JSON object on the last line of an output.

    Raises:
        ValueError, TypeError: The last line holds none.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    found = json.loads(lines[-1]) if lines else None
    if not isinstance(found, dict):
        raise TypeError("the last line is no JSON object")
    return found


def run(measure: Measure, quick: bool) -> dict[str, Any]:
    """Run a measure; return figures, seconds and, if it failed, why."""
    began = time.perf_counter()
    command = measure.command(quick)
    print(f"… {' '.join(command)}", flush=True)
    told: dict[str, Any] = {"command": f"python {' '.join(command)}"}
    try:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=HERE.parent,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        told["figures"] = last_json(done.stdout)
        if done.returncode:
            told["problem"] = f"exit code {done.returncode}: {done.stderr[-600:]}"
    except (subprocess.TimeoutExpired, ValueError, TypeError) as error:
        said = getattr(locals().get("done"), "stderr", "") or ""
        told["problem"] = f"{error} {said[-600:]}".strip()
    told["seconds"] = round(time.perf_counter() - began, 1)
    return told


def machine() -> dict[str, Any]:
    """Return what the figures were taken on; nothing that names a host."""
    cpu = platform.machine()
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        names = [x for x in listed.read_text().splitlines() if "model name" in x]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "load": [round(each, 1) for each in os.getloadavg()],
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions(),
    }


def chosen(names: Sequence[str], quick: bool) -> list[Measure]:
    """Return the measures to run: those named, else all of this mode."""
    there = [each for each in MEASURES if (HERE / f"{each.name}.py").exists()]
    if names:
        return [each for each in there if each.name in names]
    return [each for each in there if each.guard or not quick]


def problems_of(name: str, told: Mapping[str, Any]) -> list[str]:
    """Return what went wrong with a measure, guards among it."""
    failed = [f"{name}: {told['problem']}"] if "problem" in told else []
    return failed or broken(name, told["figures"])


def main() -> int:
    """Run, guard, write; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the guard for CI")
    parser.add_argument("--only", nargs="*", default=[], help="names of measures")
    parser.add_argument("--page", action="store_true", help="write the page anew only")
    asked = parser.parse_args()
    if asked.page:
        return written(json.loads(KEPT.read_text(encoding="utf-8")))
    began, measures = time.perf_counter(), chosen(asked.only, asked.quick)
    found: dict[str, Any] = {}
    for name, told in runs(measures, asked.quick):
        found[name] = told
        if not asked.quick:
            keep(found, bool(asked.only))
    problems = [p for name, told in found.items() for p in problems_of(name, told)]
    for name, told in found.items():
        print(f"{name:<14}{told['seconds']:>7.1f} s  {told.get('problem', 'ok')[:120]}")
    print("\n".join(f"BROKEN {each}" for each in problems) or "all guards hold")
    print(f"{time.perf_counter() - began:.0f} s")
    return 1 if problems else 0


def runs(
    measures: Sequence[Measure], quick: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run what counts on all cores, then what takes time, one after the other."""
    counting = [each for each in measures if not each.timed]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        ran = pool.map(lambda each: run(each, quick), counting)
        yield from ((each.name, told) for each, told in zip(counting, ran, strict=True))
    for each in measures:
        if each.timed:
            yield each.name, run(each, quick)


def keep(found: Mapping[str, Any], some: bool) -> None:
    """Keep figures and write the page after each measure, so none is lost."""
    known = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    before = known.get("measures", {}) if some else {}
    kept = {"machine": machine(), "measures": {**before, **found}}
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    written(kept)


def written(kept: dict[str, Any]) -> int:
    """Draw the plots and write the page."""
    from plots import draw_all  # the guard runs without matplotlib

    IMAGES.mkdir(parents=True, exist_ok=True)
    figures = {
        name: told["figures"]
        for name, told in kept["measures"].items()
        if "figures" in told
    }
    drawn = draw_all(figures, IMAGES)
    old = json.loads(BEFORE.read_text(encoding="utf-8")) if BEFORE.exists() else {}
    PAGE.write_text(write_page(kept, drawn, old), encoding="utf-8")
    print(f"wrote docs/{PAGE.name} and {len(drawn)} plots")
    return 0


if __name__ == "__main__":
    sys.exit(main())
