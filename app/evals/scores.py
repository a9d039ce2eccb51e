"""Precision, recall and F1 by label, and the baselines they are measured against."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

Pair = tuple[str, str]
"""Truth, then what was said."""


def scores(pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """Return `n`, `precision`, `recall` and `f1` (0..1) of each true label."""
    return {label: _score(pairs, label) for label in sorted({t for t, _ in pairs})}


def _score(pairs: Sequence[Pair], label: str) -> dict[str, float]:
    hits = sum(truth == said == label for truth, said in pairs)
    said = sum(said == label for _, said in pairs)
    true = sum(truth == label for truth, _ in pairs)
    precision, recall = hits / said if said else 0.0, hits / true
    total = precision + recall
    return {
        "n": true,
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(2 * precision * recall / total, 4) if total else 0.0,
    }


def summary(pairs: Sequence[Pair]) -> dict[str, float]:
    """Return accuracy and the mean F1 over the labels."""
    each = scores(pairs)
    return {
        "accuracy": round(sum(t == s for t, s in pairs) / len(pairs), 4),
        "macro_f1": round(sum(one["f1"] for one in each.values()) / len(each), 4),
    }


def baselines(pairs: Sequence[Pair], constant: str) -> dict[str, dict[str, float]]:
    """Return what saying the commonest label, or always one label, would score."""
    truths = [truth for truth, _ in pairs]
    commonest = Counter(truths).most_common(1)[0][0]
    return {
        "majority": summary([(truth, commonest) for truth in truths]),
        f"constant {constant}": summary([(truth, constant) for truth in truths]),
    }


def confusions(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return the confusions, the commonest first."""
    wrong = Counter(pair for pair in pairs if pair[0] != pair[1])
    return [
        {"expected": truth, "found": said, "count": count}
        for (truth, said), count in wrong.most_common()
    ]
