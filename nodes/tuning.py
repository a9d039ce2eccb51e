"""Tuning a strategy that has lost its use: the model sees what went well and what not.

The result is a new Candidate, one version up, which has to earn its place (F53). What
it proposes as expressions must compile, or is left out.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from mendgraph.nodes.economy import Luxury, allows, ladder
from mendgraph.nodes.prompt_parts import compact
from mendgraph.nodes.schemas import Answer, Text
from mendgraph.nodes.templating import Prompt, data, render
from mendgraph.nodes.token_cut import clip
from mendgraph.state.lesson import Application, Strategy
from mendgraph.state.masking import mask
from mendgraph.state.strategy import success_rate, tuned
from mendgraph.tools.cel import RuleError, compile_rule
from mendgraph.tools.run import Run
from mendgraph.tools.thinker import think_about

MOST = 1
"""Strategies tuned when a task ends: one call."""
EXAMPLES_SHOWN = 6
TUNE_TOKENS = 2_000
SAMPLE: dict[str, Any] = {
    "content": "do … when …",
    "condition": "error.message.contains('…')",
    "patch": {"limit": "int(args.limit) / 2"},
    "why": "…",
}


def _patch(value: Any) -> Any:
    return value if isinstance(value, dict) else {}


class Tuned(Answer):
    """A strategy as it should be, in words and, where it can be, as expressions."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"example": SAMPLE})

    content: Text = ""
    condition: str | None = None
    """CEL over `args` and `error`."""
    patch: Annotated[dict[str, str], BeforeValidator(_patch)] = Field(
        default_factory=dict
    )
    """Argument → CEL that gives its new value."""
    why: Text = ""


async def tune(run: Run) -> list[dict[str, Any]]:
    """Tune what is due, within the budget; return what there is to say about it."""
    if run.deps.reasoner is None or not _affordable(run):
        return []
    notes = []
    for strategy in (await run.library.strategies.due_for_tuning())[:MOST]:
        thought = await think_about(
            run,
            "tune",
            tune_prompt(strategy),
            Tuned,
            label=f"tune:{strategy.id}:v{strategy.version}",
            max_tokens=TUNE_TOKENS,
        )
        if thought.value and thought.value.content:
            notes.append(await _replaced(run, strategy, thought.value))
    return notes


def _affordable(run: Run) -> bool:
    spent = run.board.spent
    return allows(ladder(spent, run.limits), Luxury.CRITIQUE)


async def _replaced(run: Run, old: Strategy, wanted: Tuned) -> dict[str, Any]:
    condition, patch = usable(wanted)
    fresh = tuned(old, run.deps.new_id(), run.now(), mask(wanted.content)[:400])
    fresh = fresh.but(condition=condition, patch=patch)
    successor = await run.library.strategies.replace(old.id, fresh)
    rate = success_rate(old.applications) or 0.0
    text = (
        f"strategy for {old.signature} tuned after {rate:.0%} success: "
        f"version {successor.version}: {successor.content[:160]}"
    )
    return {"kind": "strategy", "text": text, "at": run.now()}


def usable(wanted: Tuned) -> tuple[str | None, dict[str, str]]:
    """Return condition and patch as far as they compile; no half of a patch is kept."""
    try:
        for source in wanted.patch.values():
            compile_rule(source)
        if wanted.condition:
            compile_rule(wanted.condition)
    except RuleError:
        return None, {}
    return wanted.condition or None, wanted.patch


def tune_prompt(strategy: Strategy) -> Prompt:
    """Return the prompt: the strategy, and its newest uses, good and bad."""
    uses = strategy.applications
    good = [use for use in uses if use.outcome == "success"][-EXAMPLES_SHOWN:]
    bad = [use for use in uses if use.outcome != "success"][-EXAMPLES_SHOWN:]
    own = compact(
        {
            "signature": strategy.signature,
            "content": strategy.content,
            "condition": strategy.condition,
            "patch": strategy.patch,
        }
    )
    user = {
        "strategy": data(clip(mask(own), 300), "the strategy"),
        "worked": data("\n".join(map(_line, good)), "uses that worked"),
        "failed": data("\n".join(map(_line, bad)), "uses that failed"),
    }
    return render("tune", {}, user)


def _line(use: Application) -> str:
    told = {"before": use.args_before, "after": use.args_after, "error": use.error}
    return clip(mask(compact(told)), 150)
