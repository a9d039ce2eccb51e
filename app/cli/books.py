"""`mendgraph strategies` and `mendgraph rules`: what mends without being asked."""

import asyncio
from typing import TYPE_CHECKING

from mendgraph.cli.options import PERSIST, AsJson, Persist
from mendgraph.cli.output import print_json, print_table

if TYPE_CHECKING:
    from mendgraph.tools.library import Library


async def _loaded(library: "Library") -> "Library":
    await library.load()
    return library


def _share(part: float | None) -> str:
    return "" if part is None else f"{part:.0%}"


def strategies(persist: Persist = PERSIST, as_json: AsJson = False) -> None:
    """Show the strategy board: success rate, time to resolve, where each applies."""
    from mendgraph.cli.opening import reading
    from mendgraph.report.words import duration

    with reading(persist) as agent:
        library = agent.held.deps.library(agent.held.deps.store)
        asyncio.run(_loaded(library))
        board = asyncio.run(library.strategies.board())
    if as_json:
        print_json({"strategies": [row.plain() for row in board]})
        return
    rows = [
        (
            row.signature,
            f"{row.state.value} v{row.version}",
            row.uses,
            _share(row.success_rate),
            "" if row.mean_resolve_s is None else duration(row.mean_resolve_s),
            row.source,
            row.content,
        )
        for row in board
    ]
    heads = ("signature", "state", "uses", "success", "resolves in", "from", "what")
    print_table(heads, rows, "No strategies.")


def rules(persist: Persist = PERSIST, as_json: AsJson = False) -> None:
    """List the distilled rules with their stage and counts."""
    from mendgraph.cli.opening import reading

    with reading(persist) as agent:
        library = agent.held.deps.library(agent.held.deps.store)
        book = asyncio.run(_loaded(library)).rules.all()
    if as_json:
        print_json({"rules": [rule.plain() for rule in book]})
        return
    rows = [
        (
            rule.id,
            rule.signature,
            rule.stage.value,
            rule.hits,
            rule.successes,
            rule.misjudgements,
            rule.source,
            rule.description or rule.condition,
        )
        for rule in sorted(book, key=lambda rule: (-rule.hits, rule.id))
    ]
    heads = ("id", "signature", "stage", "hits", "worked", "wrong", "from", "what")
    print_table(heads, rows, "No rules.")
