"""Where another agent is better than ours, from the figures."""

from collections.abc import Mapping
from typing import Any

Figures = Mapping[str, Any]


def losses(figures: Mapping[str, Figures]) -> str:
    """Name where another agent is better than ours, from the figures."""
    lost = (_lost_tokens, _lost_recovery, _lost_overhead)
    found = [line for each in lost for line in each(figures)]
    lines = "\n".join(f"- {each}" for each in found) or "- none in this run"
    return f"## Where others are better\n\n{lines}"


def _lost_tokens(figures: Mapping[str, Figures]) -> list[str]:
    units = {"tokens": "prompt tokens", "seconds": "simulated seconds"}
    return [
        f"chain of {size}, no faults: {name} takes {other[what]} {unit}, "
        f"mendgraph {row['mendgraph'][what]}"
        for size, row in figures.get("tokens", {}).get("clean", {}).items()
        for name, other in row.items()
        for what, unit in units.items()
        if other["success"] and other[what] < row["mendgraph"][what]
    ]


def _lost_recovery(figures: Mapping[str, Figures]) -> list[str]:
    lost = []
    for q, groups in figures.get("recovery", {}).get("grid", {}).items():
        for group, row in groups.items():
            ours = row["mendgraph"]
            for name, other in row.items():
                if other["success"] > ours["success"]:
                    lost.append(
                        f"{group}, q = {q}: {name} succeeds in {other['success']:.0%}"
                        f" of the runs, mendgraph in {ours['success']:.0%}"
                    )
                fewer = 0 < other["model_calls"] < ours["model_calls"]
                if fewer and other["success"] >= ours["success"]:
                    lost.append(
                        f"{group}, q = {q}: {name} needs {other['model_calls']:.1f}"
                        f" model calls, mendgraph {ours['model_calls']:.1f}"
                    )
    return lost


def _lost_overhead(figures: Mapping[str, Figures]) -> list[str]:
    return [
        f"overhead, {case['shape']}, {case['keeper']}, {case['steps']} steps: "
        f"create_agent is {case['of_create_agent']['cpu_ms']['median']:.1f} x faster"
        for case in figures.get("overhead", {}).get("cases", ())
        if case.get("of_create_agent", {}).get("cpu_ms", {}).get("median", 0) > 1
    ]
