"""Running a thread until it ends, a question stays open, or Ctrl-C stops it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.types import Command, StateSnapshot

from mendgraph.cli.exits import BY_STATUS, Code
from mendgraph.cli.opening import config_of, questions_of
from mendgraph.graph.agent import MendGraph
from mendgraph.live import LiveView
from mendgraph.state.interrupts import Question

Answer = dict[str, Any]
Ask = Callable[[Mapping[str, Question]], dict[str, Answer]]
"""Open questions by id → answers by id; one that is left out stays open."""


def nobody(_questions: Mapping[str, Question]) -> dict[str, Answer]:
    """Answer nothing: where there is no terminal, questions stay open."""
    return {}


def drive(
    agent: MendGraph, thread: str, given: Any, ask: Ask, view: LiveView | None
) -> StateSnapshot:
    """Run, ask and go on; return where the thread stands then.

    Args:
        agent: The agent.
        thread: Its thread.
        given: The first input: a task, a `Command` with answers, or None to go on.
        ask: Asked whenever questions are open.
        view: Shows the progress.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; the thread can be resumed.
    """
    runner = asyncio.Runner()
    try:
        return _until_settled(runner, agent, thread, given, ask, view)
    except KeyboardInterrupt:
        # Closing would wait for the tool that runs; the process ends instead.
        raise
    except BaseException:
        runner.close()
        raise


def _until_settled(
    runner: asyncio.Runner,
    agent: MendGraph,
    thread: str,
    given: Any,
    ask: Ask,
    view: LiveView | None,
) -> StateSnapshot:
    left: set[tuple[str, str]] = set()
    while True:
        snapshot = runner.run(_segment(agent, thread, given, view))
        questions = {
            key: question
            for key, question in questions_of(snapshot).items()
            if (key, question.description) not in left
        }
        answers = ask(questions) if questions else {}
        if not answers:
            runner.close()
            return snapshot
        left |= {(k, q.description) for k, q in questions.items() if k not in answers}
        given = Command(resume=answers)


async def _segment(
    agent: MendGraph, thread: str, given: Any, view: LiveView | None
) -> StateSnapshot:
    """Run to the next stop; events of step subgraphs come through, too."""
    config = config_of(thread)
    stream = agent.astream(given, config, stream_mode="custom", subgraphs=True)
    if view is None:
        async for _ in stream:
            pass
    else:
        with view:
            async for _, event in stream:
                view.show(event)
    return await agent.aget_state(config)


def code_of(snapshot: StateSnapshot) -> Code:
    """Return the exit code for where a thread stands."""
    if snapshot.interrupts:
        return Code.WAITING
    return BY_STATUS.get(str(snapshot.values.get("status")), Code.UNFINISHED)
