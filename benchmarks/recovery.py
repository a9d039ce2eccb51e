"""Which faults does each agent recover from, at what price, and does it ever lie?

Every agent meets the same tasks, faults and luck. Success is judged against the world,
not against the agent's word. Controls come first: they must hold or the run fails.
"""

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from measure import end, quick_wanted, show
from peers import PEERS
from peers.base import Result, carry_out
from simulated.mind import Luck

from mendgraph.bench.cases import NONE, Case, cases
from mendgraph.bench.faults import seeds
from mendgraph.bench.tasks import SHAPES, make

QS = (0.0, 0.1, 0.3)
QUICK_PEERS = ("mendgraph", "create_agent best", "null")
NO_MODEL = frozenset({"bare LangGraph", "null"})


def share(results: Sequence[Result], what: str) -> float:
    """Return the mean of a figure over runs."""
    return sum(float(getattr(each, what)) for each in results) / len(results)


def told_of(results: Sequence[Result]) -> dict[str, Any]:
    """Return the figures of a cell."""
    won = sum(each.success for each in results)
    return {
        "runs": len(results),
        "success": round(share(results, "success"), 4),
        "false_success": sum(each.false_success for each in results),
        "truthful": round(share(results, "truthful"), 4),
        "model_calls": round(share(results, "model_calls"), 2),
        "prompt_tokens": round(share(results, "prompt_tokens")),
        "tool_calls": round(share(results, "tool_calls"), 2),
        "wasted_per_success": round(sum(r.wasted for r in results) / max(1, won), 4),
        "duplicates": sum(each.duplicates for each in results),
        "most_at_hopeless": max(each.at_hopeless for each in results),
        "raised": sum(bool(each.error) for each in results),
    }


async def one(name: str, case: Case, q: float) -> Result:
    """Run one case with one agent."""
    luck = Luck(case.seed, q)
    return await carry_out(PEERS[name], case.task, case.faults, luck)


def controls(names: Sequence[str], count: int) -> dict[str, dict[str, float]]:
    """Return success without faults at q = 0 and at q = 1, per agent."""
    tasks = [make(s, seed) for seed in seeds()[:count] for s in SHAPES]
    found: dict[str, dict[str, float]] = {name: {} for name in names}
    for label, q in (("perfect", 0.0), ("hopeless", 1.0)):
        for name in names:
            runs = [
                asyncio.run(one(name, Case(t, NONE, "", 0, held_out=False), q))
                for t in tasks
            ]
            found[name][label] = share(runs, "success")
    return found


def broken(found: dict[str, dict[str, float]]) -> list[str]:
    """Return which controls do not hold."""
    wrong = []
    for name, told in found.items():
        if name == "null" and max(told.values()) > 0:
            wrong.append("the null agent succeeded")
        if name != "null" and told["perfect"] < 1.0:
            wrong.append(f"{name} fails without faults: {told['perfect']:.0%}")
        if name not in NO_MODEL and told["hopeless"] > 0.0:
            wrong.append(f"{name} succeeds with a model that is always wrong")
    return wrong


def grid(names: Sequence[str], runs: int, qs: Sequence[float]) -> dict[str, Any]:
    """Run the grid, agents in turn on every case; return cells by q, group, agent."""
    found: dict[str, dict[str, dict[str, list[Result]]]] = {}
    for q in qs:
        for case in cases(runs):
            for name in names:
                cell = found.setdefault(str(q), {}).setdefault(case.group, {})
                cell.setdefault(name, []).append(asyncio.run(one(name, case, q)))
                if case.held_out and case.group != "explicit hopeless":
                    held = found[str(q)].setdefault("held-out kinds", {})
                    held.setdefault(name, []).append(cell[name][-1])
    return {
        q: {g: {n: told_of(r) for n, r in row.items()} for g, row in groups.items()}
        for q, groups in found.items()
    }


def table(q: str, groups: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Print one q: success, with false successes and model calls beside it."""
    names = list(next(iter(groups.values())))
    rows = [
        [
            group,
            row[names[0]]["runs"],
            *(
                f"{row[n]['success']:.0%} f{row[n]['false_success']} "
                f"c{row[n]['model_calls']:.1f} w{row[n]['wasted_per_success']:.2f}"
                for n in names
            ),
        ]
        for group, row in groups.items()
    ]
    title = f"q = {q}: success, f false successes, c model calls, w wasted per success"
    show(title, ["faults", "runs", *names], rows)


def main(quick: bool) -> int:
    """Check the controls, run the grid, print tables and one line of JSON."""
    names = QUICK_PEERS if quick else tuple(PEERS)
    checked = controls(names, 1)
    problems = broken(checked)
    if problems:
        print("\n".join(f"control broken: {each}" for each in problems))
        return 1
    found = grid(names, 1 if quick else 2, (0.0, 0.3) if quick else QS)
    for q, groups in found.items():
        table(q, groups)
    end("recovery", {"controls": checked, "grid": found})
    return 0


if __name__ == "__main__":
    sys.exit(main(quick_wanted(__doc__)))
