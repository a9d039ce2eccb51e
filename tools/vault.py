"""What a thread keeps in the store: raw outputs, outcomes, reasoning, signals.

State holds references into the vault. Namespaces are
("mendgraph", "threads", thread, room).
"""

from collections.abc import Mapping
from typing import Any

from langgraph.store.base import BaseStore

from mendgraph.tools.ledger import label

OUTPUTS, OUTCOMES, REASONING = "outputs", "outcomes", "reasoning"
ASIDES = "asides"
SIGNALS, QUESTIONS = "signals", "questions"
PAGE = 1_000


class Vault:
    """The store as one thread sees it."""

    def __init__(self, store: BaseStore, thread_id: str) -> None:
        self.store = store
        self.thread_id = thread_id

    def _room(self, *names: str) -> tuple[str, ...]:
        return ("mendgraph", "threads", label(self.thread_id), *map(label, names))

    async def put_output(self, reference: str, value: Any) -> None:
        """Keep a raw output under its reference."""
        await self.store.aput(
            self._room(OUTPUTS), reference, {"value": value}, index=False
        )

    async def get_output(self, reference: str) -> Any:
        """Return a raw output.

        Raises:
            KeyError: It was never kept.
        """
        item = await self.store.aget(self._room(OUTPUTS), reference)
        if item is None:
            raise KeyError(reference)
        return item.value["value"]

    async def put_outcome(
        self, round_token: str, step_id: str, outcome: Mapping[str, Any]
    ) -> None:
        """Keep what a branch ended with, before its superstep is over."""
        room = self._room(OUTCOMES, round_token)
        await self.store.aput(room, step_id, dict(outcome), index=False)

    async def put_aside(
        self, round_token: str, step_id: str, slice_: Mapping[str, Any]
    ) -> None:
        """Keep the slice of every budget that a step's sub-task may use."""
        room = self._room(OUTCOMES, round_token, ASIDES)
        await self.store.aput(room, step_id, dict(slice_), index=False)

    async def asides(self, round_token: str) -> dict[str, dict[str, Any]]:
        """Return all slices of a round by step id."""
        return await self._all(self._room(OUTCOMES, round_token, ASIDES))

    async def outcomes(self, round_token: str) -> dict[str, dict[str, Any]]:
        """Return all outcomes of a round by step id."""
        return await self._all(self._room(OUTCOMES, round_token))

    async def put_reasoning(self, key: str, value: Mapping[str, Any]) -> None:
        """Keep a reasoning chain apart from its output (F10)."""
        await self.store.aput(self._room(REASONING), key, dict(value), index=False)

    async def reasoning(self) -> dict[str, dict[str, Any]]:
        """Return all reasoning chains of the thread by key."""
        return await self._all(self._room(REASONING))

    async def put_signal(self, key: str, value: Mapping[str, Any]) -> None:
        """Leave a message for the running task (F63)."""
        await self.store.aput(self._room(SIGNALS), key, dict(value), index=False)

    async def signals(self) -> dict[str, dict[str, Any]]:
        """Return all messages left for the thread by key."""
        return await self._all(self._room(SIGNALS))

    async def question(
        self, key: str, question: Mapping[str, Any]
    ) -> tuple[dict[str, Any], str | None]:
        """Return the question kept under a key and why it was closed, if it was.

        The first caller's question is kept.
        """
        room = self._room(QUESTIONS)
        item = await self.store.aget(room, key)
        if item is None:
            fresh = dict(question)
            value = {"question": fresh, "closed": None}
            await self.store.aput(room, key, value, index=False)
            return fresh, None
        return item.value["question"], item.value["closed"]

    async def close_question(
        self, key: str, question: Mapping[str, Any], reason: str
    ) -> None:
        """Keep why a question has to be asked again."""
        value = {"question": dict(question), "closed": reason}
        await self.store.aput(self._room(QUESTIONS), key, value, index=False)

    async def _all(self, room: tuple[str, ...]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        seen = 0
        while True:
            page = await self.store.asearch(room, limit=PAGE, offset=seen)
            found |= {item.key: item.value for item in page if item.namespace == room}
            seen += len(page)
            if len(page) < PAGE:
                return found
