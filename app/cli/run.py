"""`mendgraph run`: a task, its tools, and what happens as it happens."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer

from mendgraph.cli.exits import Code
from mendgraph.cli.faults import WrongUse
from mendgraph.cli.options import PERSIST, AsJson, Persist, Plain
from mendgraph.cli.output import command_line, console, say

if TYPE_CHECKING:
    from langgraph.types import StateSnapshot

    from mendgraph.cli.settings import ThreadSettings
    from mendgraph.graph.agent import MendGraph


def run(  # noqa: PLR0913, PLR0917 (each is an option of the command)
    task: Annotated[str, typer.Argument(help="What to do, in words.")] = "",
    tools: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="A list of tools, a Toolkit, a mapping, or a function that makes "
            "one. May be given several times.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A plan (.json, .yaml) to run as it is."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:NAME",
            envvar="MENDGRAPH_MODEL",
            help="Such as deepseek:deepseek-flash; none runs a given plan by rules.",
        ),
    ] = None,
    fallback_model: Annotated[
        list[str] | None,
        typer.Option(metavar="PROVIDER:NAME", help="Asked when the model is down."),
    ] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="ID", help="A new id is made when not given.")
    ] = None,
    interrupt_on: Annotated[
        list[str] | None,
        typer.Option(metavar="TOOL", help="A person must approve each call of it."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An allowance, such as retries=3."),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="A rule the plan must keep."),
    ] = None,
    persist: Persist = PERSIST,
    as_json: AsJson = False,
    plain: Plain = False,
) -> None:
    """Run a task: plan it, do its steps, mend what fails, ask where only you know.

    Questions are asked at the terminal. Without one (or with --json) the run stops at
    the first question with exit code 5 and goes on with `mendgraph resume`.
    """
    from mendgraph.cli.settings import ThreadSettings, read_limits

    settings = ThreadSettings(
        tools=tuple(tools or ()),
        folder=str(Path.cwd()),
        model=model,
        fallback_models=tuple(fallback_model or ()),
        interrupt_on=tuple(interrupt_on or ()),
        limits=read_limits(limit or ()),
        task=task.strip(),
        started_at=time.time(),
    )
    given = _given(settings, plan, constraint or [])
    name = thread or f"run-{uuid4().hex[:8]}"
    code = _run(settings, given, name, persist, as_json=as_json, plain=plain)
    raise typer.Exit(code)


def _given(
    settings: "ThreadSettings", plan: Path | None, constraints: list[str]
) -> dict[str, Any]:
    """Return the input of the run.

    Raises:
        WrongUse: There is nothing to do, or the plan cannot be read.
    """
    from mendgraph.cli.plan_file import read_plan

    if not settings.task and plan is None:
        raise WrongUse('the task is empty; write mendgraph run "what to do" --tools …')
    if not settings.tools:
        raise WrongUse("no tools were named; add --tools module:name")
    given: dict[str, Any] = {"task": settings.task} if settings.task else {}
    if plan is not None:
        given["plan"] = read_plan(plan)
    return {**given, "constraints": constraints} if constraints else given


def _run(
    settings: "ThreadSettings",
    given: dict[str, Any],
    thread: str,
    persist: str,
    *,
    as_json: bool,
    plain: bool,
) -> Code:
    from mendgraph.cli.opening import opened
    from mendgraph.cli.results import print_result
    from mendgraph.cli.settings import remember

    with opened(persist, settings) as (agent, _):
        _check(agent, given, thread, persist)
        remember(agent.held.deps.store, thread, settings)
        if not as_json:
            say(f"Thread {thread}", style="dim")
        snapshot = go_on(agent, thread, given, persist, as_json=as_json, plain=plain)
        return print_result(snapshot, thread, persist, as_json=as_json)


def _check(
    agent: "MendGraph", given: dict[str, Any], thread: str, persist: str
) -> None:
    """Refuse before anything is written what cannot run.

    Raises:
        WrongUse: There is nobody to plan, or the thread is not finished.
        PlanError: The plan may not run.
    """
    from mendgraph.cli.opening import check_schema, config_of
    from mendgraph.cli.plan_file import check_given

    deps = agent.held.deps
    if "plan" in given:
        check_given(given["plan"], deps.registry, deps.limits)
    elif deps.reasoner is None:
        raise WrongUse(
            "there is no model to plan with and no plan; add --model provider:name "
            "or --plan FILE"
        )
    snapshot = agent.get_state(config_of(thread))
    check_schema(snapshot.values, thread)
    if snapshot.next:
        raise WrongUse(
            f"thread {thread} is not finished; go on with "
            f"`{command_line('resume', thread, persist=persist)}`, or use another "
            "--thread"
        )


def go_on(
    agent: "MendGraph",
    thread: str,
    given: Any,
    persist: str,
    *,
    as_json: bool,
    plain: bool,
) -> "StateSnapshot":
    """Run with the live view and the terminal's answers.

    Raises:
        typer.Exit: Ctrl-C was pressed; how to go on has been said.
    """
    from mendgraph.cli.asking import at_terminal, someone_is_there
    from mendgraph.cli.driving import drive, nobody
    from mendgraph.live import LiveView

    where = console()
    view = None if as_json else LiveView(where, plain=plain or None)
    ask = at_terminal(where) if someone_is_there() and not as_json else nobody
    try:
        return drive(agent, thread, given, ask, view)
    except KeyboardInterrupt as error:
        again = command_line("resume", thread, persist=persist)
        raise KeyboardInterrupt(
            f"stopped; what is done is kept. Go on with:\n  {again}"
        ) from error
