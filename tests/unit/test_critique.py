"""Self-evaluation stops in time and never returns something worse."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from mendgraph.nodes.critique import CRITERIA, refine
from mendgraph.nodes.prompts import critique_prompt
from mendgraph.nodes.schemas import Critique


def run(scores: list[float | None], revisions: int = 9):
    """Refine version 0 with these scores; return the result and what was judged."""
    judged: list[int] = []

    async def judge(version: int) -> Critique | None:
        judged.append(version)
        score = scores[len(judged) - 1]
        return None if score is None else Critique(score=score, issues=[f"i{version}"])

    async def revise(version: int, verdict: Critique) -> int | None:
        assert verdict.issues == [f"i{version}"]
        return version + 1 if version < revisions else None

    return asyncio.run(refine(0, judge, revise)), judged


def test_a_good_first_version_takes_one_critique():
    """At 0.85 nothing is revised."""
    result, judged = run([0.85])
    assert (result.content, result.score, result.rounds) == (0, 0.85, 1)
    assert judged == [0]


def test_at_most_three_rounds():
    """Ever better versions still end after three critiques."""
    result, judged = run([0.5, 0.6, 0.7, 0.8])
    assert (result.content, result.score, result.rounds) == (2, 0.7, 3)
    assert judged == [0, 1, 2]


def test_it_stops_when_a_revision_is_no_better():
    """The better earlier version wins, with the issues it has."""
    result, judged = run([0.6, 0.6, 0.9])
    assert (result.content, result.score, result.issues) == (0, 0.6, ("i0",))
    assert (judged, result.scores) == ([0, 1], (0.6, 0.6))


def test_without_a_judge_the_first_version_stays():
    """No critique to be had is no reason to fail."""
    result, _ = run([None])
    assert (result.content, result.score, result.rounds) == (0, None, 0)


def test_without_a_revision_the_judged_version_stays():
    """A reviser with nothing to offer ends it."""
    result, judged = run([0.3, 0.9], revisions=0)
    assert (result.content, result.score, judged) == (0, 0.3, [0])


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_the_best_judged_version_always_wins(scores):
    """Whatever the scores, the result has the highest one that was given."""
    result, judged = run(scores)
    given_ = scores[: len(judged)]
    assert result.score == max(given_)
    assert result.content == given_.index(max(given_))


def test_the_prompt_names_its_role_and_criteria():
    """What is judged stands in a data fence; the criteria fit the subject."""
    prompt = critique_prompt("result", CRITERIA["result"], "rows: 3", task="count")
    assert "ROLE: critique" in prompt["system"]
    assert CRITERIA["result"][0] in prompt["system"]
    assert '<untrusted_data label="result">' in prompt["user"]
