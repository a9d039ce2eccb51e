"""Plots of the document; every one shows only figures of the run it belongs to."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from changes import mean_success

Figures = Mapping[str, Any]


def _axes(title: str, x_label: str, y_label: str) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


def _saved(figure: Any, axes: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def tokens(told: Figures, path: Path) -> None:
    """Draw prompt tokens over the length of a chain."""
    figure, axes = _axes("Prompt tokens of a chain", "steps", "prompt tokens")
    sizes = sorted(told["clean"], key=int)
    for name in told["clean"][sizes[0]]:
        values = [told["clean"][size][name]["tokens"] for size in sizes]
        axes.plot(list(map(int, sizes)), values, marker="o", label=name)
    floors = [told["floor"][size] for size in sizes]
    axes.plot(list(map(int, sizes)), floors, "k--", label="floor")
    axes.set_yscale("log")
    _saved(figure, axes, path)


def overhead(told: Figures, path: Path) -> None:
    """Draw processor time a step over the number of steps, chains only."""
    figure, axes = _axes("Cost of a no-op step, chain", "steps", "CPU ms a step")
    for keeper, style in (("memory", "-"), ("sqlite", "--")):
        rows = [
            c for c in told["cases"] if (c["shape"], c["keeper"]) == ("chain", keeper)
        ]
        for name in ("mendgraph", "create_agent", "two_loops", "langgraph"):
            have = [row for row in rows if name in row]
            steps = [row["steps"] for row in have]
            costs = [row[name]["cpu_ms"] for row in have]
            axes.plot(steps, costs, style, marker="o", label=f"{name}, {keeper}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    _saved(figure, axes, path)


def recovery(told: Figures, path: Path) -> None:
    """Draw success by agent and error rate of the model, hopeless faults left out."""
    figure, axes = _axes("Success under faults", "error rate q of the model", "success")
    qs = sorted(told["grid"], key=float)
    names = list(next(iter(told["grid"][qs[0]].values())))
    for name in names:
        means = [mean_success(told["grid"][q], name) for q in qs]
        axes.plot(list(map(float, qs)), means, marker="o", label=name)
    axes.set_ylim(-0.02, 1.04)
    _saved(figure, axes, path)


def state_size(told: Figures, path: Path) -> None:
    """Draw checkpoint kilobytes a step over the number of steps."""
    figure, axes = _axes("Checkpoints with 1 MB outputs", "steps", "kB a step")
    sizes = sorted(told["sizes"], key=int)
    values = [told["sizes"][size]["checkpoint_kb"] for size in sizes]
    axes.plot(list(map(int, sizes)), values, marker="o")
    axes.set_ylim(bottom=0)
    _saved(figure, axes, path)


PLOTS: Mapping[str, Callable[[Figures, Path], None]] = {
    "tokens": tokens,
    "overhead": overhead,
    "recovery": recovery,
    "state_size": state_size,
}
"""Measure → its plot."""


def draw_all(figures: Mapping[str, Figures], folder: Path) -> dict[str, str]:
    """Draw what can be drawn; return measure → file name."""
    drawn = {}
    for name, draw in PLOTS.items():
        if name in figures:
            drawn[name] = f"bench-{name.replace('_', '-')}.png"
            draw(figures[name], folder / drawn[name])
    return drawn
