"""What a reader must know first: what is done, what is not, and why."""

from collections.abc import Iterable, Sequence

from mendgraph.nodes.economy import caf_warning
from mendgraph.report.records import Item, Meter, Node, Verdict
from mendgraph.report.sources import Sources
from mendgraph.report.tally import caf
from mendgraph.report.words import number, plural
from mendgraph.state.effect import LedgerEntry
from mendgraph.state.outcome import StepStatus, TaskStatus

HEADLINES: dict[TaskStatus, str] = {
    TaskStatus.DONE: "Done: {done} of {steps}",
    TaskStatus.PARTIAL: "Partly done: {done} of {steps}",
    TaskStatus.FAILED: "Failed: {done} of {steps} done",
    TaskStatus.CANCELLED: "Cancelled: {done} of {steps} done",
    TaskStatus.RUNNING: "Not finished yet: {done} of {steps} done",
}


def judge(sources: Sources, nodes: Sequence[Node], meters: Sequence[Meter]) -> Verdict:
    """Return the headline, the two lists and everything that needs a person's eye."""
    current = [node for node in nodes if not node.retired]
    done = [node for node in current if node.status is StepStatus.DONE]
    unfinished = [node for node in current if node.status is not StepStatus.DONE]
    return Verdict(
        headline=_headline(sources, len(done), len(current)),
        done=tuple(map(_item, done)),
        unfinished=tuple(map(_item, unfinished)),
        warnings=tuple(_warnings(sources, unfinished, meters)),
    )


def _headline(sources: Sources, done: int, total: int) -> str:
    if not total:
        return f"{sources.status.value.capitalize()}: there is no plan with steps"
    return HEADLINES[sources.status].format(done=done, steps=plural(total, "step"))


def _item(node: Node) -> Item:
    return Item(
        step_id=node.id,
        title=node.title or node.tool or "",
        status=node.status,
        why=node.why,
    )


def _warnings(
    sources: Sources, unfinished: Sequence[Node], meters: Sequence[Meter]
) -> Iterable[str]:
    if sources.status is TaskStatus.DONE and unfinished:
        yield (
            f"The thread says done, yet {plural(len(unfinished), 'step')} "
            "of the current plan is not done."
        )
    if sources.status is TaskStatus.RUNNING:
        yield "This is a picture of an unfinished run; resume it or look again later."
    for step_id, question in sources.asked.items():
        where = f" ({step_id})" if step_id else ""
        yield f"A person is asked{where}: {question}"
    if sources.state.get("plan") and sources.plan is None:
        yield "The plan of the thread could not be read; no steps are shown."
    if sources.stopped_by and sources.status is not TaskStatus.DONE:
        yield f"Stopped: {sources.stopped_by}"
    yield from (_doubt(entry) for entry in sources.effects if entry.in_doubt)
    yield from map(_spent_up, (meter for meter in meters if meter.exhausted))
    costly = caf_warning(caf(sources) or 0.0)
    if costly:
        yield f"{costly[0].upper()}{costly[1:]}."


def _doubt(entry: LedgerEntry) -> str:
    return (
        f"Nobody knows whether the effect of {entry.step_id} ({entry.tool}) happened: "
        f"its ledger entry is '{entry.status.value}'. Check before running it again."
    )


def _spent_up(meter: Meter) -> str:
    unit = f" {meter.unit}" if meter.unit else ""
    return (
        f"{meter.label} used up: {number(meter.spent)} of "
        f"{number(meter.allowed)}{unit}."
    )
