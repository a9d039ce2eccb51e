"""Probes: the cheapest look that would confirm a hypothesis, made by code (F29).

First CEL over outputs that are there already, then read-only tools that the rules allow
without asking. What cannot be judged confirms nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mendgraph.nodes.advice import error_view
from mendgraph.nodes.permit import ruling
from mendgraph.nodes.prepare import call_digest, upstream_outputs
from mendgraph.nodes.schemas import Probe
from mendgraph.nodes.work import Work
from mendgraph.state.policy import Effect
from mendgraph.state.record import Record
from mendgraph.tools.bindings import variables
from mendgraph.tools.call import call_tool
from mendgraph.tools.cel import RuleError, bounded_view
from mendgraph.tools.evaluate import holds
from mendgraph.tools.run import Run

MOST = 4
"""Probes made for one reflection."""
UNKNOWN_MS = 1_000.0
"""What a call of a tool nobody measured is taken to cost."""


class Probed(Record):
    """What the probes showed."""

    confirmed: tuple[int, ...] = ()
    """Indexes of hypotheses a probe confirmed, in order of cost."""
    refuted: tuple[int, ...] = ()
    evidence: tuple[str, ...] = ()
    """What was looked at, a line each."""

    @property
    def leading_refuted(self) -> bool:
        """The first hypothesis does not hold, and no other was confirmed."""
        return 0 in self.refuted and not self.confirmed


async def probe(
    work: Work, run: Run, probes: Sequence[Probe], most: int = MOST
) -> Probed:
    """Make the probes, the cheapest first, until one hypothesis is confirmed."""
    if not probes or not most:
        return Probed()
    known = await _known(work, run)
    confirmed: list[int] = []
    refuted: list[int] = []
    evidence: list[str] = []
    for each in sorted(probes, key=lambda one: _cost_ms(one, run))[:most]:
        held, told = await _look(each, work, run, known)
        evidence.append(told)
        if held is not None:
            (confirmed if held else refuted).append(each.confirms)
        if confirmed:
            break
    return Probed(
        confirmed=tuple(confirmed), refuted=tuple(refuted), evidence=tuple(evidence)
    )


def _cost_ms(each: Probe, run: Run) -> float:
    """Return what a probe takes: nothing for CEL, else the tool's usual time."""
    if not each.tool:
        return 0.0
    return run.library.knowledge.expected_ms(each.tool) or UNKNOWN_MS


async def _known(work: Work, run: Run) -> dict[str, Any]:
    seen = work.observation
    output = await run.output(seen.output_ref) if seen.output_ref else None
    try:
        upstream = await upstream_outputs(work, run)
    except (RuleError, KeyError):
        upstream = {}
    return {
        **variables(upstream),
        "args": seen.arguments,
        "output": bounded_view(output),
        "error": error_view(work.failures[-1]),
    }


async def _look(
    each: Probe, work: Work, run: Run, known: Mapping[str, Any]
) -> tuple[bool | None, str]:
    """Return whether a probe held (None: it tells nothing) and what was looked at."""
    if each.tool:
        value, told = await _call(each, run)
        if told:
            return None, told
        known = {**known, "output": bounded_view(value)}
    if not each.expression:
        return _answered(each, work, run)
    try:
        held = holds(each.expression, known)
    except RuleError as error:
        return None, f"probe {each.expression[:120]}: {error}"[:300]
    verdict = "holds" if held else "does not hold"
    return held, f"probe {each.expression[:200]}: {verdict}"


def _answered(each: Probe, work: Work, run: Run) -> tuple[bool | None, str]:
    """Judge a call that comes without a condition.

    Where the failed tool answers another call, what was changed made the difference;
    any other answer tells nothing by itself.
    """
    if not each.tool:
        return None, "probe: neither an expression nor a tool"
    entry = run.deps.registry.get(each.tool)
    failed = {a.arguments_digest for a in work.attempts if a.status == "failed"}
    another = call_digest(entry, each.arguments) not in failed
    if entry.name == work.observation.tool and another and work.failures:
        return True, f"probe {entry.name}: the failed tool answered the changed call"
    return None, f"probe {entry.name}: called, nothing to judge it by"


async def _call(each: Probe, run: Run) -> tuple[Any, str]:
    """Call a read-only tool; the second value says why there is nothing to judge."""
    name = each.tool or ""
    if name not in run.deps.registry:
        return None, f"probe {name}: no such tool"
    entry = run.deps.registry.get(name)
    rule = ruling(entry, each.arguments, run.deps.authorise)
    allowed = rule is None or rule.decision == "allow"
    if entry.policy.effect is not Effect.READ or not allowed:
        return None, f"probe {name}: not a read that may be made without asking"
    problems = entry.problems(each.arguments)
    if problems or run.reserve("executions", "seconds"):
        return None, f"probe {name}: {'; '.join(problems) or 'no budget'}"
    run.spend(executions=1)
    called = await call_tool(
        entry,
        each.arguments,
        timeout_s=entry.policy.timeout_s,
        clock=run.deps.clock,
        config=run.config,
    )
    failed = called.facts.message[:160] if called.facts else ""
    return called.value, f"probe {name} failed: {failed}" if called.facts else ""
