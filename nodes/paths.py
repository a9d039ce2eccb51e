"""Multi-path planning: candidates that differ by approach, scored, the best wins (F05).

Thinking models ignore the temperature, so diversity comes from the prompt.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from mendgraph.nodes.asking_plan import ask_for_plan
from mendgraph.nodes.brief import Brief
from mendgraph.nodes.candidates import (
    Maker,
    Scored,
    Scorer,
    SearchResult,
    efficiency,
    rehearse,
    search,
)
from mendgraph.nodes.draft import Draft, note
from mendgraph.nodes.plan_shape import shape
from mendgraph.nodes.prompts import score_prompt
from mendgraph.nodes.schemas import Score, Scores
from mendgraph.state.plan import Plan, Risk, Step
from mendgraph.state.vote import Verdict, strict_majority
from mendgraph.tools.call import call_tool
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Run
from mendgraph.tools.thinker import think_about

APPROACHES = (
    "most robust: check before and after what is risky, and give it a fallback",
    "fewest steps that still do the whole task",
    "most parallel: no dependency that no data needs",
)
MOST_PATHS = 3
WEIGHTS = {"feasibility": 0.3, "robustness": 0.3, "efficiency": 0.2, "fit": 0.2}
MIN_RIVALS = 2
UNKNOWN = 0.5
"""A dimension nobody judged."""


@dataclass(frozen=True, slots=True)
class Path:
    """One candidate and the approach that made it."""

    draft: Draft
    approach: str

    @property
    def plan(self) -> Plan:
        """The candidate's plan; only sound ones are scored."""
        if self.draft.plan is None:
            raise ValueError(f"no plan came of {self.approach!r}")
        return self.draft.plan


class Bench:
    """Makes and scores the candidates of one brief."""

    def __init__(self, first: Draft, brief: Brief, run: Run) -> None:
        self.first = Path(first, "as asked")
        self.brief = brief
        self.run = run
        self.made: list[Path] = [self.first]
        self.dimensions: dict[int, dict[str, float]] = {}
        """Place among the distinct candidates → dimension → score."""

    async def expand(self, _root: Path, count: int) -> list[Path]:
        """Return the distinct sound candidates, the first draft among them."""
        chosen = APPROACHES[: count - 1]
        drafts = await asyncio.gather(
            *(ask_for_plan(self.brief, self.run, approach=a, re_asks=0) for a in chosen)
        )
        self.made += [Path(d, a) for d, a in zip(drafts, chosen, strict=True)]
        distinct: dict[tuple[str, ...], Path] = {}
        for path in self.made:
            if path.draft.plan:
                distinct.setdefault(shape(path.draft.plan), path)
        return list(distinct.values())

    async def score(self, paths: Sequence[Path]) -> list[float]:
        """Return 0..1 for each: the model's dimensions, efficiency by code."""
        plans = [path.plan for path in paths]
        said = await self._asked(plans)
        for place, plan in enumerate(plans):
            self.dimensions[place] = {
                **_robustness(plan),
                **said.get(place, {}),
                "efficiency": round(efficiency(plan, plans), 3),
            }
            tried = await rehearse(plan, self.run.deps.registry, self._try)
            if tried is not None:
                told = self.dimensions[place].get("feasibility", UNKNOWN)
                self.dimensions[place]["feasibility"] = told * tried
        return [_weighted(self.dimensions[place]) for place in range(len(plans))]

    async def _asked(self, plans: Sequence[Plan]) -> dict[int, dict[str, float]]:
        if len(plans) < MIN_RIVALS:
            return {}
        prompt = score_prompt(
            self.brief.task, plans, constraints=self.brief.constraints
        )
        thought = await think_about(
            self.run, "score", prompt, Scores, label="plan:score"
        )
        scores: list[Score] = thought.value.candidates if thought.value else []
        return {each.index: each.model_dump(include=set(WEIGHTS)) for each in scores}

    async def _try(self, entry: Entry, step: Step) -> bool | None:
        """Call a simulatable tool as the draft would, where nobody has to be asked."""
        guarded = any(
            rule.decision != "allow" and fnmatchcase(entry.name, rule.tool)
            for rule in self.run.deps.authorise
        )
        if guarded or self.run.reserve("executions"):
            return None
        self.run.spend(executions=1)
        limit = step.timeout_s or entry.policy.timeout_s
        called = await call_tool(
            entry, step.inputs, timeout_s=limit, clock=self.run.now
        )
        return called.facts is None


def _but_the_first(count: int) -> int:
    """Return the calls for so many candidates; the first one is there already."""
    return max(0, count - 1)


def _if_rivals(count: int) -> int:
    """Return the calls of scoring: none when there is nothing to compare."""
    return int(count >= MIN_RIVALS)


def _robustness(plan: Plan) -> dict[str, float]:
    """Return what code can say of robustness: checks, and fallbacks for risks."""
    if not plan.steps:
        return {}
    checked = sum(bool(step.validation_rule) for step in plan.steps) / len(plan.steps)
    risky = [step for step in plan.steps if step.risk is Risk.HIGH]
    covered = sum(step.fallback is not None for step in risky) / max(1, len(risky))
    return {"robustness": (checked + (covered if risky else 1.0)) / 2}


def _weighted(dimensions: dict[str, float]) -> float:
    return sum(w * dimensions.get(name, UNKNOWN) for name, w in WEIGHTS.items())


async def best_of_paths(first: Draft, brief: Brief, run: Run) -> Draft:
    """Return the best of several candidates; all are kept with their scores."""
    bench = Bench(first, brief, run)
    count = min(MOST_PATHS, run.deps.paths)
    found = await search(
        bench.first,
        Maker(bench.expand, cost=_but_the_first),
        Scorer(bench.score, cost=_if_rivals),
        branch=count,
        depth=1,
        beam=1,
        max_nodes=count,
        max_calls=max(0, run.limits.model_calls - run.board.spent.model_calls),
    )
    if asked := _majority_asks(bench.made):
        return asked
    best = found.best
    chosen = best.node if best else bench.first
    told = note(
        "candidates",
        f"{found.nodes} distinct plans of {len(bench.made)} candidates; "
        f"chosen: {chosen.approach}",
        run.now(),
        nodes=found.nodes,
        calls=found.calls,
        stopped=found.stopped,
    )
    before = () if chosen is bench.first else first.notes
    kept = tuple(_kept(bench, found, chosen))
    return chosen.draft.noted(*before, told, candidates=kept)


def _majority_asks(paths: Sequence[Path]) -> Draft | None:
    """Return the question, when more than half of the candidates ask one."""
    vote = strict_majority([_vote(path.draft) for path in paths])
    if vote.status is not Verdict.MAJORITY or vote.answer != "ask":
        return None
    return next(path.draft for path in paths if path.draft.question)


def _vote(draft: Draft) -> str | None:
    if draft.question:
        return "ask"
    return "plan" if draft.plan else None


def _kept(
    bench: Bench, found: SearchResult[Path], chosen: Path
) -> list[dict[str, Any]]:
    scored: dict[int, tuple[int, Scored[Path]]] = {
        id(each.node): (place, each) for place, each in enumerate(found.kept)
    }
    lines = []
    for path in bench.made:
        place, each = scored.get(id(path), (-1, None))
        lines.append(
            {
                "approach": path.approach,
                "chosen": path is chosen,
                "score": round(each.score, 3) if each else None,
                "dimensions": bench.dimensions.get(place, {}),
                "problem": path.draft.problem or path.draft.question,
                "plan": path.draft.plan.plain() if path.draft.plan else None,
            }
        )
    return lines
