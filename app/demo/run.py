"""`mendgraph demo`: the PV/UV scenario on a real PostgreSQL, twice in a row.

The first run meets two real faults and mends them; the second has learned. Without a
key the planner is the shipped rehearsal, which says that it is no model.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mendgraph.demo.data import create_log_table
from mendgraph.demo.plan import TASK
from mendgraph.demo.reference import compare_csv
from mendgraph.demo.server import embedded_postgres
from mendgraph.demo.tools import demo_toolkit
from mendgraph.live import LiveView, summary

FOLDER = Path(".demo")
LIVE_MODEL = "deepseek:deepseek-flash"
KEY = "DEEPSEEK_API_KEY"


def main(
    folder: Path | None = None, rows: int = 200_000, model: str | None = None
) -> int:
    """Run the demo; return the exit code.

    Args:
        folder: Where database, results and memory go; `.demo` by default. What an
            earlier demo left there is removed, so the first run knows nothing.
        rows: Rows of the log table.
        model: A model's name; by default DeepSeek when its key is set, else rehearsal.
    """
    place = (folder or FOLDER).resolve()
    console = Console()
    chosen = _model(model, console)
    _clean(place)
    with embedded_postgres(place / "postgres") as uri:
        console.print(f"PostgreSQL is up; making {rows:,} log rows …")
        create_log_table(uri, rows)
        first = _run(place, uri, chosen, console, "first")
        second = _run(place, uri, chosen, console, "second")
    _compare(first, second, console)
    return 0 if _good(first) and _good(second) else 1


def _model(name: str | None, console: Console) -> Any:
    chosen = name or (LIVE_MODEL if os.environ.get(KEY) else None)
    if chosen:
        console.print(f"Planner: {chosen}")
        return chosen
    from mendgraph.demo.rehearsal import LABEL, RehearsalModel

    console.print(
        f"Planner: {LABEL}: written rules in the place of a model. "
        f"Set {KEY} to run the same with DeepSeek."
    )
    return RehearsalModel()


def _clean(place: Path) -> None:
    for name in ("agent", "out", "postgres"):
        shutil.rmtree(place / name, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)


def _run(
    place: Path, uri: str, model: Any, console: Console, name: str
) -> Mapping[str, Any]:
    """Run the task once on a thread of its own; return the final state."""
    from mendgraph.demo.rehearsal import RehearsalModel
    from mendgraph.graph.build import create_mend_agent
    from mendgraph.nodes.learning import REHEARSAL

    toolkit = demo_toolkit(uri, place / "out")
    agent = create_mend_agent(
        model,
        tools=toolkit.tools,
        policies=toolkit.policies,
        persist=place / "agent",
        seeded=False,
        paths=1,
    )
    rehearsed = isinstance(model, RehearsalModel)
    config: Any = {"configurable": {"thread_id": name, REHEARSAL: rehearsed}}
    console.rule(f"{name} run")
    try:
        state = _watched(agent, config, console)
    finally:
        agent.close()
    summary(state, console)
    checked = compare_csv(place / "out" / "pvuv.csv", uri)
    found = "equal to" if checked.equal else "DIFFERENT from"
    console.print(
        f"pvuv.csv: {checked.file_hours} hours, {found} an independent aggregation"
    )
    return {**state, "equal": checked.equal, "path": str(place / "out" / "pvuv.csv")}


def _watched(agent: Any, config: Any, console: Console) -> dict[str, Any]:
    with LiveView(console) as live:
        streamed = agent.stream(
            {"task": TASK}, config, stream_mode="custom", subgraphs=True
        )
        for _, event in streamed:
            live.show(event)
    return dict(agent.get_state(config).values)


def _good(state: Mapping[str, Any]) -> bool:
    return bool(state["status"] == "done" and state["equal"])


def _compare(
    first: Mapping[str, Any], second: Mapping[str, Any], console: Console
) -> None:
    """Print the review of the document (10.6) for both runs, side by side."""
    table = Table(title="What was learned")
    table.add_column("measure")
    table.add_column("first run", justify="right")
    table.add_column("second run", justify="right")
    for label, value in MEASURES:
        table.add_row(label, value(first), value(second))
    console.print(table)
    for note in second.get("notes") or ():
        if note.get("kind") == "lessons":
            console.print(f"The second run used: {note['text']}")


def _report(name: str) -> Any:
    return lambda state: str(state["report"][name])


def _tier(name: str) -> Any:
    return lambda state: str(state["report"]["retries"][name])


MEASURES = (
    ("status", lambda state: str(state["status"])),
    ("steps planned", _report("steps")),
    ("tool executions", _report("executions")),
    ("corrections", _report("corrections")),
    ("tier 1 retries", _tier("tier1")),
    ("tier 2 retries", _tier("tier2")),
    ("tier 3 retries", _tier("tier3")),
    ("model calls", _report("model_calls")),
    ("tokens", _report("tokens")),
    ("seconds", _report("seconds")),
    ("reflections", _report("reflections")),
    ("file right", lambda state: "yes" if state["equal"] else "no"),
)
"""Line of the comparison → how it is read from a final state."""
