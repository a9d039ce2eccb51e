"""How many more model calls does one correction cost (CAF), and which strategy mends?

The faults come in the mixture of the adaptive planning document: 45 % transient, 30 %
arguments, 15 % that need another step, 7 % that need the alternative, 3 % that end a
whole service. CAF = model calls made to correct / corrections; beside it, for every
agent, model calls with faults / without.
"""

import asyncio
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from measure import end, quick_wanted, show
from peers import PEERS
from peers.base import Result, carry_out
from simulated.mind import Luck

from mendgraph.bench.cases import NONE
from mendgraph.bench.faults import Kind, kinds, schedule
from mendgraph.bench.tasks import Task, make

MIX: tuple[tuple[float, str, tuple[str, ...]], ...] = (
    (0.45, "transient", ("http_503", "http_429", "timeout", "reset")),
    (0.30, "arguments", ("form_422", "form_400")),
    (0.15, "another step", ("gone_derive",)),
    (0.07, "alternative", ("http_410",)),
    (0.03, "whole service", ("shut",)),
)
"""Share, name and kinds of the document's mixture (5.3)."""
DOCUMENT = {
    "tier1": ("~1 s", "0", "68 %", "45 %"),
    "tier2": ("~3.5 s", "~800", "82 %", "30 %"),
    "local_replan": ("~6 s", "~2000", "76 %", "15 %"),
    "tier3": ("~2 s", "0", "91 %", "7 %"),
    "global_replan": ("~12 s", "~5000", "88 %", "3 %"),
}
"""Strategy → latency, tokens, success and frequency as the document states them."""
MODEL_PEERS = (
    "mendgraph",
    "create_agent best",
    "deepagents",
    "plan-and-execute",
    "LLMCompiler-style",
)
SHAPES = ("chain", "diamond")


def drawn(count: int, seed: int) -> list[tuple[str, Kind]]:
    """Return `count` faults in exactly the document's shares, shuffled by the seed."""
    rng, known = random.Random(seed), kinds()
    found: list[tuple[str, Kind]] = []
    for part, name, names in MIX:
        found += [
            (name, known[names[i % len(names)]]) for i in range(round(part * count))
        ]
    rng.shuffle(found)
    return found


def task_of(number: int) -> Task:
    """Return the task of a run."""
    return make(SHAPES[number % len(SHAPES)], 100 + number)


def strategy_of(result: Result) -> str:
    """Return the furthest strategy an agent's trail shows, by what really happened."""
    report = result.extra["report"]
    if report["replans"]:
        return "global_replan" if result.extra["planned_again"] else "local_replan"
    used = [tier for tier, count in report["retries"].items() if count]
    return max(used, default="none")


async def pair(name: str, number: int, kind: Kind, q: float) -> tuple[Result, Result]:
    """Run one task with a fault and without."""
    task, luck = task_of(number), Luck(number, q)
    faults = schedule(task, [kind], number)
    return (
        await carry_out(PEERS[name], task, faults, luck),
        await carry_out(PEERS[name], task, NONE, luck),
    )


def strategies(runs: Sequence[tuple[Result, Result]]) -> dict[str, dict[str, Any]]:
    """Return per strategy: latency and tokens over the same run without the fault."""
    found: dict[str, list[tuple[Result, Result]]] = defaultdict(list)
    for hit, clean in runs:
        found[strategy_of(hit)].append((hit, clean))
    return {
        name: {
            "runs": len(rows),
            "latency_s": round(
                _mean(h.simulated_s - c.simulated_s for h, c in rows), 2
            ),
            "tokens": round(_mean(_tokens(h) - _tokens(c) for h, c in rows)),
            "success": round(_mean(float(h.success) for h, _ in rows), 3),
            "frequency": round(len(rows) / len(runs), 3),
        }
        for name, rows in sorted(found.items())
    }


def _tokens(result: Result) -> int:
    return result.prompt_tokens + result.completion_tokens


def _mean(values: Any) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def ours(runs: Sequence[tuple[str, Result, Result]]) -> dict[str, Any]:
    """Return the CAF over all runs and by part of the mixture."""
    calls: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for name, hit, _ in runs:
        spent = hit.extra["report"]["spent"]
        for key in (name, "all"):
            calls[key] += spent["correction_model_calls"]
            done[key] += hit.extra["report"]["corrections"]
    return {key: round(calls[key] / max(1, done[key]), 3) for key in done}


def ratio(runs: Sequence[tuple[str, Result, Result]]) -> dict[str, float]:
    """Return model calls with faults over those without, and success with faults."""
    hit = sum(h.model_calls for _, h, _ in runs)
    clean = sum(c.model_calls for _, _, c in runs)
    more = (hit - clean) / len(runs)
    success = _mean(float(h.success) for _, h, _ in runs)
    tokens = sum(_tokens(h) for _, h, _ in runs) / sum(_tokens(c) for _, _, c in runs)
    return {
        "calls_ratio": round(hit / clean, 3),
        "tokens_ratio": round(tokens, 3),
        "more_calls_per_fault": round(more, 3),
        "calls_without": round(clean / len(runs), 2),
        "success": round(success, 4),
    }


def measure(names: Sequence[str], count: int) -> dict[str, Any]:
    """Run the mixture with every agent in turn."""
    found: dict[str, list[tuple[str, Result, Result]]] = {name: [] for name in names}
    for number, (part, kind) in enumerate(drawn(count, seed=5)):
        for name in names:
            hit, clean = asyncio.run(pair(name, number, kind, 0.0))
            found[name].append((part, hit, clean))
    mended = [(hit, clean) for _, hit, clean in found["mendgraph"]]
    return {
        "runs": len(mended),
        "caf": ours(found["mendgraph"]),
        "strategies": strategies(mended),
        "agents": {name: ratio(rows) for name, rows in found.items()},
    }


def report(figures: dict[str, Any]) -> None:
    """Print what was measured beside what the document states."""
    rows = [
        [n, *(figures["strategies"].get(n) or {}).values(), *map(str, said)]
        for n, said in DOCUMENT.items()
        if n in figures["strategies"]
    ]
    head = ["strategy", "runs", "latency s", "tokens", "success", "frequency"]
    stated = ["latency", "tokens", "success", "frequency"]
    show("strategies beside the document (5.3)", [*head, *stated], rows)
    agents = [[name, *told.values()] for name, told in figures["agents"].items()]
    columns = list(next(iter(figures["agents"].values())))
    show("the same faults for every agent", ["agent", *columns], agents)
    show("CAF by part of the mixture", ["part", "CAF"], list(figures["caf"].items()))


def main(quick: bool) -> int:
    """Measure, print tables and one line of JSON."""
    names = MODEL_PEERS[:2] if quick else MODEL_PEERS
    figures = measure(names, 20 if quick else 100)
    report(figures)
    end("caf", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main(quick_wanted(__doc__)))
