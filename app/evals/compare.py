"""Does more compute pay? Five ways on one task set (`mendgraph eval compare`, F60)."""

import asyncio
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from mendgraph.evals.answerers import DOUBLES, DoubleAsker, Habits
from mendgraph.evals.ways import WAYS, Tally, Task
from mendgraph.state.record import Record
from mendgraph.tools.cel import RuleError, compile_rule

REPEATS = 10
"""Times the whole set is answered, each time with other dice."""
SEED = 2_024
NOTE = (
    "The answers are scripted doubles with known error rates, not models: the table "
    "shows what such rates come to, not how good any model is."
)


class TaskSet(Record):
    """A file of tasks with prices and the loss of a wrong answer."""

    about: str = ""
    unit: str = "cents"
    prices: dict[str, float]
    loss_per_error: float = Field(ge=0)
    """What a wrong answer, or none, costs."""
    tasks: tuple[Task, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Trial:
    """One task answered one way."""

    right: bool
    silent: bool
    """It gave no answer rather than one it does not stand by."""
    seconds: float
    calls: int
    cost: float


def read_tasks(path: Path | str | None = None) -> TaskSet:
    """Return a task set; the shipped one when no path is given.

    Raises:
        ValueError: It cannot be read; the text says where it is wrong.
    """
    shipped = files("mendgraph.evals").joinpath("compare_tasks.json")
    source = shipped if path is None else Path(path)
    try:
        found = TaskSet.model_validate_json(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise ValueError(f"{path}: {where}: {fault['msg']}") from error
    _check_rules(found, str(path))
    return found


def _check_rules(found: TaskSet, path: str) -> None:
    for task in found.tasks:
        for rule in task.rules:
            try:
                compile_rule(rule)
            except RuleError as error:
                raise ValueError(f"{path}: task {task.id}: {error}") from error
        if task.share_kept(task.answer) < 1:
            raise ValueError(f"{path}: task {task.id}: its answer breaks its own rules")


def evaluate(path: Path | str | None = None, repeats: int = REPEATS) -> dict[str, Any]:
    """Answer every task in every way with both doubles.

    Returns:
        `rows` with success rate (0..1), seconds (p50, p95), calls and cost a task, cost
        per success, and whether it pays against a single call.

    Raises:
        ValueError: The task set cannot be read.
    """
    tasks = read_tasks(path)
    rows = [row for habits in DOUBLES for row in _compare(habits, tasks, repeats)]
    return {
        "tasks": len(tasks.tasks),
        "repeats": repeats,
        "unit": tasks.unit,
        "loss_per_error": tasks.loss_per_error,
        "note": NOTE,
        "rows": rows,
    }


def _compare(habits: Habits, tasks: TaskSet, repeats: int) -> list[dict[str, Any]]:
    trials = {way: _trials(way, habits, tasks, repeats) for way in WAYS}
    single = trials[next(iter(WAYS))]
    return [
        {
            "model": habits.name,
            "way": way,
            **_figures(made),
            **_worth(made, single, tasks.loss_per_error),
        }
        for way, made in trials.items()
    ]


def _trials(way: str, habits: Habits, tasks: TaskSet, repeats: int) -> list[Trial]:
    dice = random.Random(f"{SEED}:{habits.name}:{way}")  # noqa: S311  reproducible
    asker = DoubleAsker(habits, dice)
    return asyncio.run(_all(way, asker, tasks, repeats))


async def _all(
    way: str, asker: DoubleAsker, tasks: TaskSet, repeats: int
) -> list[Trial]:
    return [
        await _one(way, asker, task, tasks.prices)
        for _ in range(repeats)
        for task in tasks.tasks
    ]


async def _one(
    way: str, asker: DoubleAsker, task: Task, prices: Mapping[str, float]
) -> Trial:
    tally = Tally()
    answer = await WAYS[way](task, asker, tally)
    read = sum(said.prompt_tokens for said in tally.said)
    wrote = sum(said.completion_tokens for said in tally.said)
    cost = read * prices["prompt_per_million"]
    cost += wrote * prices["completion_per_million"]
    calls = len(tally.said)
    return Trial(
        answer == task.answer, answer is None, tally.seconds, calls, cost / 1e6
    )


def _figures(made: Sequence[Trial]) -> dict[str, float | None]:
    right, cost = sum(trial.right for trial in made), sum(trial.cost for trial in made)
    return {
        "success": round(right / len(made), 4),
        "no_answer": round(sum(trial.silent for trial in made) / len(made), 4),
        "p50_s": round(quantile((trial.seconds for trial in made), 0.5), 2),
        "p95_s": round(quantile((trial.seconds for trial in made), 0.95), 2),
        "calls": round(sum(trial.calls for trial in made) / len(made), 2),
        "cost": round(cost / len(made), 5),
        "cost_per_success": round(cost / right, 5) if right else None,
    }


def _worth(
    made: Sequence[Trial], single: Sequence[Trial], loss: float
) -> dict[str, Any]:
    """Return errors avoided, times the loss, against the extra cost, per 100 tasks."""
    scale = 100 / len(made)
    avoided = (sum(t.right for t in made) - sum(t.right for t in single)) * scale
    extra = (sum(t.cost for t in made) - sum(t.cost for t in single)) * scale
    return {
        "errors_avoided": round(avoided, 2),
        "extra_cost": round(extra, 4),
        "gain": round(avoided * loss - extra, 4),
        "pays": avoided * loss > extra,
        "pays_from_loss": round(extra / avoided, 5) if avoided > 0 else None,
    }


def quantile(values: Iterable[float], share: float) -> float:
    """Return the nearest-rank quantile."""
    ordered = sorted(values)
    rank = max(1, -int(-share * len(ordered) // 1))
    return ordered[rank - 1]


def main(path: Path | str | None, as_json: bool) -> None:
    """Print the comparison: a table for people, or one line of JSON.

    Raises:
        ValueError: The task set cannot be read.
    """
    report = evaluate(path)
    if not as_json:
        console = Console()
        for table in _tables(report):
            console.print(table)
        console.print(report["note"])
    print(json.dumps(report, ensure_ascii=False))  # noqa: T201 - the JSON is the output


COLUMNS = (
    ("right", "success", "{:.0%}"),
    ("silent", "no_answer", "{:.0%}"),
    ("p50 s", "p50_s", "{:.1f}"),
    ("p95 s", "p95_s", "{:.1f}"),
    ("asks", "calls", "{:.1f}"),
    ("cost", "cost_per_success", "{:.3f}"),
    ("saved", "errors_avoided", "{:+.1f}"),
    ("gain", "gain", "{:+.2f}"),
)
"""Head, key of a row, form; cost is per success, the last two are per 100 tasks."""


def _tables(report: Mapping[str, Any]) -> list[Table]:
    names = dict.fromkeys(row["model"] for row in report["rows"])
    loss, unit = report["loss_per_error"], report["unit"]
    what = f"{report['tasks']} tasks, {report['repeats']} times"
    return [
        _table(
            f"{name}: {what}, {loss:g} {unit} lost per error",
            [row for row in report["rows"] if row["model"] == name],
        )
        for name in names
    ]


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("way", no_wrap=True)
    for head in (*(head for head, _, _ in COLUMNS), "pays"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        shown = [
            "never" if row[key] is None else form.format(row[key])
            for _, key, form in COLUMNS
        ]
        table.add_row(row["way"], *shown, _verdict(row))
    return table


def _verdict(row: Mapping[str, Any]) -> str:
    if row["way"] == next(iter(WAYS)):
        return "-"
    return "yes" if row["pays"] else "no"
