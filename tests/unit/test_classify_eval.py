"""The measurement itself: what counts as right, and what a bad file is told."""

import json

import pytest

from mendgraph.evals.classify import evaluate, main

RIGHT = {
    "id": "1",
    "group": "A",
    "input": "HTTP 429 Too Many Requests",
    "category": "env_error",
    "subclass": "service_unavailable",
    "transient": True,
    "reaction": "backoff",
}
WRONG = {**RIGHT, "id": "2", "category": "plan_error", "reaction": "replan"}
ALSO = {**WRONG, "id": "3", "also_acceptable": ["env_error/service_unavailable (x)"]}
UNLABELLED = {"id": "4", "input": "x"}


def write(path, *rows):
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_accuracies_count_labelled_cases_only(tmp_path):
    """A wrong label lowers its own measure, an unlabelled case none."""
    report = evaluate(write(tmp_path / "c.jsonl", RIGHT, WRONG, UNLABELLED))
    figures = [
        report[name] for name in ("category", "subclass", "transient", "reaction")
    ]
    assert (report["n"], figures) == (2, [0.5, 0.5, 1.0, 0.5])
    assert [row["id"] for row in report["details"]["misses"]] == ["2"]


def test_a_second_acceptable_class_counts_as_right(tmp_path):
    """`also_acceptable` holds class names with a remark in brackets."""
    report = evaluate(write(tmp_path / "c.jsonl", ALSO))
    assert (report["category"], report["subclass"]) == (1.0, 1.0)


def test_every_variant_must_be_right(tmp_path):
    """A case with variants is right only when all of them are."""
    case = {**RIGHT, "variants": [RIGHT["input"], "HTTP 404"]}
    assert evaluate(write(tmp_path / "c.jsonl", case))["category"] == 0.0


def test_confusions_and_scores_are_reported(tmp_path):
    """Precision, recall and F1 stand per category, confusions by class."""
    details = evaluate(write(tmp_path / "c.jsonl", RIGHT, WRONG))["details"]
    score = {"n": 1, "precision": 0.5, "recall": 1.0, "f1": 0.6667}
    assert details["categories"]["env_error"] == score
    confusion = {
        "expected": "plan_error/service_unavailable",
        "found": "env_error/service_unavailable",
        "count": 1,
    }
    assert details["confusions"] == [confusion]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"input": "x"', "line 1: no JSON"),
        ('{"input": "x"}\n[1]', "line 2: no object"),
        ('{"id": 1}', "line 1: no object with an `input`"),
        ("", "no labelled case"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, text, message):
    """The error says where to look."""
    path = tmp_path / "c.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        evaluate(path)


def test_an_unreadable_file_is_refused(tmp_path):
    """A missing file is an error in words."""
    with pytest.raises(ValueError, match="cannot read"):
        evaluate(tmp_path / "none.jsonl")


def test_main_prints_json_or_tables(tmp_path, capsys):
    """Machines get one line of JSON, people get tables."""
    path = write(tmp_path / "c.jsonl", RIGHT)
    main(path, as_json=True)
    assert json.loads(capsys.readouterr().out)["category"] == 1.0
    main(path, as_json=False)
    assert "precision" in capsys.readouterr().out
