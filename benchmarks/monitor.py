"""What does watching cost (F19, F23)?

The monitor's checks on an output of 100 KB, and looking up and applying a rule among a
thousand. Both are timed one by one, so the slowest are known, not only the mean. Timed
is the processor time of the thread: nothing here waits, so a busy machine adds nothing.
A rule with a macro over the rows converts a thousand of them; it stands by itself.
"""

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from langgraph.store.memory import InMemoryStore
from measure import quick_wanted, versions
from rich.console import Console
from rich.table import Table

from mendgraph.nodes.checks import Seen, inspect
from mendgraph.nodes.watching import deviation_of
from mendgraph.state.lesson import MendRule
from mendgraph.state.plan import Step
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.rules import RuleBook

BYTES = 100_000
OVER_ROWS = "rows, CEL macro over 1,000 rows"
RULES = 1_000
ROUNDS, QUICK_ROUNDS = 2_000, 300
WARM_UP = 50
SCHEMA = {
    "type": "object",
    "required": ["rows", "row_count"],
    "properties": {
        "row_count": {"type": "integer"},
        "rows": {"type": "array"},
    },
}


def outputs() -> dict[str, tuple[tuple[Any, ...], int]]:
    """Return results of about 100 KB in three shapes, with what the checks look at."""
    wide = [
        {"id": n, "name": f"customer {n:06d}", "total": n * 7} for n in range(1_700)
    ]
    policy = ToolPolicy(output_schema=SCHEMA, required_fields=("id", "name", "total"))
    counted = "output.row_count > 0 && size(output.rows) <= 1000"
    rule = "output.rows.all(row, row.total >= 0)"
    step = Step.model_validate(
        {
            "id": "s",
            "tool": "t",
            "required_fields": ["rows"],
            "validation_rule": "output.row_count > 0",
        }
    )
    rows = {"rows": wide, "row_count": len(wide)}
    shapes = {
        "rows, no rule": (step.but(validation_rule=None), policy, rows),
        "rows, CEL rule on the count": (step, policy, rows),
        "rows, CEL rule on sizes": (step.but(validation_rule=counted), policy, rows),
        OVER_ROWS: (step.but(validation_rule=rule), policy, rows),
        "text": (Step(id="s", tool="t"), ToolPolicy(), "x" * BYTES),
    }
    return {
        name: ((own, rules, value, {}, {}), len(json.dumps(value)))
        for name, (own, rules, value) in shapes.items()
    }


def watch(parts: tuple[Any, ...]) -> None:
    """Do what the monitor does of its own for a passing result."""
    seen = Seen(*parts)
    verdict = inspect(seen)
    if verdict.problems:
        raise RuntimeError("the measured result should pass")
    deviation_of(seen.output, verdict.null_share)


def rule_book() -> RuleBook:
    """Return a book of a thousand rules over a hundred signatures."""
    numbers = itertools.count()
    book = RuleBook(InMemoryStore(), time.time, lambda: str(next(numbers)))

    async def fill() -> None:
        for number in range(RULES):
            await book.add(
                MendRule(
                    id=f"r{number}",
                    signature=f"execution_error:param_error:tool{number % 100}",
                    condition=(
                        f"'limit' in args && error.message.contains('limit {number}')"
                    ),
                    patch={"limit": "int(args.limit) / 2"},
                )
            )

    asyncio.run(fill())
    return book


def timed(work: Callable[[], Any], rounds: int) -> list[float]:
    """Return the milliseconds of each round, those of the warm-up left out."""
    taken = []
    for number in range(rounds + WARM_UP):
        started = time.thread_time_ns()
        work()
        if number >= WARM_UP:
            taken.append((time.thread_time_ns() - started) / 1e6)
    return taken


def spread(taken: list[float]) -> dict[str, float]:
    """Return median and 99th percentile in ms."""
    cuts = statistics.quantiles(taken, n=100)
    return {"p50_ms": round(cuts[49], 4), "p99_ms": round(cuts[98], 4)}


def measured(rounds: int) -> dict[str, dict[str, float]]:
    """Return the spread of everything that is measured."""
    book = rule_book()
    signature = "execution_error:param_error:tool42"
    known = {
        "tool": "tool42",
        "args": {"limit": 10},
        "error": {"message": "limit 942 is too high"},
        "output": None,
    }
    found = {
        f"checks: {name} ({size // 1000} KB)": spread(
            timed(lambda parts=parts: watch(parts), rounds)
        )
        for name, (parts, size) in outputs().items()
    }
    found["rules: look-up of one among 1,000"] = spread(
        timed(lambda: book.lookup(signature, "query"), rounds)
    )
    found["rules: before a call"] = spread(
        timed(lambda: book.early("tool42", "query"), rounds)
    )
    found["rules: look-up and ten conditions"] = spread(
        timed(lambda: book.first_fix(signature, "query", known), rounds)
    )
    return found


def main() -> None:
    """Print a table and end with one line of JSON."""
    found = measured(QUICK_ROUNDS if quick_wanted(__doc__) else ROUNDS)
    table = Table("what", "median", "99th percentile")
    for name, each in found.items():
        table.add_row(name, f"{each['p50_ms']:.4f} ms", f"{each['p99_ms']:.4f} ms")
    Console().print(table)
    own = [n for n in found if n.startswith("checks") and OVER_ROWS not in n]
    checks = [found[name] for name in own]
    macro = next(each for name, each in found.items() if OVER_ROWS in name)
    figures = {
        "monitor_p99_ms": max(each["p99_ms"] for each in checks),
        "monitor_p50_ms": max(each["p50_ms"] for each in checks),
        "macro_over_rows_p50_ms": macro["p50_ms"],
        "rule_lookup_p99_us": 1_000
        * found["rules: look-up of one among 1,000"]["p99_ms"],
        "rule_early_p99_us": 1_000 * found["rules: before a call"]["p99_ms"],
        "rule_applied_p50_us": 1_000
        * found["rules: look-up and ten conditions"]["p50_ms"],
        "rules": RULES,
        "versions": versions(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
