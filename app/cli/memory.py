"""`mendgraph memory`: the lessons that were learned, and why one is found."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from mendgraph.cli.faults import WrongUse, guarded
from mendgraph.cli.options import PERSIST, AsJson, Persist
from mendgraph.cli.output import print_json, print_table, say, say_error

if TYPE_CHECKING:
    from mendgraph.tools.memory.chroma import ChromaMemory

Out = TypeVar("Out")
group = typer.Typer(help="Lessons of earlier tasks.", no_args_is_help=True)
HEADS = ("id", "signature", "hits", "helped", "hurt", "lesson")


def _with(persist: str, use: Callable[["ChromaMemory"], Awaitable[Out]]) -> Out:
    """Open the long-term memory of a folder, use it, close it.

    Raises:
        WrongUse: There is no such folder, or the place keeps no memory.
    """
    from mendgraph.cli.opening import existing, is_database, opened
    from mendgraph.tools.memory.chroma import ChromaMemory

    if is_database(persist):
        raise WrongUse("a database keeps no lessons; name a folder with --persist")
    with opened(existing(persist)) as (agent, _):
        memory: Any = agent.held.deps.memory
        assert isinstance(memory, ChromaMemory)  # noqa: S101 (a folder has one)
        found = asyncio.run(_used(memory, use))
    for problem in memory.problems:
        say_error(problem)
    return found


async def _used(
    memory: "ChromaMemory", use: Callable[["ChromaMemory"], Awaitable[Out]]
) -> Out:
    try:
        return await use(memory)
    finally:
        await memory.close()


@group.command("list")
@guarded
def show_all(persist: Persist = PERSIST, as_json: AsJson = False) -> None:
    """List every lesson, oldest first."""
    lessons = _with(persist, lambda memory: memory.all())
    if as_json:
        print_json({"lessons": [lesson.plain() for lesson in lessons]})
        return
    rows = [(n.id, n.signature, n.hits, n.helped, n.hurt, n.text) for n in lessons]
    print_table(HEADS, rows, "No lessons yet; they come from runs that were mended.")


@group.command()
@guarded
def search(
    query: Annotated[str, typer.Argument(help="Words of a task or of an error.")],
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why each one was found.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 5,
    persist: Persist = PERSIST,
    as_json: AsJson = False,
) -> None:
    """Find lessons as the planner would; nothing is counted as used."""
    from mendgraph.tools.memory.protocol import Query

    wanted = Query(text=query)
    told = _with(persist, lambda memory: memory.explain(wanted, limit))
    if as_json:
        print_json(told.plain())
        return
    rows = [
        (f"{hit.score:.4f}", hit.lesson.id, hit.lesson.text, *([hit.why] * explain))
        for hit in told.found
    ]
    heads = ("score", "id", "lesson", *(["why"] * explain))
    print_table(heads, rows, "Nothing fits.")
    if explain:
        for leg, ranks in told.legs.items():
            say(f"{leg}: {len(ranks)} candidates")


@group.command()
@guarded
def forget(
    lesson: Annotated[str, typer.Argument(metavar="ID", help="Id of the lesson.")],
    persist: Persist = PERSIST,
) -> None:
    """Delete one lesson."""

    async def gone(memory: "ChromaMemory") -> bool:
        known = await memory.get(lesson) is not None
        await memory.forget(lesson)
        return known

    if not _with(persist, gone):
        raise WrongUse(
            f"there is no lesson {lesson!r}; `mendgraph memory list` shows all"
        )
    say(f"Forgotten: {lesson}")


@group.command()
@guarded
def sweep(persist: Persist = PERSIST, as_json: AsJson = False) -> None:
    """Forget what did not help for 30 days, merge near-duplicates, generalise."""
    swept = _with(persist, lambda memory: memory.sweep(time.time()))
    if as_json:
        print_json(swept.plain())
        return
    say(
        f"Kept {swept.kept}, forgot {len(swept.forgotten)}, merged "
        f"{len(swept.merged)}, generalised {len(swept.generalised)}."
    )
