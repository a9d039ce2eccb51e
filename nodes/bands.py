"""What a calibrated confidence allows: act, verify first, or gather evidence (F29).

The bands are those of the adaptive planning document, section 6.3. Until outcomes are
there a stated confidence is unknown, and unknown neither stops nor speeds a decision.
"""

from enum import StrEnum

from mendgraph.state.lesson import NextAction

ACT, VERIFY = 0.8, 0.6


class Band(StrEnum):
    """How far a cause may be trusted."""

    ACT = "act"
    VERIFY = "verify"
    EXPLORE = "explore"
    UNKNOWN = "unknown"


PROBES: dict[Band, int] = {
    Band.ACT: 0,
    Band.VERIFY: 1,
    Band.EXPLORE: 4,
    Band.UNKNOWN: 4,
}
"""Probes made before a decision, the cheapest first."""

SMALLEST_FIRST = (
    NextAction.RETRY,
    NextAction.PATCH,
    NextAction.FALLBACK,
    NextAction.LOCAL_REPLAN,
    NextAction.GLOBAL_REPLAN,
    NextAction.CLARIFY,
)
"""Corrections by how much they touch."""


def band_of(confidence: float | None) -> Band:
    """Return the band of a calibrated confidence, 0..1; None is unknown."""
    if confidence is None:
        return Band.UNKNOWN
    if confidence >= ACT:
        return Band.ACT
    return Band.VERIFY if confidence >= VERIFY else Band.EXPLORE


def safest(
    wanted: NextAction,
    band: Band,
    *,
    confirmed: bool,
    refuted: bool,
    patch: bool,
    fallback: bool,
) -> NextAction:
    """Return the decision, made smaller where the cause is doubtful.

    A change built on a refuted cause is not carried out.

    Args:
        wanted: What the reflection would do.
        band: What its calibrated confidence allows.
        confirmed: A probe or a rerun confirmed a cause.
        refuted: The leading hypothesis was refuted.
        patch: There are arguments to change.
        fallback: The step has something else to try.
    """
    settled = confirmed or not (refuted or band is Band.EXPLORE)
    if settled or wanted not in SMALLEST_FIRST or wanted is NextAction.CLARIFY:
        return wanted
    if refuted:
        return NextAction.FALLBACK if fallback else NextAction.LOCAL_REPLAN
    if patch and wanted is not NextAction.RETRY:
        return NextAction.PATCH
    replanning = wanted is NextAction.GLOBAL_REPLAN
    return NextAction.LOCAL_REPLAN if replanning else wanted
