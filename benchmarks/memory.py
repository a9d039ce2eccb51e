"""Does the agent's memory grow with the data its tools work on?

The demo (PV/UV of a log table in a real PostgreSQL) runs in a process of its own with
few and with ten times as many rows; the peak of that process is compared. The server is
another process and is not counted.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import end, quick_wanted, show

ROWS = (200_000, 2_000_000)
QUICK = (50_000, 500_000)
CHILD = "--one"


def one(rows: int) -> int:
    """Run the demo in this process; print its peak in kilobytes."""
    from mendgraph.demo.run import main as demo

    with tempfile.TemporaryDirectory() as folder:
        code = demo(Path(folder) / "demo", rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"rows": rows, "peak_kb": peak, "code": code}))
    return code


def child(rows: int) -> dict[str, int]:
    """Run the demo in a process of its own and return what it measured."""
    done = subprocess.run(
        [sys.executable, __file__, CHILD, str(rows)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the demo failed: {(done.stdout + done.stderr)[-2_000:]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main(quick: bool) -> int:
    """Measure, print a table and one line of JSON."""
    few, many = map(child, QUICK if quick else ROWS)
    ratio = round(many["peak_kb"] / few["peak_kb"], 3)
    rows = [[f"{t['rows']:,}", round(t["peak_kb"] / 1_024)] for t in (few, many)]
    show(f"peak of the agent's process, ratio {ratio}", ["rows", "MB"], rows)
    end("memory", {"ratio": ratio, "few": few, "many": many})
    return 0


if __name__ == "__main__":
    if CHILD in sys.argv:
        sys.exit(one(int(sys.argv[-1])))
    sys.exit(main(quick_wanted(__doc__)))
