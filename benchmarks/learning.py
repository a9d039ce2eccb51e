"""Is a failure that was paid for once not paid for again (F54, F57)?

A stream of seeded tasks meets recurring faults on real tools. A scripted double stands
in for the model: it knows what was injected and proposes the right mend, except for a
seeded share of wrong ones. Counted are its calls, from the first task to the last.
What was learned is then tried on tasks of other seeds: on clean ones no rule may fire,
and on faulty ones most failures should be mended without the model.
"""

import asyncio
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from measure import quick_wanted, versions
from rich.console import Console
from rich.table import Table
from worlds.faulty_tools import Fault, World, opened, task

from mendgraph import Limits, create_mend_agent
from mendgraph.state.lesson import MendRule
from mendgraph.tools.doubles.scripted import ScriptedModel

TASKS, QUICK_TASKS = 300, 90
TRIED = 100
WRONG_SHARE = 0.15
"""Share of the double's answers that do not help."""
FAULT_SHARE = 0.4
SEED, OTHER_SEED, DOUBLE_SEED = 11, 4_242, 77
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "learning.png"
ROLE = re.compile(r"ROLE: (\w+)")
JOB = re.compile(r"job \d+\.\d+\.")


class Double:
    """What the scripted double says: the injected mend, or now and then nonsense."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.dice = random.Random(DOUBLE_SEED)
        self.asked: Counter[str] = Counter()
        """Calls by kind of fault."""

    def __call__(self, messages: list[Any]) -> dict[str, Any]:
        """Answer a prompt by its role."""
        role = ROLE.search(messages[0].text)
        prompt = messages[-1].text
        return getattr(self, role[1] if role else "none")(prompt)

    def _mend(self, prompt: str) -> dict[str, Any]:
        found = JOB.search(prompt)
        fault = self.world.truth[found[0]] if found else Fault("", {})
        self.asked[fault.kind] += 1
        if fault.patch is None or self.dice.random() < WRONG_SHARE:
            return {}
        return fault.patch

    def patch(self, prompt: str) -> dict[str, Any]:
        """Propose other arguments."""
        mend = self._mend(prompt)
        return {"arguments": mend, "why": "as injected", "confidence": 0.8}

    def reflect(self, prompt: str) -> dict[str, Any]:
        """Name the injected cause, or give up."""
        mend = self._mend(prompt)
        return {
            "hypotheses": ["the injected fault"],
            "decision": "patch" if mend else "give_up",
            "patch": mend or None,
            "lesson": "",
            "confidence": 0.8,
        }

    def replan(self, _prompt: str) -> dict[str, Any]:
        """Say that there is no other way."""
        return {"impossible": "the double cannot plan"}

    def tune(self, _prompt: str) -> dict[str, Any]:
        """Have nothing better."""
        return {"content": ""}

    meta = tune


@dataclass(frozen=True)
class Ran:
    """What one task took."""

    calls: int
    status: str
    faults: int
    unasked: int
    """Steps that a rule, a strategy or a snapshot mended."""
    fires_on_clean: int
    clean: int


async def _no_wait(_seconds: float) -> None:
    await asyncio.sleep(0)


def agent_in(world: World, store: Any = None) -> Any:
    """Return an agent that begins with nothing but what the store holds."""
    kit = world.toolkit()
    return create_mend_agent(
        ScriptedModel(script=Double(world)),
        tools=kit.tools,
        policies=kit.policies,
        checkpointer=InMemorySaver(),
        store=store,
        seeded=False,
        sleep=_no_wait,
        limits=Limits(clarifications=0),
    )


def stream(
    agent: Any, world: World, seed: int, count: int, share: float
) -> Iterator[Ran]:
    """Run seeded tasks one after the other."""
    dice = random.Random(seed)
    for number in range(count):
        plan = task(world, seed * 10_000 + number, dice, fault_share=share)
        faulty = _faulty(world, plan)
        given = {"task": plan["goal"], "plan": plan}
        state = _final(agent, given)
        yield _ran(state, faulty, len(plan["steps"]))


def _final(agent: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Run to the end; return the last state, whose thread is then dropped."""
    thread = str(given["task"])
    config = {"configurable": {"thread_id": thread}}
    agent.invoke(given, config)
    state = dict(agent.get_state(config).values)
    agent.checkpointer.delete_thread(thread)
    return state


def _faulty(world: World, plan: dict[str, Any]) -> set[str]:
    return {
        step["id"]
        for step in plan["steps"]
        if world.truth[step["description"]].patch is not None
    }


