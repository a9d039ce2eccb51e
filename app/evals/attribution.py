"""Measure how failures are attributed (`mendgraph eval attribution`, F33).

A labelled set of 120 failures is built on the fly from real tools: the cause was injected,
so the truth is known. Measured are the rules' categories beside two baselines, and how
many corrections follow a wrong cause with and without the verification that the band of
0.6 to 0.8 asks for. There the causes come from a double that errs in a known share; what
catches its errors are real probes. The document's figures are 23 % and 9 % (section 6.3).
"""

import asyncio
import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console
from rich.table import Table

from mendgraph.evals.guesser import LABEL, Guess, Guesser
from mendgraph.evals.injected import Injected, injected_set
from mendgraph.evals.injected_world import World, opened
from mendgraph.evals.scores import Pair, baselines, confusions, scores, summary
from mendgraph.graph.build import create_mend_agent
from mendgraph.state.failure import Category, Subclass
from mendgraph.state.lesson import Reflection
from mendgraph.state.limits import Limits
from mendgraph.state.policy import AuthRule
from mendgraph.tools.doubles.scripted import ScriptedModel

CONSTANT = str(Category.EXECUTION)
SURE, DOUBTFUL = 0.95, 0.7
"""What a cause is worth by the recorded outcomes: acted on at once, or verified first."""
RECORDED = 200
"""Outcomes recorded beforehand, so that the confidence is calibrated to that worth."""
STATED = 0.7
DOCUMENT = {"without": 0.23, "with": 0.09}


def main(path: Path | str | None = None, as_json: bool = False) -> None:
    """Print the measures: tables for people, or one line of JSON.

    Args:
        path: A folder to build the set in and to keep it; a temporary one by default.
        as_json: One line of JSON instead of tables.
    """
    report = evaluate(path)
    if as_json:
        print(json.dumps(report, ensure_ascii=False))  # noqa: T201  the JSON is the output
        return
    console = Console()
    for table in (_by_category(report), _overall(report), _corrections(report)):
        console.print(table)
    console.print(report["false_corrections"]["causes_from"], style="dim")


def evaluate(
    path: Path | str | None = None, limit: int | None = None
) -> dict[str, Any]:
    """Return the measures on the labelled set.

    Args:
        path: A folder to build the set in; a temporary one by default.
        limit: Take so many failures only, spread over the categories.
    """
    if path is not None:
        return _measured(Path(path), limit)
    with tempfile.TemporaryDirectory() as place:
        return _measured(Path(place) / "world", limit)


def _measured(folder: Path, limit: int | None) -> dict[str, Any]:
    cases = _spread(list(injected_set()), limit)
    with opened(folder) as world:
        pairs = [attributed(world, case) for case in cases]
        trusting = [corrected(world, c, n, SURE) for n, c in enumerate(cases)]
        verified = [corrected(world, c, n, DOUBTFUL) for n, c in enumerate(cases)]
    return {
        "n": len(pairs),
        **summary(pairs),
        "categories": scores(pairs),
        "baselines": baselines(pairs, CONSTANT),
        "confusions": confusions(pairs),
        "false_corrections": {
            "without_verification": _false(trusting),
            "with_verification": _false(verified),
            "right_ones_stopped": _stopped(verified),
            "document": DOCUMENT,
            "causes_from": LABEL,
        },
    }


def _spread(cases: list[Injected], limit: int | None) -> list[Injected]:
    return cases if limit is None else cases[:: max(1, len(cases) // limit)][:limit]


def attributed(world: World, case: Injected) -> Pair:
    """Run a failure without a model; return its true category and the rules'."""
    state = run_case(world, case, None, None)
    return str(case.category), _category(state)


def _category(state: dict[str, Any]) -> str:
    """Return the category that the record of the failed step names."""
    for record in state["steps"].values():
        if record["failure"]:
            return str(record["failure"]["classification"]["category"])
    return str(Category.NONE)


def corrected(world: World, case: Injected, number: int, worth: float) -> "Judged":
    """Let the double name a cause of a certain worth; return what was done about it."""
    guess = Guess.of(case, number)
    state = run_case(world, case, ScriptedModel(script=Guesser(guess)), worth)
    deep = (Reflection.model_validate(r) for r in state["reflections"])
    first = next((each for each in deep if not each.light), None)
    done = first is not None and first.decision is guess.decision
    return guess.right, done


Judged = tuple[bool, bool]
"""Whether the cause was the injected one, and whether its correction was directed."""


def _false(judged: Sequence[Judged]) -> float:
    """Return the share of failures after which a wrong cause was acted on."""
    return round(sum(not right and done for right, done in judged) / len(judged), 4)


def _stopped(judged: Sequence[Judged]) -> float:
    """Return the share after which a right cause was not acted on."""
    return round(sum(right and not done for right, done in judged) / len(judged), 4)


def run_case(
    world: World, case: Injected, model: Any, worth: float | None
) -> dict[str, Any]:
    """Run one failure to its end; return the last state of the thread."""
    kit = world.toolkit()
    agent = create_mend_agent(
        model,
        tools=kit.tools,
        policies=kit.policies,
        assume="read",
        authorise=[AuthRule(tool="*", decision="allow")],
        checkpointer=InMemorySaver(),
        seeded=False,
        sleep=_no_wait,
        limits=Limits(clarifications=0, retries=4, replans=0),
    )
    if worth is not None:
        _calibrate(agent, worth)
    config: Any = {"configurable": {"thread_id": "case"}}
    given = {"task": case.name, "plan": {"steps": [dict(s) for s in case.steps]}}
    agent.invoke(given, config)
    return dict(agent.get_state(config).values)


async def _no_wait(_seconds: float) -> None:
    await asyncio.sleep(0)


def _calibrate(agent: Any, worth: float) -> None:
    """Record outcomes, so that the stated confidence is worth this much."""
    library = agent.held.deps.library(agent.held.deps.store)
    asyncio.run(library.ensure())
    for category, subclass in itertools.product(Category, Subclass):
        for number in range(RECORDED):
            right = number < worth * RECORDED
            library.calibration.record(str(category), str(subclass), STATED, right)


def _by_category(report: dict[str, Any]) -> Table:
    table = Table("category", "n", "precision", "recall", "F1", title="by rules alone")
    for name, each in report["categories"].items():
        shares = [f"{each[key]:.2f}" for key in ("precision", "recall", "f1")]
        table.add_row(name, str(each["n"]), *shares)
    return table


def _overall(report: dict[str, Any]) -> Table:
    table = Table("attribution", "accuracy", "mean F1", title="beside baselines")
    rows = {"the rules": report, **report["baselines"]}
    for name, each in rows.items():
        table.add_row(name, f"{each['accuracy']:.2f}", f"{each['macro_f1']:.2f}")
    return table


def _corrections(report: dict[str, Any]) -> Table:
    told = report["false_corrections"]
    table = Table("false corrections", "measured", "document")
    for name in ("without", "with"):
        value, anchor = told[f"{name}_verification"], told["document"][name]
        table.add_row(f"{name} verification", f"{value:.1%}", f"{anchor:.0%}")
    table.add_row("right causes stopped by it", f"{told['right_ones_stopped']:.1%}", "")
    return table
