"""The benchmarks' tasks with a user's own model, under a cap that code counts.

World, tools and faults are simulated; the model is real, and so are its tokens. What is
left of the cap is every task's own budget, so at most one answer goes beyond it.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel

from mendgraph.bench.cases import Case, cases, clean
from mendgraph.bench.desk import LIMITS, desk, holds
from mendgraph.bench.faults import seeds
from mendgraph.bench.world import World

LEAST = 3_000
"""Tokens of a plan: with fewer left no task is begun."""
MILLION = 1_000_000


class NoAnswer(Exception):
    """The model answered nothing at all; going on would tell nothing."""


@dataclass(frozen=True)
class Cap:
    """What all tasks together may use.

    Args:
        tokens: Prompt and completion tokens.
        money: In the unit of the prices; None is no cap.
        prices: A million prompt tokens, a million completion tokens.
    """

    tokens: int
    money: float | None = None
    prices: tuple[float, float] | None = None

    def cost(self, prompt: int, completion: int) -> float | None:
        """Return what tokens cost, if the prices are known."""
        if self.prices is None:
            return None
        return (prompt * self.prices[0] + completion * self.prices[1]) / MILLION

    def left(self, prompt: int, completion: int) -> int:
        """Return the tokens that may still be used, all taken for the dearer kind."""
        rest = self.tokens - prompt - completion
        cost = self.cost(prompt, completion)
        if self.money is None or cost is None or self.prices is None:
            return max(0, rest)
        affordable = int((self.money - cost) / max(self.prices) * MILLION)
        return max(0, min(rest, affordable))


@dataclass(frozen=True)
class Ran:
    """One task that was run, judged against the world."""

    case: Case
    success: bool
    false_success: bool
    model_calls: int
    prompt: int
    completion: int
    seconds: float
    duplicates: int
    answer: str


def grid(runs: int) -> list[Case]:
    """Return what is run: tasks without faults first, then every fault."""
    return [*clean(seeds()[0]), *cases(runs)]


def run_all(model: BaseChatModel, chosen: Iterable[Case], cap: Cap) -> Iterator[Ran]:
    """Yield the results of tasks, run one after the other until they or the cap end.

    Args:
        model: Of the user.
        chosen: The tasks.
        cap: What they may use together.

    Raises:
        NoAnswer: The model answered nothing to the first; the text says why.
    """
    prompt = completion = 0
    for case in chosen:
        left = cap.left(prompt, completion)
        if left < LEAST:
            return
        ran = asyncio.run(run_one(model, case, left))
        prompt, completion = prompt + ran.prompt, completion + ran.completion
        if not completion:
            raise NoAnswer(f"the model gave no answer: {ran.answer}")
        yield ran


async def run_one(model: BaseChatModel, case: Case, tokens: int) -> Ran:
    """Run one task with so many tokens; nothing is learned from one to the next."""
    world = World(case.task, case.faults)
    limits = LIMITS.but(total_tokens=tokens)
    agent, began = desk(model, world, limits, learn=False), time.perf_counter()
    result = await agent.ainvoke({"task": case.task.text})
    spent, claims = result["report"]["spent"], result["status"] == "done"
    right = holds(case.task, world, result["answer"])
    return Ran(
        case=case,
        success=claims and right,
        false_success=claims and not right,
        model_calls=spent["model_calls"],
        prompt=spent["prompt_tokens"],
        completion=spent["completion_tokens"],
        seconds=time.perf_counter() - began,
        duplicates=world.duplicates,
        answer=result["answer"],
    )


def summary(done: Sequence[Ran], wanted: int, cap: Cap) -> dict[str, Any]:
    """Return the figures: by kind of fault, together, and whether the cap ended it."""
    groups: dict[str, list[Ran]] = {}
    for each in done:
        groups.setdefault(each.case.group, []).append(each)
    return {
        "tasks": wanted,
        "run": len(done),
        "stopped_at_the_cap": len(done) < wanted,
        "cap_tokens": cap.tokens,
        "cap_money": cap.money,
        "groups": {name: _figures(ran, cap) for name, ran in groups.items()},
        "all": _figures(done, cap),
    }


def _figures(done: Sequence[Ran], cap: Cap) -> Mapping[str, Any]:
    prompt, completion = sum(r.prompt for r in done), sum(r.completion for r in done)
    cost = cap.cost(prompt, completion)
    return {
        "runs": len(done),
        "success": round(sum(r.success for r in done) / len(done), 4),
        "false_success": sum(r.false_success for r in done),
        "duplicates": sum(r.duplicates for r in done),
        "model_calls": round(sum(r.model_calls for r in done) / len(done), 2),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "seconds": round(sum(r.seconds for r in done), 1),
        "cost": None if cost is None else round(cost, 6),
    }
