"""An agent that meets the labelled failures one after the other, and learns nothing."""

import asyncio
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver

from mendgraph.evals.guesser import NAMES, STATED
from mendgraph.evals.injected import Injected
from mendgraph.graph.build import create_mend_agent
from mendgraph.state.limits import Limits
from mendgraph.tools.shipped.toolkit import Toolkit

RECORDED = 200
"""Outcomes recorded beforehand, so that a confidence is calibrated to its worth."""
APART_S = 600.0
"""Between two failures, so that no service is unwell because of the one before."""


class Trial:
    """One agent over the labelled set.

    Args:
        kit: The world's tools.
        model: The double that names causes, or None for the rules alone.
        worth: What a cause it names is worth by recorded outcomes, 0..1.
    """

    def __init__(
        self, kit: Toolkit, model: BaseChatModel | None, worth: float | None = None
    ) -> None:
        self._now = 1_000_000_000.0
        self._saver = InMemorySaver()
        self._agent = create_mend_agent(
            model,
            tools=kit.tools,
            policies=kit.policies,
            assume="read",
            checkpointer=self._saver,
            seeded=False,
            learn=False,
            clock=lambda: self._now,
            sleep=_no_wait,
            limits=Limits(clarifications=0, retries=4, replans=0),
        )
        if worth is not None:
            self._calibrate(worth)

    def run(self, case: Injected, number: int) -> dict[str, Any]:
        """Run one failure to its end; return the last state of the thread."""
        self._now += APART_S
        config: Any = {"configurable": {"thread_id": str(number)}}
        steps = [dict(step) for step in case.steps]
        given = {"task": f"case {number}.", "plan": {"steps": steps}}
        self._agent.invoke(given, config)
        state = dict(self._agent.get_state(config).values)
        self._saver.delete_thread(str(number))
        return state

    def _calibrate(self, worth: float) -> None:
        """Record outcomes, so that the stated confidence is worth this much."""
        deps = self._agent.held.deps
        library = deps.library(deps.store)
        asyncio.run(library.ensure())
        for category, subclass in NAMES.items():
            for number in range(RECORDED):
                right = number < worth * RECORDED
                library.calibration.record(str(category), str(subclass), STATED, right)


async def _no_wait(_seconds: float) -> None:
    await asyncio.sleep(0)
