"""Pure arithmetic over counted outcomes: quantiles, thresholds, calibration."""

import math
from collections.abc import Mapping

BASE = 1.25
"""Each latency bucket is a quarter wider than the one before."""
ALARM_RATE = 0.3
"""Share of false alarms above which a deviation threshold is raised (F21)."""
FEW_ALARMS = 10
HIGHEST_THRESHOLD = 0.9
FEW_OUTCOMES = 10
"""Outcomes a class needs before its confidence means anything."""
PRIOR = 4.0
"""Outcomes by which one band of confidence is drawn to the mean of its class."""


def bucket(value_ms: float) -> int:
    """Return the number of the latency bucket that holds a value in ms."""
    return max(0, math.ceil(math.log(max(value_ms, 1.0), BASE)))


def quantile(counts: Mapping[int, float], share: float) -> float | None:
    """Return the latency in ms under which a share (0..1) of the calls ended.

    Args:
        counts: Bucket → number of calls.
        share: 0.5 for the median.

    Returns:
        The middle of the bucket, at most 12 % off; None without calls.
    """
    total = sum(counts.values())
    if total <= 0:
        return None
    reached = 0.0
    for number in sorted(counts):
        reached += counts[number]
        if reached >= share * total:
            return float(BASE ** (number - 0.5)) if number else 1.0
    return None


def raised_threshold(base: float, alarms: float, false_alarms: float) -> float:
    """Return the deviation threshold, raised by the measured rate of false alarms.

    Args:
        base: The documented threshold, 0..1.
        alarms: Soft triggers that fired.
        false_alarms: Those after which nothing was wrong.
    """
    if alarms < FEW_ALARMS or false_alarms / alarms <= ALARM_RATE:
        return base
    excess = false_alarms / alarms - ALARM_RATE
    return min(HIGHEST_THRESHOLD, base * (1 + 2 * excess))


def laplace(right: float, count: float) -> float:
    """Return the share of right outcomes with one right and one wrong added."""
    return (right + 1) / (count + 2)


def calibrated(
    band: tuple[float, float], group: tuple[float, float], few: int = FEW_OUTCOMES
) -> float | None:
    """Return the calibrated confidence, 0..1, or None while there is too little.

    A beta-binomial estimate: the band's outcomes are drawn towards its group's mean.

    Args:
        band: Right and all outcomes that had about this raw confidence.
        group: The same of the whole class.
        few: Outcomes the class needs.
    """
    if group[1] < few:
        return None
    mean = laplace(*group)
    return (band[0] + PRIOR * mean) / (band[1] + PRIOR)
