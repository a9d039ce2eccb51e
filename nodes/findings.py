"""What was found out about a hypothesis: probes by confidence band, then a replay."""

from mendgraph.nodes.bands import PROBES, Band
from mendgraph.nodes.counterfactual import Replayed, replay
from mendgraph.nodes.probes import Probed, probe
from mendgraph.nodes.schemas import ReflectionDraft
from mendgraph.nodes.work import Work
from mendgraph.state.record import Record
from mendgraph.tools.run import Run


class Findings(Record):
    """Evidence on the hypotheses of one reflection."""

    confirmed: str | None = None
    """The hypothesis that a probe or a replay confirmed."""
    refuted: bool = False
    """The leading hypothesis does not hold, and no other was confirmed."""
    ruled_out: tuple[int, ...] = ()
    """Indexes of hypotheses that a probe refuted."""
    supported: bool = False
    """Most samples agree: an opinion, which confirms nothing."""
    evidence: tuple[str, ...] = ()


async def findings(
    work: Work, run: Run, draft: ReflectionDraft, band: Band, *, light: bool
) -> Findings:
    """Probe as far as the band asks for; replay where that is safe and asked for."""
    probed = await probe(work, run, draft.probes, PROBES[band])
    replayed = Replayed(None, "")
    wanted = draft.counterfactual
    if wanted and wanted.step and not light and band is not Band.ACT:
        replayed = await replay(work, run, wanted)
    if replayed.influence and run.deps.learn:
        await run.library.influences.add(replayed.influence)
    told = (replayed.told,) if replayed.told else ()
    return Findings(
        confirmed=_confirmed(draft, probed, replayed),
        refuted=probed.leading_refuted and not replayed.held,
        ruled_out=tuple(i for i in probed.refuted if i not in probed.confirmed),
        evidence=(*probed.evidence, *told),
    )


def _confirmed(
    draft: ReflectionDraft, probed: Probed, replayed: Replayed
) -> str | None:
    for index in probed.confirmed:
        if 0 <= index < len(draft.hypotheses):
            return draft.hypotheses[index][:300]
    if replayed.held:
        return next(iter(draft.hypotheses), replayed.told)[:300]
    return None
