"""The planner's context stays within its tokens however long the history."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mendgraph.nodes.context_budget import (
    SHARES,
    History,
    Item,
    Line,
    Listing,
    Words,
    allot,
    build,
)
from mendgraph.nodes.stages import DETAIL_TOKENS, NEWEST
from mendgraph.nodes.token_cut import clip
from mendgraph.state.tokens import count_tokens

few = settings(max_examples=settings().max_examples // 3)
TOTAL = 8_000
LOREM = "The report of the month was read and every figure in it was summed again. "


def lines(failed: set[int], count: int = 200, words: int = 2) -> list[Line]:
    return [
        Line(
            step_id=f"s{i}",
            status="failed" if i in failed else "done",
            detail=f"detail-{i} {LOREM * words}",
            tool="query",
            conclusion=f"rows {i}",
        )
        for i in range(count)
    ]


@few
@given(st.sets(st.integers(0, 199), max_size=200), st.integers(1, 8))
def test_any_history_of_200_steps_fits(failed, words):
    """200 steps fit; the newest five and every failed step are still there."""
    sections = [
        Words("task", LOREM * 150),
        Words("knowledge", LOREM * 150),
        Listing("lessons", [Item(text=LOREM * 3)] * 200),
        History(lines(failed, words=words)),
        Words("failure", LOREM * 150),
    ]
    built = build(sections, TOTAL)
    assert built.tokens <= TOTAL
    for index in {*failed, *range(200 - NEWEST, 200)}:
        status = "failed" if index in failed else "done"
        assert f"\ns{index} [{status}]" in f"\n{built.texts['steps']}"


@few
@given(st.sets(st.integers(0, 199), max_size=12))
def test_details_of_failed_and_newest_steps_stay_whole(failed):
    """With a dozen failures nothing of the newest and the failed ones is cut."""
    history = lines(failed)
    text = build([History(history)], int(TOTAL * SHARES["steps"])).texts["steps"]
    for index in {*failed, *range(200 - NEWEST, 200)}:
        assert history[index].detail.strip() in text
    assert "stage s" in text


def test_a_detail_is_bounded():
    """One endless error cannot take the place of everything else."""
    long = Line(step_id="s1", status="failed", detail=LOREM * 500)
    text, _ = History([long]).fit(10_000)
    assert count_tokens(text) <= DETAIL_TOKENS + 1


def test_older_steps_become_stage_summaries():
    """A stage says which steps it stands for, how they ended and the last result."""
    text, notes = History(lines(set())).fit(1_500)
    stages = [each for each in text.splitlines() if each.startswith("stage ")]
    shown = [each for each in text.splitlines() if each.startswith("s1")]
    assert stages[0] == "stage s0..s3: 4 done; with query; last: rows 3"
    assert notes == [
        f"steps: {200 - len(shown)} older steps merged into stage summaries"
    ]
    assert len(shown) > NEWEST
    assert 1_300 < count_tokens(text) <= 1_500


def test_a_short_history_is_shown_as_it_is():
    """Nothing is merged while there is room."""
    text, notes = History(lines({1}, count=3, words=1)).fit(2_000)
    assert len(text.splitlines()) == 3
    assert notes == []


def test_each_section_gets_its_share_when_all_are_full():
    """Five full sections get 15, 20, 25, 30 and 10 percent."""
    given_ = allot(dict.fromkeys(SHARES, 100_000), TOTAL)
    assert given_ == {
        "task": 1_200,
        "knowledge": 1_600,
        "lessons": 2_000,
        "steps": 2_400,
        "failure": 800,
    }


def test_what_a_section_does_not_need_flows_on():
    """Without a failure and lessons the others share their tokens in proportion."""
    needs = {"task": 200, "knowledge": 100_000, "steps": 100_000}
    given_ = allot(needs, TOTAL)
    assert given_["task"] == 200
    assert given_["knowledge"] == 3_120
    assert given_["steps"] == 4_680


@given(
    st.dictionaries(st.sampled_from(sorted(SHARES)), st.integers(0, 20_000)),
    st.integers(0, 20_000),
)
def test_the_allotment_never_exceeds_the_total(needs, total):
    """Allowances add up to at most the total, and use it all when there is need."""
    given_ = allot(needs, total)
    assert sum(given_.values()) <= total
    assert set(given_) == set(needs)
    if sum(needs.values()) <= total:
        assert needs == given_
    else:
        assert sum(given_.values()) > total - len(SHARES)


def test_a_listing_shortens_what_finds_no_room():
    """The best items stay whole; the rest is named; the note says how many."""
    items = [Item(text=f"tool{i}: {LOREM}", short=f"tool{i}") for i in range(20)]
    text, notes = Listing("knowledge", items).fit(150)
    assert f"tool0: {LOREM}".strip() in text
    assert text.splitlines()[-1] == "tool19"
    assert count_tokens(text) <= 150
    assert len(notes) == 1


@given(st.text(max_size=400), st.integers(0, 60))
def test_a_clipped_text_is_never_longer_than_asked(text, tokens):
    """Whatever the text, the cut keeps to its tokens."""
    shown = clip(text, tokens)
    assert count_tokens(shown) <= tokens
    if count_tokens(text) <= tokens and tokens:
        assert text == shown
