"""Places in pixels: layout, axis, lanes, and how numbers and texts are cut."""

import runpy
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.report import dag, timeline, view, words
from mendgraph.report.axis import CUT_PX, Axis
from mendgraph.report.layout import HEIGHT, WIDTH, arrange, rounded

STATES = runpy.run_path(
    str(Path(__file__).parents[1] / "services" / "report_states.py")
)


def seen(name: str):
    given_state = STATES[name]()
    return view(given_state.pop("state"), **given_state)


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 12))
    ids = [f"n{number}" for number in range(count)]
    pairs = st.tuples(st.sampled_from(ids), st.sampled_from([*ids, "stranger"]))
    return ids, draw(st.lists(pairs, max_size=20))


@given(graphs())
def test_boxes_never_overlap_and_stay_inside(graph) -> None:
    """Any graph, cycles and unknown ends included, is drawn without overlaps."""
    ids, edges = graph
    placed = arrange(ids, edges, 1_100)
    assert set(placed.corners) == set(ids)
    for (x1, y1), (x2, y2) in combinations(placed.corners.values(), 2):
        assert abs(x1 - x2) >= WIDTH or abs(y1 - y2) >= HEIGHT
    for x, y in placed.corners.values():
        assert 0 <= x <= placed.width - WIDTH
        assert 0 <= y <= placed.height - HEIGHT


def test_edges_go_forward_from_border_to_border() -> None:
    """An edge begins at the right side of its source and ends left of its target."""
    placed = arrange(["a", "b"], [("a", "b"), ("a", "a"), ("a", "b")], 1_100)
    assert list(placed.routes) == [("a", "b")]
    points = placed.routes["a", "b"]
    assert points[0][0] == placed.corners["a"][0] + WIDTH
    assert points[-1][0] == placed.corners["b"][0]


def test_a_long_chain_takes_the_direction_that_fits() -> None:
    """Forty steps in a row run down the page instead of far to the right."""
    ids = [f"n{number}" for number in range(40)]
    placed = arrange(ids, list(pairwise(ids)), 1_100)
    assert placed.width <= 1_100


def test_steps_without_edges_stand_in_rows() -> None:
    """Independent steps fill the page's width before a new row begins."""
    placed = arrange([f"n{number}" for number in range(12)], [], 1_100)
    assert len({y for _, y in placed.corners.values()}) == 3


def test_layout_is_the_same_every_time() -> None:
    """Two drawings of one plan are equal to the last pixel."""
    assert dag.draw(seen("wide").nodes) == dag.draw(seen("wide").nodes)


def test_replacements_are_edges_of_their_own_kind() -> None:
    """The dashed edge leads from the replaced step to its heir."""
    links = dag.draw(seen("wide").nodes).links
    kinds = {(link.source, link.target) for link in links if link.kind == "replaces"}
    assert kinds == {("check-lakes", "check-lakes-2")}


def test_corners_of_a_path_are_rounded() -> None:
    """A polyline keeps its ends and bends within the radius."""
    path = rounded([(0, 0), (10, 0), (10, 20)], radius=4)
    assert path == "M0.0 0.0L6.0 0.0Q10.0 0.0 10.0 4.0L10.0 20.0"


spans = st.lists(
    st.tuples(
        st.floats(0, 1e6, allow_nan=False), st.floats(0, 1e4, allow_nan=False)
    ).map(lambda pair: (pair[0], pair[0] + pair[1])),
    max_size=30,
)


@given(spans, st.lists(st.floats(0, 1e6), min_size=2, max_size=10))
def test_later_is_never_further_left(busy, moments) -> None:
    """The axis keeps the order of moments, cuts or not, and stays in its width."""
    axis = Axis(busy, least=1_000, most=5_000)
    places = [axis.x(moment) for moment in sorted(moments)]
    assert places == sorted(places)
    assert all(-1e-6 <= axis.x(end) <= axis.width + 1e-6 for _, end in busy)


def test_a_long_pause_is_cut_and_told() -> None:
    """An hour in which nothing ran takes the pixels of a cut and keeps its length."""
    axis = Axis([(0, 10), (3_610, 3_620)], least=1_000, most=1_000)
    assert [cut.seconds for cut in axis.cuts()] == [3_600]
    assert axis.x(3_610) - axis.x(10) == pytest.approx(CUT_PX)


def test_marks_are_round_and_readable() -> None:
    """Axis marks stand at round times, far enough from each other for their text."""
    ticks = Axis([(0, 24)], least=1_000, most=1_000).ticks()
    assert [tick.seconds for tick in ticks] == [0, 5, 10, 15, 20]


@pytest.mark.parametrize("most", [1_000, 3_000, 9_000])
def test_no_two_marks_look_the_same(most: int) -> None:
    """However fine the axis is, each mark has a text of its own."""
    axis = Axis([(9.2, 9.21), (9.3, 12.4)], least=1_000, most=most)
    texts = [words.marked(tick.seconds) for tick in axis.ticks()]
    assert len(set(texts)) == len(texts)


def test_a_short_run_needs_no_scrolling() -> None:
    """The timeline of five steps fits the page, however unlike their times are."""
    assert timeline.picture(seen("healed").bars, ()).width < 1_200


@pytest.mark.parametrize("name", ["healed", "wide", "failed", "long"])
def test_no_two_bars_share_a_place(name) -> None:
    """Bars and the texts beside them never cover another bar of the same lane."""
    run = seen(name)
    shapes = timeline.picture(run.bars, run.thoughts).bars
    rows: dict[float, list] = {}
    for shape in shapes:
        rows.setdefault(shape.y, []).append(shape)
    for row in rows.values():
        row.sort(key=lambda shape: shape.x)
        for left, right in pairwise(row):
            assert left.x + left.width <= right.x
            assert left.text_x + words.cells(left.text) * 6.6 <= right.x
    assert len(shapes) == len(run.bars) + len(run.thoughts)


def test_waits_are_drawn_before_their_retry() -> None:
    """The hatched bar of a retry ends where the retry begins."""
    run = seen("healed")
    drawn = timeline.picture(run.bars, run.thoughts)
    starts = {bar.x for bar in drawn.bars}
    assert len(drawn.waits) == 2
    assert all(
        any(abs(wait.x + wait.width - start) < 0.01 for start in starts)
        for wait in drawn.waits
    )


def test_an_empty_run_has_an_empty_timeline() -> None:
    """No attempt and no model call: no bar, no heading."""
    drawn = timeline.picture((), ())
    assert (drawn.bars, drawn.headings) == ((), ())


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0 ms"),
        (0.0424, "42 ms"),
        (0.9999, "1.0 s"),
        (9.94, "9.9 s"),
        (59.4, "59 s"),
        (59.9, "1 min"),
        (125, "2 min 5 s"),
        (3_600, "1 h"),
        (7_384, "2 h 3 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_durations_read_as_people_say_them(seconds, expected) -> None:
    """A duration has at most two units."""
    assert expected == words.duration(seconds)


@given(st.text(), st.integers(1, 40))
def test_fitted_text_never_exceeds_its_columns(text, columns) -> None:
    """Wide characters count two and the result is one line."""
    assert words.cells(words.fit(text, columns)) <= columns


def test_chinese_text_is_cut_by_its_width() -> None:
    """Six Chinese characters take twelve columns."""
    assert words.fit("验证数据库连接", 9) == "验证数据…"
