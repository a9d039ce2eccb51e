"""The labelled set of injected failures and the scores on it (F33)."""

from collections import Counter

import pytest

from mendgraph.evals.guesser import FIXES, LOOKS, WRONG_SHARE, Guess
from mendgraph.evals.injected import PER_CATEGORY, injected_set
from mendgraph.evals.scores import baselines, scores, summary
from mendgraph.state.algebra import structural_problems
from mendgraph.state.plan import Plan
from mendgraph.tools.bindings import expressions
from mendgraph.tools.cel import compile_rule

CASES = list(injected_set())


def test_the_set_has_thirty_failures_of_each_category():
    """A hundred and twenty, the same every time."""
    assert Counter(case.category for case in CASES) == dict.fromkeys(
        FIXES, PER_CATEGORY
    )
    assert list(injected_set()) == CASES
    assert list(injected_set(seed=1)) != CASES


def test_every_case_is_a_plan_that_can_be_read():
    """Its bindings and rules compile; what fails is what was injected."""
    for case in CASES:
        plan = Plan.model_validate({"steps": case.steps})
        assert structural_problems(plan, max_steps=5) == []
        for step in plan.steps:
            named = [e.names() for e in expressions(step.inputs)]
            known = {*step.dependencies, "steps"}
            assert frozenset().union(*named) <= known
            compile_rule(step.validation_rule or step.precondition_rule or "true")


def test_the_double_errs_in_about_the_share_it_says():
    """Its look is that of the cause it names, right or wrong, and compiles."""
    guesses = [Guess.of(case, number) for number, case in enumerate(CASES)]
    wrong = sum(not guess.right for guess in guesses) / len(guesses)
    assert wrong == pytest.approx(WRONG_SHARE, abs=0.05)
    for case, guess in zip(CASES, guesses, strict=True):
        assert guess.right is (guess.category is case.category)
        assert guess.probe == LOOKS[guess.category](case)
        compile_rule(guess.probe["expression"])


PAIRS = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "b"), ("c", "a")]


def test_scores_are_those_of_the_textbook():
    """Precision by what was said, recall by what was true, F1 between them."""
    assert scores(PAIRS)["a"] == {"n": 2, "precision": 0.5, "recall": 0.5, "f1": 0.5}
    assert scores(PAIRS)["b"] == {
        "n": 2,
        "precision": 0.6667,
        "recall": 1.0,
        "f1": 0.8,
    }
    assert scores(PAIRS)["c"]["f1"] == 0.0
    assert summary(PAIRS) == {"accuracy": 0.6, "macro_f1": 0.4333}


def test_the_baselines_say_one_label_always():
    """The commonest and a constant one, scored the same way."""
    found = baselines(PAIRS, "c")
    assert found["majority"]["accuracy"] == 0.4
    assert found["constant c"]["accuracy"] == 0.2
