"""Words, ranking arithmetic, likeness and sweeps, without storage."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.state.lesson import Lesson
from mendgraph.state.ranking import (
    DAY_S,
    age_weight,
    competition_ranks,
    contradiction_weights,
    fuse,
    inverse_frequency,
    reciprocal_rank,
    saturation,
    usefulness_weight,
)
from mendgraph.tools.memory.embedder import HashingEmbeddings, adapt
from mendgraph.tools.memory.index import LessonIndex
from mendgraph.tools.memory.likeness import contradicts, overlap
from mendgraph.tools.memory.protocol import Query
from mendgraph.tools.memory.retrieve import merge, search
from mendgraph.tools.memory.sweep import plan_sweep
from mendgraph.tools.memory.words import stem, weighted_words

COUNTS = st.integers(0, 100)
SCORES = st.dictionaries(st.text(max_size=3), st.floats(0, 9), max_size=20)


def lesson(key: str, text: str = "quote the column", **changes: Any) -> Lesson:
    given_ = {
        "id": key,
        "text": text,
        "signature": "execution_error:param_error:pg",
        "tool": "pg",
        "tool_class": "sql_query",
        "category": "execution_error",
        "subclass": "param_error",
        "created_at": 0.0,
    }
    return Lesson.model_validate({**given_, **changes})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("request timed out", "请求超时"),
        ("quote the reserved word", "给保留字加引号"),
        ("permission denied", "没有权限"),
        ("send an email", "发邮件"),
        ("disk full", "磁盘满"),
    ],
)
def test_two_languages_share_the_concept(first: str, second: str) -> None:
    """The glossary lets English find Chinese and the other way round."""
    shared = weighted_words(first).keys() & weighted_words(second).keys()

    assert any(word.startswith("~") for word in shared)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("queries", "query"),
        ("timeouts", "timeout"),
        ("writing", "writes"),
        ("stopped", "stopping"),
        ("indexes", "index"),
        ("class", "class"),
    ],
)
def test_forms_of_a_word_meet(word: str, other: str) -> None:
    """Endings do not keep words apart."""
    assert stem(word) == stem(other)


def test_identifiers_are_found_whole_and_by_part() -> None:
    """A tool's name matches itself and the words it is made of."""
    parts = {stem(word) for word in ("postgres", "query", "user", "name")}

    assert {"postgres_query", *parts} <= weighted_words(
        "postgres_query userName"
    ).keys()


def test_words_that_say_nothing_are_left_out() -> None:
    """Stop words of both languages carry no weight."""
    assert weighted_words("the of and it 的了是") == {}


@given(st.text(max_size=80))
def test_every_text_has_a_vector_of_length_one(text: str) -> None:
    """Whatever the text, the vector is finite, of length 1, and the same again."""
    embedder = HashingEmbeddings(64)
    vector = embedder.embed_query(text)

    assert math.isclose(math.hypot(*vector), 1.0, rel_tol=1e-9)
    assert vector == embedder.embed_query(text)


def test_an_adapted_embedder_is_named_by_class_and_model() -> None:
    """Another model is another name, so vectors are never mixed."""

    class Remote(HashingEmbeddings):
        def __init__(self, model: str) -> None:
            super().__init__(8)
            self.name = ""
            self.model = model

    assert adapt(Remote("m1")).name == "Remote-m1"
    assert adapt(Remote("m2")).name == "Remote-m2"


@given(SCORES)
def test_ranks_follow_scores_and_ties_share(scores: dict[str, float]) -> None:
    """A better score never has a worse rank; equal ones have the same."""
    ranks = competition_ranks(scores)

    assert ranks.keys() == scores.keys()
    for first, second in zip(scores, list(scores)[1:], strict=False):
        order = (scores[first] > scores[second]) - (scores[first] < scores[second])
        assert order == (ranks[first] < ranks[second]) - (ranks[first] > ranks[second])


def test_two_legs_that_agree_beat_one_that_is_sure() -> None:
    """Fusion prefers what several legs found."""
    legs = {"a": {"x": 1, "y": 2}, "b": {"z": 1, "y": 2}}

    fused = fuse(legs, {})
    assert max(fused, key=fused.__getitem__) == "y"


