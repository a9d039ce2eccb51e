"""A log of applications: one store item each, so writers never overwrite each other."""

from collections.abc import Callable
from typing import Any

from langgraph.store.base import BaseStore, SearchItem

from mendgraph.state.lesson import Application

KEPT = 50
"""Newest applications that are kept; the measuring window needs no more."""
READ = 1_000
"""Items of one page."""


async def every(
    store: BaseStore,
    namespace: tuple[str, ...],
    where: dict[str, Any] | None = None,
) -> list[SearchItem]:
    """Return all items of a namespace, page by page."""
    found: list[SearchItem] = []
    while True:
        page = await store.asearch(
            namespace, filter=where, limit=READ, offset=len(found)
        )
        found += page
        if len(page) < READ:
            return found


class UseLog:
    """Applications of strategies and rules, by the id of what was applied."""

    def __init__(self, store: BaseStore, new_id: Callable[[], str]) -> None:
        self._store = store
        self._new_id = new_id

    async def append(self, owner: str, use: Application) -> None:
        """Add one application."""
        key = f"{use.at:020.6f}-{self._new_id()}"
        await self._store.aput(_namespace(owner), key, use.plain(), index=False)

    async def window(self, owner: str) -> tuple[Application, ...]:
        """Return the newest 50 applications, oldest first; older ones are deleted."""
        items = await every(self._store, _namespace(owner))
        ordered = sorted(items, key=lambda item: item.key)
        for item in ordered[:-KEPT]:
            await self._store.adelete(_namespace(owner), item.key)
        return tuple(Application.model_validate(item.value) for item in ordered[-KEPT:])


def _namespace(owner: str) -> tuple[str, ...]:
    # Labels of a namespace may not contain periods.
    return ("mendgraph", "uses", owner.replace(".", "_"))
