"""The compiled graph callers get: a LangGraph graph that guards its threads.

One run at a time on a thread, and answers to interrupts are checked before anything
runs, so a wrong answer leaves the question where it was.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Interrupt, StateSnapshot

from mendgraph.state.interrupts import AnswerError, Question, read_answer
from mendgraph.tools.lease import Lease, ahold, hold
from mendgraph.tools.persist import Persist
from mendgraph.tools.run import Deps

NESTED = "__pregel_read"
"""In the config of a graph that runs inside another one's node."""


@dataclass(frozen=True)
class Held:
    """What a mend graph carries beside the LangGraph parts."""

    deps: Deps
    lease: Lease
    opened: Persist | None = None
    """The folder opened by `persist=`, closed by `close`."""


class MendGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph with a lease on its threads and checked answers."""

    def __init__(self, *, held: Held, **parts: Any) -> None:
        super().__init__(**parts)
        self.held = held

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> Iterator[Any]:
        """Run the graph and yield what it streams, as LangGraph does.

        Raises:
            ThreadBusy: Another run has the thread.
            AnswerError: A resume value does not answer what is asked.
        """
        thread = self._guarded(config)
        with hold(self.held.lease, thread) if thread else nullcontext():
            if thread and _resumes(input):
                check_answers(input, self.get_state(only_thread(config)))
            yield from super().stream(input, config, **_durable(options, thread))

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Run the graph and yield what it streams, as LangGraph does.

        Raises:
            ThreadBusy: Another run has the thread.
            AnswerError: A resume value does not answer what is asked.
        """
        thread = self._guarded(config)
        async with ahold(self.held.lease, thread) if thread else nullcontext():
            if thread and _resumes(input):
                check_answers(input, await self.aget_state(only_thread(config)))
            kept = _durable(options, thread)
            async for part in super().astream(input, config, **kept):
                yield part

    def close(self) -> None:
        """Close what `persist=` opened; a graph without it has nothing to close."""
        if self.held.opened is not None:
            self.held.opened.close()

    def _guarded(self, config: RunnableConfig | None) -> str | None:
        """Return the thread to hold; None for nested and threadless runs."""
        settings = (config or {}).get("configurable") or {}
        thread = settings.get("thread_id")
        if NESTED in settings or not self.checkpointer or thread is None:
            return None
        return str(thread)


def _durable(options: dict[str, Any], thread: str | None) -> dict[str, Any]:
    """Return the options under which a checkpoint is kept before the next node runs.

    LangGraph's default writes behind the running step: a crash there would begin the
    task anew, under other idempotency keys.
    """
    if thread is None or options.get("durability") is not None:
        return options
    return {**options, "durability": "sync"}


def _resumes(input: Any) -> bool:
    """Tell whether an input answers; a command that does nothing is an empty answer."""
    if not isinstance(input, Command):
        return False
    return input.resume is not None or not (input.update or input.goto)


def only_thread(config: RunnableConfig | None) -> RunnableConfig:
    """Return a config that names the thread and no checkpoint of it."""
    settings = (config or {}).get("configurable") or {}
    kept = {k: v for k, v in settings.items() if k in {"thread_id", "checkpoint_ns"}}
    return {"configurable": kept}


def check_answers(command: Command[Any], snapshot: StateSnapshot) -> None:
    """See that a resume answers questions that are open, in their shape.

    Raises:
        AnswerError: It does not; the text names what is open.
    """
    waiting = {item.id: item for item in snapshot.interrupts}
    if not waiting:
        raise AnswerError(
            "nothing waits for an answer on this thread; to go on after a stop, "
            "invoke it with None"
        )
    resume = command.resume
    if isinstance(resume, Mapping) and "decisions" not in resume:
        _check_map(resume, waiting)
    elif len(waiting) > 1:
        raise AnswerError(
            f"{len(waiting)} questions are open; answer with a map "
            f"{{interrupt_id: {{'decisions': [...]}}}} for any of: {_listing(waiting)}"
        )
    else:
        read_answer(resume, question_of(next(iter(waiting.values()))))


def _check_map(resume: Mapping[str, Any], waiting: Mapping[str, Interrupt]) -> None:
    unknown = [key for key in resume if key not in waiting]
    if unknown:
        raise AnswerError(
            f"no open question has the id {', '.join(map(repr, unknown))}; "
            f"open are: {_listing(waiting)}"
        )
    for key, value in resume.items():
        read_answer(value, question_of(waiting[key]))


def _listing(waiting: Mapping[str, Interrupt]) -> str:
    return "; ".join(f"{key} ({question_of(i).name})" for key, i in waiting.items())


def question_of(item: Interrupt) -> Question:
    """Return the question an interrupt of ours asks."""
    value = item.value
    request, meta = value["action_requests"][0], value["metadata"]
    return Question(
        kind=meta["kind"],
        name=request["name"],
        args=request["args"],
        description=request["description"],
        step_id=meta["step_id"],
        plan_version=meta["plan_version"],
        args_digest=meta["args_digest"],
        expires_at=meta["expires_at"],
        options=tuple(meta["options"]),
        allowed=tuple(value["review_configs"][0]["allowed_decisions"]),
    )