def test_a_rare_word_weighs_more_and_repetition_saturates() -> None:
    """The two ideas of BM25."""
    assert inverse_frequency(100, 1) > inverse_frequency(100, 50) > 0
    gain = saturation(2, 10, 10) - saturation(1, 10, 10)
    assert 0 < saturation(3, 10, 10) - saturation(2, 10, 10) < gain


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_age_only_lowers_and_never_below_half(first: float, second: float) -> None:
    """Older lessons weigh less, within 0.5 and 1."""
    young, old = age_weight(min(first, second)), age_weight(max(first, second))

    assert 0.5 <= old <= young <= 1.0


@given(COUNTS, COUNTS, COUNTS)
def test_help_raises_and_harm_lowers_the_weight(
    helped: int, hurt: int, idle: int
) -> None:
    """One more good outcome never lowers the weight, one more bad never raises it."""
    shown = helped + hurt + idle
    weight = usefulness_weight(helped, hurt, shown)

    assert usefulness_weight(helped + 1, hurt, shown + 1) >= weight
    assert usefulness_weight(helped, hurt + 1, shown + 1) <= weight
    assert usefulness_weight(helped, hurt, shown + 1) <= weight


def test_a_lesson_that_was_never_used_is_neutral() -> None:
    """No record of use means a weight of 1."""
    assert usefulness_weight(0, 0, 0) == 1.0


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ((0, 0), (0, 0), (0.8, 1.0)),
        ((9, 0), (1, 1), (0.8, 1.0)),
        ((9, 0), (1, 4), (1.0, 0.4)),
        ((1, 4), (9, 0), (0.4, 1.0)),
        ((3, 3), (3, 3), (0.8, 1.0)),
    ],
)
def test_of_two_contradicting_lessons_the_newer_leads_until_outcomes_decide(
    older: tuple[int, int], newer: tuple[int, int], expected: tuple[float, float]
) -> None:
    """Three outcomes on each side are needed before they count."""
    assert contradiction_weights(older, newer) == expected


def test_the_reciprocal_rank_is_that_of_the_first_wanted() -> None:
    """Second place is a half; not found is nothing."""
    assert reciprocal_rank(["a", "b"], frozenset({"b"})) == 0.5
    assert reciprocal_rank(["a"], frozenset({"z"})) == 0.0


def test_opposite_advice_on_one_subject_contradicts() -> None:
    """Negation and direction are seen in both languages; other tools are not."""
    raise_it = lesson("a", "increase the batch size for the load")
    lower_it = lesson("b", "reduce the batch size for the load")
    other = lower_it.but(id="c", signature="execution_error:param_error:other")

    assert contradicts(raise_it, lower_it)
    assert not contradicts(raise_it, raise_it.but(id="d"))
    assert not contradicts(raise_it, other)
    assert contradicts(
        lesson("e", "重试前刷新令牌缓存"), lesson("f", "重试前不要刷新令牌缓存")
    )


def test_contradicting_lessons_are_both_found_and_say_so() -> None:
    """Neither is dropped; the newer one leads."""
    old = lesson("old", "increase the batch size for the load", created_at=1.0)
    new = lesson("new", "reduce the batch size for the load", created_at=2.0)
    query = Query(text="batch size of the load")

    found = search(LessonIndex([old, new]), query, {}, now=3.0).found
    assert [hit.lesson.id for hit in found] == ["new", "old"]
    assert "contradicts new (weight 0.8)" in found[1].why


def test_a_hit_says_why_it_was_found() -> None:
    """Ranks, shared words, tool, age and record of use are in the reasons."""
    item = lesson("a", helped=2, hurt=1, injected=4)
    query = Query(
        text="column must be quoted",
        tools=("pg",),
        signatures=("execution_error:param_error:pg",),
    )

    (hit,) = search(LessonIndex([item]), query, {"a": 0.9}, now=3 * DAY_S).found
    assert hit.ranks == {"vector": 1, "keyword": 1, "signature": 1}
    for part in ("column", "same tool pg", "3 days old", "helped 2, hurt 1 of 4"):
        assert part in hit.why


