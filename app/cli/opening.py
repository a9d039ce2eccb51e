"""Opening what a command works on: the persist folder, an agent, a thread."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt, StateSnapshot

from mendgraph.cli.faults import WrongUse
from mendgraph.cli.settings import ThreadSettings, recall, remembered
from mendgraph.cli.tool_spec import ToolSet, load_tools
from mendgraph.graph.agent import MendGraph, question_of
from mendgraph.graph.build import create_mend_agent
from mendgraph.graph.given import DATABASES, limits_of, place_problems
from mendgraph.state.channels import SCHEMA_VERSION
from mendgraph.state.interrupts import Question
from mendgraph.state.limits import Limits
from mendgraph.tools.errors import ThreadError
from mendgraph.tools.persist import open_folder

LOCKED_S = 3.0
"""How long another program may hold the folder before we say so, in seconds."""
SHOWN_THREADS = 5


def is_database(persist: str) -> bool:
    """Tell whether threads live in PostgreSQL and not in a folder."""
    return persist.startswith(DATABASES)


def place(persist: str) -> str:
    """Return what `--persist` names.

    Raises:
        WrongUse: It is neither a folder's name nor a PostgreSQL address.
    """
    if problems := list(place_problems(persist)):
        raise WrongUse(f"--persist: {'; '.join(problems)}")
    return persist


def existing(persist: str) -> str:
    """Return the place if there is something to read.

    Raises:
        WrongUse: Nothing was ever kept there.
    """
    place(persist)
    if not is_database(persist) and not Path(persist).expanduser().exists():
        raise WrongUse(
            f"there is no folder {persist}; go to where `mendgraph run` was used, or "
            "name the folder with --persist"
        )
    return persist


@contextmanager
def opened(
    persist: str, settings: ThreadSettings | None = None
) -> Iterator[tuple[MendGraph, ThreadSettings]]:
    """Open an agent for a run, and close it.

    Raises:
        WrongUse: The tools cannot be found.
        PersistError: The folder is locked or cannot be written.
    """
    if not is_database(place(persist)):
        open_folder(persist, busy_s=LOCKED_S).close()
    chosen = settings or ThreadSettings()
    agent = _agent(persist, chosen, load_tools(chosen.tools, Path(chosen.folder)))
    try:
        yield agent, chosen
    finally:
        agent.close()


def _agent(persist: str, settings: ThreadSettings, found: ToolSet) -> MendGraph:
    asked = {**found.interrupt_on, **dict.fromkeys(settings.interrupt_on, True)}
    own = limits_of(found.more.get("limits"))
    limits = {**own.model_dump(exclude_unset=True), **settings.limits}
    given: dict[str, Any] = {**found.more, "limits": Limits.model_validate(limits)}
    if settings.model:
        given["model"] = settings.model
    if settings.fallback_models:
        given["fallback_models"] = settings.fallback_models
    return create_mend_agent(
        tools=found.tools,
        policies=found.policies,
        authorise=found.authorise,
        interrupt_on=asked,
        persist=persist,
        **given,
    )


@contextmanager
def reading(persist: str) -> Iterator[MendGraph]:
    """Open the place without tools or model, to look or to tidy up."""
    with opened(existing(persist)) as (agent, _):
        yield agent


@contextmanager
def reopened(persist: str, thread: str) -> Iterator[tuple[MendGraph, ThreadSettings]]:
    """Open an agent with the settings its thread was run with.

    Raises:
        ThreadError: There is no such thread, or another version wrote it.
        WrongUse: The thread was not run from the command line.
    """
    with reading(persist) as agent:
        snapshot_of(agent, thread)
        settings = recall(agent.held.deps.store, thread)
    if settings is None:
        raise WrongUse(
            f"thread {thread} was not run with `mendgraph run`, so its tools are not "
            "known here; resume it from the program that runs it"
        )
    with opened(persist, settings) as found:
        yield found


def config_of(thread: str) -> RunnableConfig:
    """Return the config that names a thread."""
    return {"configurable": {"thread_id": thread}}


def snapshot_of(agent: MendGraph, thread: str) -> StateSnapshot:
    """Return where a thread stands.

    Raises:
        ThreadError: There is no such thread, or another version wrote it.
    """
    snapshot = agent.get_state(config_of(thread))
    if not snapshot.values and not snapshot.next:
        started = remembered(agent.held.deps.store)
        known = sorted(started, key=lambda name: -started[name])[:SHOWN_THREADS]
        there = f"; there are: {', '.join(known)}" if known else ""
        raise ThreadError(
            f"there is no thread {thread!r} here{there}. `mendgraph threads` lists all"
        )
    check_schema(snapshot.values, thread)
    return snapshot


def check_schema(values: Mapping[str, Any], thread: str) -> None:
    """See that this version can read the thread.

    Raises:
        ThreadError: Another version wrote it.
    """
    version = values.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise ThreadError(
            f"thread {thread} was written with state schema {version}, this is "
            f"{SCHEMA_VERSION}; use the version of mendgraph that wrote it"
        )


def questions_of(snapshot: StateSnapshot) -> dict[str, Question]:
    """Return the open questions by interrupt id."""
    return {item.id: question_of(item) for item in _unique(snapshot.interrupts)}


def _unique(items: tuple[Interrupt, ...]) -> tuple[Interrupt, ...]:
    return tuple({item.id: item for item in items}.values())
