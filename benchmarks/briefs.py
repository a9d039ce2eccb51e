"""Measures told in one small table each: what a figure means, and the figure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tables import table

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class BriefTable:
    """One section: a heading, what is behind it, and the figures by their path."""

    title: str
    note: str
    rows: tuple[tuple[str, str], ...]
    """What it means → path into the figures, parts parted by `/`."""


BRIEFS: Mapping[str, BriefTable] = {
    "replan": BriefTable(
        "Tokens of a local replan",
        "Prompt tokens of a local replan over those of a global one; the plan has"
        " failed at 60 % of its steps.",
        tuple((f"{size} steps", f"ratio_{size}") for size in (10, 20, 50, 100)),
    ),
    "monitor": BriefTable(
        "Latency of the monitor and of rules",
        "All checks of a result of 100 KB; a rule out of 1,000.",
        (
            ("monitor, p50, ms", "monitor_p50_ms"),
            ("monitor, p99, ms", "monitor_p99_ms"),
            ("finding a rule, p99, µs", "rule_lookup_p99_us"),
            ("a rule before the call, p99, µs", "rule_early_p99_us"),
            ("applying a rule, p50, µs", "rule_applied_p50_us"),
            ("a rule with a macro over 1,000 rows, p50, ms", "macro_over_rows_p50_ms"),
        ),
    ),
    "retrieval": BriefTable(
        "Retrieval of lessons",
        "Share of questions whose lesson is among the first five of 10,000; offline"
        " hashing embedder. Both pulls: those of the planner, with the task and with"
        " its draft, merged into five.",
        (
            ("keywords alone", "table/all/keyword/hit@5"),
            ("vectors alone", "table/all/vector/hit@5"),
            ("hybrid", "table/all/hybrid/hit@5"),
            ("hybrid, asked with an error", "table/error/hybrid/hit@5"),
            ("hybrid, asked with a task", "table/task/hybrid/hit@5"),
            ("hybrid, both pulls", "hit5_both_pulls_merged"),
            ("p50, ms", "p50_ms"),
        ),
    ),
    "attribution": BriefTable(
        "Attribution of failures",
        "120 injected failures on real tools. Causes come from a scripted double that"
        " errs, not from a model: this shows what verification does with them.",
        (
            ("accuracy of rules alone", "accuracy"),
            ("macro F1", "macro_f1"),
            ("macro F1 of always naming the commonest", "majority_macro_f1"),
            ("F1, plan errors", "f1/plan_error"),
            ("F1, execution errors", "f1/execution_error"),
            ("F1, environment errors", "f1/env_error"),
            ("F1, requirement errors", "f1/requirement_error"),
            ("wrong corrections without verification", "false_corrections_without"),
            ("wrong corrections with it", "false_corrections_with"),
            ("right corrections it stopped", "right_ones_stopped"),
        ),
    ),
    "learning": BriefTable(
        "Learning over 300 tasks",
        "Recurring faults on real tools; the model is a scripted double that is wrong"
        " in 15 % of its answers.",
        (
            ("model calls a fault, first third", "calls_per_fault_first_third"),
            ("model calls a fault, last third", "calls_per_fault_last_third"),
            ("the same on tasks of other seeds", "calls_per_fault_other_seeds"),
            ("tasks done", "done_share"),
            ("rules that fired on sound calls", "false_fire_rate"),
            ("rules distilled", "rules"),
        ),
    ),
    "exactly_once": BriefTable(
        "Exactly once under SIGKILL",
        "A payment service of its own with faults; workers are killed at random and"
        " resumed. `python benchmarks/exactly_once.py --runs 500` is the long run.",
        (
            ("runs", "runs"),
            ("paid exactly once", "exactly_once"),
            ("paid twice", "double"),
            ("lost", "lost"),
            ("kills", "kills"),
        ),
    ),
}
"""Measure → its section."""


def brief(name: str, told: Figures) -> str:
    """Return the section of a measure that has a table here.

    Raises:
        KeyError: A figure is not there any more.
    """
    about = BRIEFS[name]
    rows = [[what, _shown(_at(told, path))] for what, path in about.rows]
    return f"## {about.title}\n\n{about.note}\n\n{table(['figure', 'value'], rows)}"


def _at(told: Any, path: str) -> Any:
    for part in path.split("/"):
        told = told[part]
    return told


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
