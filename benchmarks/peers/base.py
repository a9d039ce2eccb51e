"""What an agent is given and what is looked at afterwards; the same for all."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from simulated.mind import Luck
from simulated.model import SimulatedModel

from mendgraph.bench.desk import holds
from mendgraph.bench.faults import Schedule
from mendgraph.bench.tasks import Task
from mendgraph.bench.world import World

HOPELESS = frozenset({"hopeless"})


@dataclass(frozen=True)
class Setup:
    """The world and the model of one run."""

    task: Task
    world: World
    model: SimulatedModel


@dataclass(frozen=True)
class Said:
    """What an agent answered."""

    text: str
    claims: bool
    """It says that the task is done."""
    extra: dict[str, Any]
    """Figures only this agent has, such as its correction counts."""


Agent = Callable[[Setup], Awaitable[Said]]


@dataclass(frozen=True)
class Result:
    """One run, judged against the world and not against the agent's word."""

    success: bool
    false_success: bool
    truthful: bool
    """It did not claim what it had not done."""
    model_calls: int
    prompt_tokens: int
    completion_tokens: int
    tool_calls: int
    wasted: int
    """Successful calls made again."""
    duplicates: int
    """Effects that happened more than once."""
    at_hopeless: int
    """Calls at a fault that nothing mends."""
    simulated_s: float
    wall_s: float
    error: str
    extra: dict[str, Any]


def set_up(task: Task, faults: Schedule, luck: Luck) -> Setup:
    """Return a fresh world and a fresh model on one clock."""
    world = World(task, faults)
    return Setup(task, world, SimulatedModel(luck=luck, clock=world.clock))


async def carry_out(
    agent: Agent, task: Task, faults: Schedule, luck: Luck | None = None
) -> Result:
    """Run an agent on a task and judge what came of it."""
    setup = set_up(task, faults, luck or Luck())
    before, began = setup.world.clock.now, time.perf_counter()
    error = ""
    try:
        said = await agent(setup)
    except Exception as problem:  # noqa: BLE001  a framework that raises has failed
        error = f"{type(problem).__name__}: {problem}"[:200]
        said = Said("", claims=False, extra={})
    return _judged(
        setup,
        said,
        error,
        simulated_s=setup.world.clock.now - before,
        wall_s=time.perf_counter() - began,
    )


def _judged(setup: Setup, said: Said, error: str, **times: float) -> Result:
    world, counts = setup.world, setup.model.counts
    right = holds(setup.task, world, said.text)
    return Result(
        success=said.claims and right,
        false_success=said.claims and not right,
        truthful=not said.claims or right,
        model_calls=counts["calls"],
        prompt_tokens=counts["prompt_tokens"],
        completion_tokens=counts["completion_tokens"],
        tool_calls=len(world.made) + world.strange,
        wasted=world.repeated,
        duplicates=world.duplicates,
        at_hopeless=world.calls_at(HOPELESS),
        error=error,
        extra=said.extra,
        **times,
    )
