"""Before and after: an older commit's figures beside those of this run."""

from collections.abc import Callable, Mapping
from typing import Any

from tables import table

Figures = Mapping[str, Any]


def changes(figures: Mapping[str, Figures], before: Figures) -> str:
    """Show what improvements changed: an older commit beside this one."""
    old = {n: told["figures"] for n, told in before.get("measures", {}).items()}
    rows = [
        [what, f"{was:.3g}", f"{now:.3g}"]
        for name, pick in CHANGED.items()
        if name in old and name in figures
        for (what, was), (_, now) in zip(
            pick(old[name]), pick(figures[name]), strict=True
        )
    ]
    if not rows:
        return ""
    told = (
        f"Commit `{before['commit']}` measured with the scripts of today, same machine."
    )
    return (
        f"## Before and after\n\n{told}\n\n{table(['figure', 'before', 'now'], rows)}"
    )


def _overhead_changes(told: Figures) -> list[tuple[str, float]]:
    rows = [c for c in told["cases"] if c["steps"] == 100]
    return [
        (f"{what}, {case['shape']}, {case['keeper']}, 100 steps", float(value))
        for case in rows
        for what, value in (
            ("CPU a step / two empty loops", case["of_two_loops"]["cpu_ms"]["median"]),
            ("bytes a step", case["mendgraph"]["disk"]),
        )
        if value
    ]


def _tokens_changes(told: Figures) -> list[tuple[str, float]]:
    return [
        (f"prompt tokens / floor, chain of {size}", row["mendgraph"]["of_floor"])
        for size, row in told["clean"].items()
    ]


def _makespan_changes(told: Figures) -> list[tuple[str, float]]:
    return [(f"makespan / bound, {what}", told[what]) for what in ("median", "worst")]


def _recovery_changes(told: Figures) -> list[tuple[str, float]]:
    return [
        (f"success under faults, q = {q}", mean_success(groups, "mendgraph"))
        for q, groups in told["grid"].items()
    ]


def mean_success(groups: Figures, name: str) -> float:
    """Return the share of runs under faults in which an agent succeeded."""
    cells = [r[name] for g, r in groups.items() if g not in NOT_COUNTED]
    return sum(c["success"] * c["runs"] for c in cells) / sum(c["runs"] for c in cells)


NOT_COUNTED = frozenset({"explicit hopeless", "held-out kinds"})
"""Nobody can mend the first; the second are among the other groups."""
CHANGED: Mapping[str, Callable[[Figures], list[tuple[str, float]]]] = {
    "overhead": _overhead_changes,
    "tokens": _tokens_changes,
    "makespan": _makespan_changes,
    "recovery": _recovery_changes,
}
