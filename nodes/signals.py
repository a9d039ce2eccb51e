"""Messages that come in during the run: a small addition, another goal, or unclear (F63)."""

from typing import Any

from pydantic import Field

from mendgraph.nodes.pausing import ask_model
from mendgraph.nodes.prompts import signal_prompt
from mendgraph.nodes.schemas import SignalVerdict
from mendgraph.state.channels import MendState
from mendgraph.state.masking import mask
from mendgraph.state.plan import Plan
from mendgraph.state.record import Record
from mendgraph.tools.run import Run


class Heard(Record):
    """What the messages mean for the task."""

    task: str
    constraints: tuple[str, ...] = ()
    changed_goal: bool = False
    question: str | None = None
    notes: list[dict[str, Any]] = Field(default_factory=list)


async def read_signals(state: MendState, run: Run, pending: Any) -> Heard:
    """Read the new messages once and say what they mean.

    The messages are the user's; a model sorts them into three kinds and no more.
    """
    kept = await run.vault.signals()
    wanted = [key for key in pending["signals"] if key in kept]
    text = "\n".join(str(kept[key]["text"]) for key in wanted)
    plan = Plan.model_validate(state["plan"])
    task = str(state.get("task", ""))
    constraints = tuple(state.get("constraints") or ())
    thought = await ask_model(
        run,
        "signal",
        signal_prompt(task, text, plan, constraints),
        SignalVerdict,
        label=f"v{plan.version}:signal:{wanted[0] if wanted else '-'}",
    )
    for key in wanted:
        await run.vault.put_signal(key, {**kept[key], "read": True})
    note = {"kind": "signal", "text": mask(text)[:400], "at": run.now()}
    return _heard(task, text, thought.value, [note])


def _heard(
    task: str, text: str, verdict: SignalVerdict | None, notes: list[dict[str, Any]]
) -> Heard:
    if verdict is None or verdict.kind == "addition":
        return Heard(task=task, constraints=(text,), notes=notes)
    if verdict.kind == "unclear":
        question = verdict.question or f"What does this mean for the task: {text[:200]}"
        return Heard(task=task, constraints=(text,), question=question, notes=notes)
    return Heard(task=text, changed_goal=True, notes=notes)
