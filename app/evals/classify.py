"""Measure the classifier on a file of labelled cases (`mendgraph eval classify`)."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mendgraph.nodes.classify import classify
from mendgraph.state.failure import Classification, Subclass
from mendgraph.tools.facts import from_text

MEASURES = ("category", "subclass", "transient", "reaction")
NO_FAULT = frozenset({Subclass.CANCELLED, Subclass.NOT_AN_ERROR})


def evaluate(path: Path | str) -> dict[str, Any]:
    """Return accuracies (0..1) on a file of cases, one JSON object a line.

    The facts come from `input` alone (from each of `variants` where given, and then all
    must be right). A label in `also_acceptable` counts as right. Cases without labels
    are left out.

    Raises:
        ValueError: A line is no labelled case, or the file holds none.
    """
    rows = [_judge(case) for case in read_cases(path) if "category" in case]
    if not rows:
        raise ValueError(f"{path} holds no labelled case")
    return {
        "n": len(rows),
        **{measure: _share(row[measure] for row in rows) for measure in MEASURES},
        "details": {
            "counted": {m: sum(row[m] is not None for row in rows) for m in MEASURES},
            "categories": _scores(rows),
            "confusions": _confusions(rows),
            "misses": [row for row in rows if any(row[m] is False for m in MEASURES)],
        },
    }


def read_cases(path: Path | str) -> list[dict[str, Any]]:
    """Return the cases of a file.

    Raises:
        ValueError: The file cannot be read, or a line is no case; it names the line.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    numbered = ((n, line) for n, line in enumerate(lines, 1) if line.strip())
    return [_case(path, number, line) for number, line in numbered]


def main(path: Path | str, as_json: bool) -> None:
    """Print the measures of a case file: tables for people, or one line of JSON."""
    report = evaluate(path)
    if as_json:
        print(json.dumps(report, ensure_ascii=False))  # noqa: T201 - the JSON is the output
        return
    console = Console()
    for table in (_summary(report), _category_table(report), _confusion_table(report)):
        console.print(table)


def _case(path: Path | str, number: int, line: str) -> dict[str, Any]:
    try:
        case = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: no JSON: {error}") from error
    has_input = isinstance(case, dict) and isinstance(case.get("input"), str)
    if not has_input:
        raise ValueError(f"{path}, line {number}: no object with an `input` text")
    return dict(case)


def _judge(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was found for a case and which measures are right."""
    texts = case.get("variants") or (case["input"],)
    found = [classify(from_text(text)) for text in texts]
    wrong = next((f for f in found if not _is_right(case, f)), found[0])
    return {
        "id": case.get("id", ""),
        "group": case.get("group", ""),
        "expected": f"{case['category']}/{case.get('subclass')}",
        "found": f"{wrong.category}/{wrong.document_subclass}",
        "rule": wrong.rule,
        "expected_category": case["category"],
        "found_category": _credited(case, wrong),
        "category": all(_category_right(case, f) for f in found),
        "subclass": _when_labelled(case, "subclass", found, _is_right),
        "transient": _when_labelled(case, "transient", found, _transient_right),
        "reaction": _when_labelled(case, "reaction", found, _reaction_right),
    }


def _when_labelled(
    case: Mapping[str, Any], label: str, found: Iterable[Classification], right: Any
) -> bool | None:
    return None if case.get(label) is None else all(right(case, f) for f in found)


def accepted(case: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Return every accepted (category, subclass); a subclass of None fits any."""
    pairs: list[tuple[str, str | None]] = [(case["category"], case.get("subclass"))]
    for entry in case.get("also_acceptable") or ():
        name = entry.split("(")[0].strip()
        category, _, subclass = name.partition("/")
        pairs.append((category.strip(), subclass.strip() or None))
    return pairs


def _names(found: Classification) -> set[str]:
    names = {str(found.subclass), str(found.document_subclass)}
    return names | ({"none"} if found.subclass in NO_FAULT else set())


def _is_right(case: Mapping[str, Any], found: Classification) -> bool:
    names = _names(found)
    return any(
        _same_category(category, found) and (subclass is None or subclass in names)
        for category, subclass in accepted(case)
    )


def _category_right(case: Mapping[str, Any], found: Classification) -> bool:
    return any(_same_category(category, found) for category, _ in accepted(case))


def _same_category(category: str, found: Classification) -> bool:
    return category in {str(found.category), str(found.subclass)}


def _credited(case: Mapping[str, Any], found: Classification) -> str:
    """Return the category for the confusions: an accepted one counts as the label."""
    right = _category_right(case, found)
    return str(case["category"]) if right else str(found.category)


def _transient_right(case: Mapping[str, Any], found: Classification) -> bool:
    return bool(case["transient"] == found.transient)


def _reaction_right(case: Mapping[str, Any], found: Classification) -> bool:
    return bool(case["reaction"] == found.reaction)


def _share(marks: Iterable[bool | None]) -> float | None:
    counted = [mark for mark in marks if mark is not None]
    return round(sum(counted) / len(counted), 4) if counted else None


def _scores(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    names = sorted({row["expected_category"] for row in rows})
    return {name: _score(rows, name) for name in names}


def _score(rows: list[dict[str, Any]], name: str) -> dict[str, float]:
    hits = sum(
        row["expected_category"] == row["found_category"] == name for row in rows
    )
    said = sum(row["found_category"] == name for row in rows)
    truly = sum(row["expected_category"] == name for row in rows)
    precision = hits / said if said else 0.0
    recall = hits / truly
    total = precision + recall
    return {
        "n": truly,
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(2 * precision * recall / total, 4) if total else 0.0,
    }


def _confusions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    wrong = Counter(
        (row["expected"], row["found"]) for row in rows if row["subclass"] is False
    )
    return [
        {"expected": expected, "found": found, "count": count}
        for (expected, found), count in wrong.most_common()
    ]


def _summary(report: Mapping[str, Any]) -> Table:
    table = Table("measure", "accuracy", "cases", title=f"{report['n']} labelled cases")
    for measure in MEASURES:
        value = report[measure]
        shown = "not labelled" if value is None else f"{value:.3f}"
        table.add_row(measure, shown, str(report["details"]["counted"][measure]))
    return table


def _category_table(report: Mapping[str, Any]) -> Table:
    table = Table("category", "cases", "precision", "recall", "F1")
    for name, score in report["details"]["categories"].items():
        figures = (f"{score[key]:.3f}" for key in ("precision", "recall", "f1"))
        table.add_row(name, str(score["n"]), *figures)
    return table


def _confusion_table(report: Mapping[str, Any]) -> Table:
    table = Table("expected", "found", "count", title="confusions")
    for entry in report["details"]["confusions"]:
        table.add_row(entry["expected"], entry["found"], str(entry["count"]))
    return table
