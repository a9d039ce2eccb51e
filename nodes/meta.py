"""Meta-reflection: every hundred tasks the quality of attribution is reviewed (F31).

Counted figures always; with a model one call more, whose words stay an opinion beside
them. The review is kept in the store.
"""

from collections.abc import Sequence
from typing import Any

from langgraph.store.base import BaseStore
from pydantic import ConfigDict, Field

from mendgraph.nodes.economy import caf_over
from mendgraph.nodes.prompt_parts import compact
from mendgraph.nodes.schemas import Answer, Texts
from mendgraph.nodes.templating import data, render
from mendgraph.state.lesson import StrategyState
from mendgraph.state.record import Record
from mendgraph.tools.calibration import CalibrationRow
from mendgraph.tools.run import Run
from mendgraph.tools.thinker import think_about
from mendgraph.tools.uses import every

REVIEWS = ("mendgraph", "meta")
EVERY = 100
"""Tasks between two reviews."""
POOR = 0.6
"""Share of right attributions under which a class is named."""
META_TOKENS = 1_500
SAMPLE: dict[str, Any] = {
    "findings": ["param_error is often …"],
    "advice": ["look first at …"],
}


class Opinion(Answer):
    """What a model makes of the figures."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"example": SAMPLE})

    findings: Texts = Field(default_factory=list)
    advice: Texts = Field(default_factory=list)


class Review(Record):
    """One batch review."""

    tasks: int
    """Tasks closed so far."""
    at: float
    """Seconds since the epoch."""
    attributions: int
    right: float | None
    """Share that was right, over classes with enough outcomes; None with too few."""
    classes: tuple[CalibrationRow, ...] = ()
    caf: float
    done_share: float
    model_calls_per_task: float
    strategies: dict[str, int] = Field(default_factory=dict)
    findings: tuple[str, ...] = ()
    """Counted, by rule."""
    opinion: tuple[str, ...] = ()
    """The model's words; empty without one."""


async def review_due(run: Run, closed: int) -> list[dict[str, Any]]:
    """Review when another hundred tasks are closed; return what there is to say."""
    if closed < EVERY or closed // EVERY <= await _reviewed(run.library.store):
        return []
    review = await review_of(run, closed)
    review = review.but(opinion=await _opinion(run, review))
    key = f"{closed // EVERY:06d}"
    await run.library.store.aput(REVIEWS, key, review.plain(), index=False)
    said = [*review.findings, *review.opinion]
    text = f"review after {closed} tasks: " + "; ".join(said)
    return [{"kind": "meta", "text": text[:800], "at": run.now()}]


async def _reviewed(store: BaseStore) -> int:
    items = await every(store, REVIEWS)
    return max((int(item.key) for item in items), default=0)


async def reviews(store: BaseStore) -> list[Review]:
    """Return the reviews that were made, oldest first."""
    items = sorted(await every(store, REVIEWS), key=lambda item: item.key)
    return [Review.model_validate(item.value) for item in items]


async def review_of(run: Run, closed: int) -> Review:
    """Return the counted figures of the tasks so far."""
    from mendgraph.nodes.aftercare import closed_tasks

    tasks = (await closed_tasks(run))[-EVERY:]
    classes = tuple(run.library.calibration.report())
    strategies = await run.library.strategies.all()
    states = [strategy.state for strategy in strategies]
    return Review(
        tasks=closed,
        at=run.now(),
        attributions=sum(row.outcomes for row in classes),
        right=_right(classes),
        classes=classes,
        caf=caf_over((t["correction_model_calls"], t["corrections"]) for t in tasks),
        done_share=_mean([t["status"] == "done" for t in tasks]),
        model_calls_per_task=_mean([t["model_calls"] for t in tasks]),
        strategies={str(s): states.count(s) for s in StrategyState if s in states},
        findings=findings_of(classes),
    )


def findings_of(classes: Sequence[CalibrationRow]) -> tuple[str, ...]:
    """Return what the counts say by themselves."""
    known = [row for row in classes if row.enough]
    poor = [row for row in known if row.right < POOR]
    boastful = [r for r in known if r.stated is not None and r.stated - r.right > 0.2]  # noqa: PLR2004  a fifth too sure
    found = [
        f"{row.category}:{row.subclass} was attributed rightly in {row.right:.0%} of "
        f"{row.outcomes} cases"
        for row in poor
    ]
    found += [
        f"{row.category}:{row.subclass} states {row.stated:.2f} and is worth "
        f"{row.right:.2f}"
        for row in boastful
    ]
    few = len(classes) - len(known)
    found += [f"{few} classes have too few outcomes to judge"] if few else []
    return tuple(found) or ("no class of failure is attributed badly",)


def _right(classes: Sequence[CalibrationRow]) -> float | None:
    known = [row for row in classes if row.enough]
    total = sum(row.outcomes for row in known)
    return sum(row.right * row.outcomes for row in known) / total if known else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


async def _opinion(run: Run, review: Review) -> tuple[str, ...]:
    if run.deps.reasoner is None:
        return ()
    figures = compact(review.model_dump(mode="json", exclude={"opinion"}))
    prompt = render("meta", {}, {"figures": data(figures[:6_000], "figures")})
    thought = await think_about(
        run,
        "meta",
        prompt,
        Opinion,
        label=f"meta:{review.tasks}",
        max_tokens=META_TOKENS,
    )
    said = thought.value
    return (*said.findings[:5], *said.advice[:3]) if said else ()