def test_a_lesson_for_the_tool_class_is_found_for_a_new_tool() -> None:
    """A generalised signature serves a tool nobody used before."""
    general = lesson("a", signature="execution_error:param_error:sql_query", tool=None)
    query = Query(
        tools=("mysql",),
        tool_classes=("sql_query",),
        signatures=("execution_error:param_error:mysql",),
    )

    assert search(LessonIndex([general]), query, {}, now=0.0).found[0].lesson == general


def test_an_index_forgets_and_replaces() -> None:
    """A dropped lesson is not found, a replaced one by its new words only."""
    index = LessonIndex([lesson(f"l{n}", f"word{n} topic") for n in range(300)])
    for number in range(1, 300):
        index.drop(f"l{number}")
    index.put(lesson("l0", "entirely different"))

    def ids(text: str) -> list[str]:
        return [h.lesson.id for h in search(index, Query(text=text), {}, 0.0).found]

    assert (ids("word0"), ids("word5"), ids("entirely")) == ([], [], ["l0"])


def test_merging_pulls_serves_every_step() -> None:
    """The first of each pull comes before the second of any."""
    index = LessonIndex([lesson(k, t) for k, t in (("a", "alpha"), ("b", "beta"))])
    pulls = [search(index, Query(text=t), {}, 0.0).found for t in ("alpha", "beta")]

    assert [hit.lesson.id for hit in merge(pulls, 5)] == ["a", "b"]


def test_what_was_not_hit_for_thirty_days_is_forgotten_unless_it_helped() -> None:
    """A hit or a success keeps a lesson."""
    held = [
        lesson("stale", "alpha one"),
        lesson("helped", "beta two", helped=1),
        lesson("hit", "gamma three", last_hit_at=20 * DAY_S),
        lesson("young", "delta four", created_at=10 * DAY_S),
    ]

    kept, report = plan_sweep(held, now=31 * DAY_S)
    assert {item.id for item in kept} == {"helped", "hit", "young"}
    assert report.forgotten == ("stale",)


def test_near_duplicates_are_merged_and_remembered_as_provenance() -> None:
    """The newer text stays with the counts of both."""
    first = lesson("a", "quote the reserved column name", created_at=1.0, helped=2)
    second = lesson("b", "quote the reserved column names", created_at=2.0, hits=3)

    kept, report = plan_sweep([first, second], now=3.0)
    assert [(item.id, item.helped, item.hits, item.provenance) for item in kept] == [
        ("b", 2, 3, ("a",))
    ]
    assert report.merged == {"a": "b"}


def test_contradicting_lessons_are_never_merged() -> None:
    """However alike the words, opposite advice stays two lessons."""
    first = lesson("a", "increase the batch size for the load")
    second = lesson("b", "reduce the batch size for the load")

    kept, report = plan_sweep([first, second], now=1.0)
    assert (len(kept), report.merged) == (2, {})


def test_a_lesson_of_two_tools_of_a_class_is_signed_with_the_class() -> None:
    """Tools of another class keep their own signature."""
    base = "execution_error:param_error"
    held = [
        lesson("a", "quote the reserved column name in statements"),
        lesson(
            "b",
            "quote a reserved column name in each statement",
            tool="my",
            signature=f"{base}:my",
        ),
        lesson(
            "c",
            "quote the reserved column name in statements",
            tool="x",
            tool_class="other",
            signature=f"{base}:x",
        ),
    ]

    kept, report = plan_sweep(held, now=1.0)
    signatures = {item.id: item.signature for item in kept}
    assert report.generalised == ("a", "b")
    assert signatures["c"] == f"{base}:x"
    assert signatures["b"] == f"{base}:sql_query"


@given(st.text(max_size=30), st.text(max_size=30))
def test_overlap_is_symmetric_and_between_zero_and_one(first: str, second: str) -> None:
    """The order of two texts does not matter."""
    assert overlap(first, second) == pytest.approx(overlap(second, first))
    assert -1e-9 <= overlap(first, second) <= 1 + 1e-9
