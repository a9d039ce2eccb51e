"""What the core asks of a long-term memory, whichever way it is kept."""

from collections.abc import Sequence
from typing import Protocol

from pydantic import Field

from mendgraph.state.lesson import Found, Lesson
from mendgraph.state.record import Record


class Query(Record):
    """What is known when lessons are wanted; any language, any part may be empty."""

    text: str = ""
    """The task's or the step's words."""
    tools: tuple[str, ...] = ()
    tool_classes: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    """`category:subclass:tool` of failures at hand."""
    error: str = ""
    domain: str | None = None

    @property
    def words(self) -> str:
        """What is searched as text; names of tools belong to the signature leg."""
        return "\n".join(part for part in (self.text, self.error) if part)


class SweepReport(Record):
    """What a sweep changed, by lesson id."""

    kept: int = 0
    forgotten: tuple[str, ...] = ()
    merged: dict[str, str] = Field(default_factory=dict)
    """Id of a merged lesson → id of the one that keeps it as provenance."""
    generalised: tuple[str, ...] = ()


class Memory(Protocol):
    """Long-term memory of lessons. No method raises because storage is down."""

    @property
    def problems(self) -> list[str]:
        """What is wrong with the storage, each thing said once."""
        ...

    async def remember(self, lesson: Lesson) -> None:
        """Keep a lesson; the same id replaces the one before."""
        ...

    async def recall(self, query: Query, limit: int = 5) -> list[Found]:
        """Return the lessons that fit best, best first, each with its reasons."""
        ...

    async def feedback(self, ids: Sequence[str], helped: bool | None) -> None:
        """Count that lessons were shown and helped, hurt, or neither (None)."""
        ...

    async def sweep(self, now: float) -> SweepReport:
        """Forget, merge and generalise; `now` in seconds since the epoch."""
        ...

    async def all(self) -> list[Lesson]:
        """Return every lesson, oldest first."""
        ...

    async def get(self, lesson_id: str) -> Lesson | None:
        """Return one lesson."""
        ...

    async def forget(self, lesson_id: str) -> None:
        """Delete one lesson; an unknown id is nothing to do."""
        ...
