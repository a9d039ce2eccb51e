"""One memory, and so one embedder, for each domain that wants its own (F50)."""

from collections.abc import Mapping, Sequence

from mendgraph.state.lesson import Found, Lesson
from mendgraph.tools.memory.protocol import Memory, Query, SweepReport
from mendgraph.tools.memory.retrieve import merge


class DomainMemory:
    """Sends a lesson to its domain's memory, and asks that and the general one.

    Args:
        general: For lessons of no domain, or of one without its own memory.
        domains: Domain → memory.
    """

    def __init__(self, general: Memory, domains: Mapping[str, Memory]) -> None:
        self._general = general
        self._domains = dict(domains)

    @property
    def problems(self) -> list[str]:
        """What is wrong with any of the storages."""
        return [text for memory in self._memories() for text in memory.problems]

    async def remember(self, lesson: Lesson) -> None:
        """Keep a lesson in its domain's memory."""
        await self._of(lesson.domain).remember(lesson)

    async def recall(self, query: Query, limit: int = 5) -> list[Found]:
        """Return the best of the query's domain and of the general memory."""
        asked = {id(m): m for m in (self._of(query.domain), self._general)}
        pulls = [await memory.recall(query, limit) for memory in asked.values()]
        return merge(pulls, limit)

    async def feedback(self, ids: Sequence[str], helped: bool | None) -> None:
        """Count that lessons were shown and helped, hurt, or neither (None)."""
        for memory in self._memories():
            await memory.feedback(ids, helped)

    async def sweep(self, now: float) -> SweepReport:
        """Sweep every memory and return what was done in all."""
        reports = [await memory.sweep(now) for memory in self._memories()]
        return SweepReport(
            kept=sum(report.kept for report in reports),
            forgotten=tuple(key for report in reports for key in report.forgotten),
            merged={k: v for report in reports for k, v in report.merged.items()},
            generalised=tuple(key for report in reports for key in report.generalised),
        )

    async def all(self) -> list[Lesson]:
        """Return every lesson, oldest first."""
        held = [item for memory in self._memories() for item in await memory.all()]
        return sorted(held, key=lambda item: (item.created_at, item.id))

    async def get(self, lesson_id: str) -> Lesson | None:
        """Return one lesson."""
        for memory in self._memories():
            if (found := await memory.get(lesson_id)) is not None:
                return found
        return None

    async def forget(self, lesson_id: str) -> None:
        """Delete one lesson wherever it is."""
        for memory in self._memories():
            await memory.forget(lesson_id)

    def _of(self, domain: str | None) -> Memory:
        return self._domains.get(domain or "", self._general)

    def _memories(self) -> list[Memory]:
        return [self._general, *self._domains.values()]
