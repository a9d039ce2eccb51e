"""Messages that come in during the run: an addition, another goal, unclear (F63)."""

from typing import Any, Literal, cast

from pydantic import Field

from mendgraph.nodes.pausing import ask_model
from mendgraph.nodes.prompts import signal_prompt
from mendgraph.nodes.schemas import SignalVerdict
from mendgraph.state.channels import MendState
from mendgraph.state.events import EventKind
from mendgraph.state.masking import mask
from mendgraph.state.plan import Plan
from mendgraph.state.record import Record
from mendgraph.tools.run import Run

SIGNALLED = "signal"
"""Among what a board was told: a message or an event waits, so nothing new begins."""
Meaning = Literal["note", "addition", "changed_goal", "unclear"]


class Heard(Record):
    """What the messages mean for the task."""

    kind: Meaning
    text: str
    """The user's own words; several messages stand one a line."""
    question: str = ""
    notes: list[dict[str, Any]] = Field(default_factory=list)


async def unread_signals(run: Run) -> list[str]:
    """Return the keys of messages nobody has read, the oldest first.

    A sub-task leaves them to its parent: they are about the whole task.
    """
    if run.deps.depth:
        return []
    kept = await run.vault.signals()
    return sorted(key for key, value in kept.items() if not value.get("read"))


async def read_signals(state: MendState, run: Run, keys: list[str]) -> Heard:
    """Read messages once and say what they mean.

    They are the user's; a model sorts them into three kinds and no more. Without a
    verdict they are noted and the run goes on. The keys are in the checkpoint, so a
    crash after the mark reads them again.
    """
    kept = await run.vault.signals()
    wanted = [key for key in keys if key in kept]
    text = "\n".join(str(kept[key].get("text", "")) for key in wanted)
    verdict, problem = await _verdict(state, run, text, wanted)
    for key in wanted:
        read = {**kept[key], "read": True, "read_at": run.now()}
        await run.vault.put_signal(key, read)
    heard = Heard(
        kind=cast("Meaning", verdict.kind) if verdict else "note",
        text=text,
        question=verdict.question if verdict else "",
    )
    said = f"{mask(text)[:400]} ({heard.kind}{f': {problem}' if problem else ''})"
    run.emit(EventKind.NOTE, f"message from the user: {said}", signal=heard.kind)
    note = {"kind": "signal", "text": said, "heard_as": heard.kind, "at": run.now()}
    return heard.but(notes=[note])


async def _verdict(
    state: MendState, run: Run, text: str, keys: list[str]
) -> tuple[SignalVerdict | None, str]:
    """Return the model's sorting, or why there is none."""
    if run.deps.reasoner is None:
        return None, "there is no model to plan it in"
    plan = Plan.model_validate(state["plan"])
    known = tuple(state.get("constraints") or ())
    thought = await ask_model(
        run,
        "signal",
        signal_prompt(str(state.get("task", "")), text, plan, known),
        SignalVerdict,
        label=f"v{plan.version}:signal:{keys[0] if keys else '-'}",
    )
    return thought.value, thought.problem or ""
