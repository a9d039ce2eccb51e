"""The causal chain of a failure, collected by code before a model is asked (F26).

Which outputs fed the failed step, through which arguments, which checks they passed,
what speaks against them. Where a bad text came from further up is looked up as well.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import to_json

from mendgraph.nodes.prepare import shortened, upstream_outputs
from mendgraph.nodes.suspicion import BLAMED_FROM, Fed, Suspicion, suspicions
from mendgraph.nodes.work import Work
from mendgraph.state.failure import Failure
from mendgraph.state.masking import mask, mask_value
from mendgraph.state.outcome import StepStatus
from mendgraph.state.record import Record
from mendgraph.tools.bindings import BindingError, expressions, render, templates
from mendgraph.tools.cel import RuleError, compile_rule
from mendgraph.tools.run import Run

LOOKED_THROUGH = 20
"""Earlier outputs in which a bad text is looked for."""
LONGEST_LOOK = 200_000
SHORTEST_NEEDLE = 12
OUTPUT_SHOWN = 300


class Link(Record):
    """One upstream output that fed the failed step."""

    step_id: str
    fed: tuple[str, ...] = ()
    """Arguments of the failed step that read it."""
    passed: str
    """Which checks its result passed, in words."""
    digest: str
    against: tuple[str, ...] = ()


class Chain(Record):
    """The links, and what speaks against them, the strongest first."""

    links: tuple[Link, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()

    @property
    def suspect(self) -> Suspicion | None:
        """What most likely is to blame, where the evidence is strong enough."""
        first = next(iter(self.suspicions), None)
        return first if first and first.strength >= BLAMED_FROM else None

    @property
    def step_ids(self) -> frozenset[str]:
        """Steps the chain speaks of."""
        linked = {link.step_id for link in self.links}
        return frozenset(linked | {each.step_id for each in self.suspicions})

    @property
    def evidence(self) -> tuple[str, ...]:
        """A line for each suspicion, for the record."""
        return tuple(
            f"upstream {each.step_id} → {each.argument}: {each.what}"[:300]
            for each in self.suspicions[:5]
        )

    def told(self) -> dict[str, str]:
        """Return what a prompt says of each link, the telling things first."""
        return {link.step_id: _told(link) for link in self.links}


def _told(link: Link) -> str:
    parts = [
        f"fed {', '.join(link.fed)}" if link.fed else "read by no argument",
        f"passed {link.passed}",
        *(f"SUSPICIOUS: {each}" for each in link.against[:3]),
        f"output {link.digest}",
    ]
    return "; ".join(parts)[:900]


async def trace(work: Work, run: Run) -> Chain:
    """Return the causal chain of the newest failure."""
    failure = work.failures[-1]
    try:
        outputs = await upstream_outputs(work, run)
    except (RuleError, KeyError):
        return Chain()
    kept = await run.vault.outcomes(work.state["round"])
    fed = list(_fed(work, run, outputs))
    found = [each for one in fed for each in suspicions(one, failure)]
    traced = [await _origin(work, run, each, kept) for each in found]
    ordered = sorted(traced, key=lambda each: -each.strength)
    links = tuple(_link(i, outputs[i], fed, ordered, kept) for i in sorted(outputs))
    return Chain(links=links, suspicions=tuple(ordered))


def _fed(work: Work, run: Run, outputs: Mapping[str, Any]) -> Iterator[Fed]:
    """Yield each argument that was filled from an upstream output."""
    inputs = work.step.templates if work.call.inputs is None else work.call.inputs
    for name, template in inputs.items():
        if name in work.call.changes:
            continue
        sources = list(templates(template))
        known = frozenset(outputs)
        read = [e.step_references(known) for e in expressions(template)]
        steps = tuple(sorted(frozenset[str]().union(*read)))
        if steps:
            value, missing = _filled(template, outputs)
            yield Fed(
                argument=name,
                expression=", ".join(sources)[:160],
                steps=_guilty(steps, sources, outputs) if missing else steps,
                value=value,
                missing=missing,
                misfit=None if missing else _misfit(work, run, name, value),
                outputs={i: outputs[i] for i in steps},
            )


def _filled(template: Any, outputs: Mapping[str, Any]) -> tuple[Any, str | None]:
    try:
        return render(template, outputs), None
    except (BindingError, RuleError) as error:
        return None, str(error)[:200]


def _guilty(
    steps: tuple[str, ...], sources: list[str], outputs: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the steps read by the templates that cannot be filled."""
    broken: set[str] = set()
    for source in sources:
        if _filled(f"{{{{ {source} }}}}", outputs)[1]:
            broken |= compile_rule(source).step_references(frozenset(steps))
    return tuple(sorted(broken)) or steps