def _ran(state: dict[str, Any], faulty: set[str], steps: int) -> Ran:
    records = state["steps"].values()
    changed = {
        record["step_id"]
        for record in records
        for attempt in record["attempts"]
        if attempt["changed"]
    }
    return Ran(
        calls=state["report"]["model_calls"],
        status=state["status"],
        faults=len(faulty),
        unasked=len(faulty & changed) if not state["report"]["model_calls"] else 0,
        fires_on_clean=len(changed - faulty),
        clean=steps - len(faulty),
    )


def rules_of(agent: Any) -> list[MendRule]:
    """Return the rules that were distilled."""
    library = agent.held.deps.library(agent.held.deps.store)
    return [rule for rule in library.rules.all() if rule.source == "distilled"]


def main() -> None:
    """Print the curve, draw it, and end with one line of JSON."""
    quick = quick_wanted(__doc__)
    with tempfile.TemporaryDirectory() as place, opened(Path(place) / "w") as world:
        agent = agent_in(world)
        count = QUICK_TASKS if quick else TASKS
        learned = list(stream(agent, world, SEED, count, FAULT_SHARE))
        rules = rules_of(agent)
        tried = TRIED // 4 if quick else TRIED
        clean = list(stream(agent, world, OTHER_SEED, tried, 0.0))
        other = list(stream(agent, world, OTHER_SEED + 1, tried, FAULT_SHARE))
    report(learned, clean, other, rules, drawn=not quick)


def report(
    learned: list[Ran],
    clean: list[Ran],
    other: list[Ran],
    rules: list[MendRule],
    *,
    drawn: bool,
) -> None:
    """Say what was measured."""
    third = len(learned) // 3
    first, last = _rate(learned[:third]), _rate(learned[-third:])
    figures = {
        "calls_ratio": round(last / first, 4) if first else None,
        "false_fire_rate": round(_fires(clean), 4),
        "calls_per_fault_first_third": round(first, 4),
        "calls_per_fault_last_third": round(last, 4),
        "calls_per_fault_other_seeds": round(_rate(other), 4),
        "done_share": round(_share(learned), 4),
        "done_share_other_seeds": round(_share(other), 4),
        "false_fire_rate_beside_faults": round(_fires(other), 4),
        "clean_steps_tried": sum(run.clean for run in clean),
        "rules": len(rules),
        "rule_uses": sum(rule.hits for rule in rules),
        "misjudgements": sum(rule.misjudgements for rule in rules),
        "tasks": len(learned),
        "model": "scripted double, not a model",
        "wrong_answers": WRONG_SHARE,
        "seed": SEED,
        "versions": versions(),
    }
    _print(learned, rules)
    if drawn:
        draw(learned)
    print(json.dumps(figures))


def _rate(runs: list[Ran]) -> float:
    """Return model calls by injected fault."""
    faults = sum(run.faults for run in runs)
    return sum(run.calls for run in runs) / faults if faults else 0.0


def _share(runs: list[Ran]) -> float:
    return sum(run.status == "done" for run in runs) / len(runs)


def _fires(runs: list[Ran]) -> float:
    return sum(run.fires_on_clean for run in runs) / sum(run.clean for run in runs)


def _print(learned: list[Ran], rules: list[MendRule]) -> None:
    console = Console()
    table = Table("tasks", "faults", "model calls", "per fault", "done")
    size = max(1, len(learned) // 10)
    for start in range(0, len(learned), size):
        part = learned[start : start + size]
        table.add_row(
            f"{start + 1} to {start + len(part)}",
            str(sum(run.faults for run in part)),
            str(sum(run.calls for run in part)),
            f"{_rate(part):.2f}",
            f"{_share(part):.0%}",
        )
    console.print(table)
    for rule in rules:
        console.print(f"rule {rule.signature}: {rule.description} (used {rule.hits})")


def draw(learned: list[Ran]) -> None:
    """Draw the calls per fault over the tasks, as a moving mean of thirty."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    window = 30
    ends = range(window, len(learned) + 1)
    rates = [_rate(learned[end - window : end]) for end in ends]
    figure, axes = plt.subplots(figsize=(8, 3.5), dpi=120)
    axes.plot(list(ends), rates, color="#2563eb", linewidth=2)
    axes.set_xlabel("tasks done")
    axes.set_ylabel("model calls per fault")
    axes.set_ylim(bottom=0)
    axes.set_title("A failure paid for once (mean of 30 tasks; scripted double)")
    axes.grid(alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    IMAGE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGE)
    plt.close(figure)


if __name__ == "__main__":
    main()
