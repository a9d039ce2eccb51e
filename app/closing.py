"""How a run ended, in figures and words, from whatever its caller holds."""

from collections.abc import Iterable, Mapping
from typing import Any

from mendgraph.report.model import view
from mendgraph.report.records import Figure, Item, RunView
from mendgraph.report.words import duration, number
from mendgraph.state.outcome import StepStatus
from mendgraph.state.record import Record

SUMMED = (
    "Steps in the plan",
    "Executions",
    "Corrections",
    "Tier 1 retries",
    "Tier 2 retries",
    "Tier 3 fallbacks",
    "Replans",
    "Model calls",
    "Tokens",
    "Correction amplification",
    "Time",
)
"""Figures of a view that belong to the end of a run, in this order."""

REPORTED: tuple[tuple[str, str], ...] = (
    ("Steps in the plan", "steps"),
    ("Executions", "executions"),
    ("Corrections", "corrections"),
    ("Replans", "replans"),
    ("Model calls", "model_calls"),
    ("Tokens", "tokens"),
)
"""(label, key of the run's own report)."""


class Closing(Record):
    """What is printed when a run is over."""

    headline: str
    warnings: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    unfinished: tuple[Item, ...] = ()
    answer: str = ""


def closing(result: Mapping[str, Any] | RunView) -> Closing:
    """Return how a run ended.

    Args:
        result: A view, the thread's state values, or what `invoke` returned, which has
            the run's own report and no plan.
    """
    if isinstance(result, RunView):
        return _of_view(result)
    if result.get("plan") or not result.get("report"):
        return _of_view(view(result))
    return _of_report(result, result["report"])


def _of_view(run: RunView) -> Closing:
    figures = {figure.label: figure for figure in run.figures}
    return Closing(
        headline=run.verdict.headline,
        warnings=run.verdict.warnings,
        figures=tuple(figures[label] for label in SUMMED),
        unfinished=run.verdict.unfinished,
        answer=run.answer,
    )


def _of_report(result: Mapping[str, Any], report: Mapping[str, Any]) -> Closing:
    done, steps = len(report.get("done") or ()), report.get("steps", 0)
    status = str(result.get("status") or "unknown")
    stopped = report.get("stopped_by")
    return Closing(
        headline=f"{status.capitalize()}: {done} of {steps} steps done",
        warnings=(f"Stopped: {stopped}",) if stopped and status != "done" else (),
        figures=tuple(_reported(report)),
        unfinished=tuple(
            Item(
                step_id=str(each["step_id"]),
                status=StepStatus(each["status"]),
                why=str(each["why"]),
            )
            for each in report.get("not_done") or ()
        ),
        answer=str(result.get("answer") or ""),
    )


def _reported(report: Mapping[str, Any]) -> Iterable[Figure]:
    for label, key in REPORTED:
        if key in report:
            yield Figure(label=label, value=number(report[key]))
    for tier, count in (report.get("retries") or {}).items():
        yield Figure(label=f"Retries of {tier}", value=number(count))
    if report.get("caf") is not None:
        yield Figure(label="Correction amplification", value=f"{report['caf']:.2f}")
    if report.get("seconds") is not None:
        yield Figure(label="Time", value=duration(report["seconds"]))