def _misfit(work: Work, run: Run, name: str, value: Any) -> str | None:
    """Return why a value does not fit the schema of the argument it fills."""
    problems = work.entry(run).problems({name: value})
    told = (p for p in problems if f"{name}'" in p or f"'{name}." in p)
    return next((p for p in told if p.startswith(f"argument '{name}")), None)


async def _origin(
    work: Work, run: Run, suspicion: Suspicion, kept: Mapping[str, Any]
) -> Suspicion:
    """Move a suspicion to the earliest step whose output has the same bad text."""
    needle = suspicion.needle
    if not needle or len(needle) < SHORTEST_NEEDLE:
        return suspicion
    for step_id, reference in _before(work, kept)[:LOOKED_THROUGH]:
        if step_id == suspicion.step_id:
            break
        text = _plain(await run.output(reference))[:LONGEST_LOOK]
        if _plain(needle).strip('"') in text:
            via = f"{suspicion.what}; it came through {suspicion.step_id}"
            return suspicion.but(step_id=step_id, what=via)
    return suspicion


def _before(work: Work, kept: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return finished steps of the round and their outputs, the earliest first."""
    ended = [
        (outcome["record"]["attempts"][-1]["ended_at"], step_id, reference)
        for step_id, outcome in kept.items()
        if step_id != work.step.id
        and outcome["record"]["status"] == StepStatus.DONE
        and outcome["record"]["attempts"]
        and (reference := outcome["record"]["output_ref"])
    ]
    return [(step_id, reference) for _, step_id, reference in sorted(ended)]


def _link(
    step_id: str,
    output: Any,
    fed: list[Fed],
    found: list[Suspicion],
    kept: Mapping[str, Any],
) -> Link:
    read = tuple(one.argument for one in fed if step_id in one.steps)
    shown = mask(_plain(mask_value(shortened(output, OUTPUT_SHOWN))))
    return Link(
        step_id=step_id,
        fed=read,
        passed=_passed(kept.get(step_id)),
        digest=shown[:600],
        against=tuple(
            f"{each.argument}: {each.what}" for each in found if each.step_id == step_id
        ),
    )


def _passed(outcome: Mapping[str, Any] | None) -> str:
    """Say what was checked of a finished step; only what passed every check is done."""
    summary = (outcome or {}).get("record", {}).get("summary") or {}
    facts = [
        f"{name} {summary[name]}"
        for name in ("rows", "size_bytes")
        if summary.get(name) is not None
    ]
    facts += ["an empty result was legitimate"] if summary.get("empty") else []
    facts += [f"noted: {note[:80]}" for note in summary.get("notes") or ()]
    return "every check made of it" + (f" ({', '.join(facts)})" if facts else "")


def _plain(value: Any) -> str:
    return to_json(value).decode(errors="replace")


def blamed(chain: Chain, failure: Failure, step_id: str) -> str:
    """Return the rules' own hypothesis, in a sentence."""
    if chain.suspect is None:
        return failure.classification.reason
    return f"step {chain.suspect.step_id} {chain.suspect.what} (fed {step_id})"
