"""The classifier against the public cases, each one by itself and all together."""

import json
from pathlib import Path

import pytest

from mendgraph.evals.classify import accepted, evaluate
from mendgraph.nodes.classify import classify
from mendgraph.state.failure import Reaction
from mendgraph.tools.facts import from_text

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "cases.jsonl"
present = pytest.mark.skipif(
    not CASES.is_file(), reason="the shared cases are not beside this checkout"
)


def labelled():
    if not CASES.is_file():
        return []
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    return [row for row in rows if "category" in row]


@present
@pytest.mark.parametrize("case", labelled(), ids=lambda case: case["id"])
def test_a_public_case_gets_its_class(case):
    """Category, subclass, transience and reaction are those an expert gave."""
    for text in case.get("variants") or (case["input"],):
        found = classify(from_text(text))
        names = {found.subclass, found.document_subclass, "none"}
        pairs = [(found.category, name) for name in names]
        hits = [
            (category, subclass)
            for category, subclass in accepted(case)
            if any(category == c and subclass in (s, None) for c, s in pairs)
        ]
        assert hits, f"{found} for {case['id']}"
        if case.get("transient") is not None:
            assert case["transient"] == found.transient
        if case.get("reaction") in set(Reaction):
            assert case["reaction"] == found.reaction


@present
def test_waits_named_in_public_cases_are_read():
    """A wait that the message names is the wait of the class."""
    stated = [case for case in labelled() if case.get("stated_wait_s")]
    assert stated
    for case in stated:
        assert case["stated_wait_s"] == classify(from_text(case["input"])).wait_s


@present
def test_the_yardstick_is_met():
    """The four accuracies stay above their marks."""
    report = evaluate(CASES)
    assert report["category"] >= 0.95
    assert report["subclass"] >= 0.90
    assert report["transient"] >= 0.95
    assert report["reaction"] >= 0.90
