"""Knowledge of tools, and calibration of confidence, over a store."""

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from mendgraph.state.policy import ToolKind
from mendgraph.state.statistics import bucket, quantile
from mendgraph.tools.calibration import Calibration
from mendgraph.tools.knowledge import KnowledgeBook

Value = TypeVar("Value")


def run(work: Coroutine[Any, Any, Value]) -> Value:
    return asyncio.run(work)


class CountingStore(InMemoryStore):
    """Counts its writes."""

    puts = 0

    async def aput(self, *args: Any, **kwargs: Any) -> None:
        self.puts += 1
        await super().aput(*args, **kwargs)


def knowledge(store: InMemoryStore | None = None, prefix: str = "") -> KnowledgeBook:
    numbers = itertools.count()
    return KnowledgeBook(
        store or InMemoryStore(), lambda: 1.0, lambda: f"{prefix}{next(numbers)}"
    )


def calibration(store: InMemoryStore, prefix: str) -> Calibration:
    return Calibration(store, lambda: prefix)


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=50))
def test_the_median_is_within_a_bucket_of_the_true_one(times: list[float]) -> None:
    """The counted histogram loses at most one bucket's width."""
    counts: dict[int, float] = {}
    for value in times:
        counts[bucket(value)] = counts.get(bucket(value), 0) + 1
    true = sorted(times)[(len(times) - 1) // 2]

    found = quantile(counts, 0.5)
    assert found is not None
    assert true / 1.26 <= found <= true * 1.26


def test_a_time_is_expected_only_after_enough_calls() -> None:
    """Five successes make a median; failures do not count for the time."""
    book = knowledge()
    for _ in range(4):
        book.observe("q", 100.0, ok=True)
    book.observe("q", 9_000.0, ok=False)
    early = book.expected_ms("q")
    book.observe("q", 100.0, ok=True)

    assert early is None
    assert book.expected_ms("q") == pytest.approx(100, rel=0.13)
    assert book.stats("q").success_rate == pytest.approx(5 / 6)


def test_a_task_costs_one_write_however_many_calls_it_makes() -> None:
    """Observations are counted in memory until `flush`."""
    store = CountingStore()
    book = knowledge(store)
    for number in range(500):
        book.observe(f"tool{number % 7}", 20.0, ok=True)
    run(book.flush())
    run(book.flush())

    assert store.puts == 1


def test_what_two_processes_observed_adds_up_after_a_restart() -> None:
    """A third process reads the sum of both."""
    store = InMemoryStore()

    async def work() -> KnowledgeBook:
        for prefix in ("a", "b"):
            book = knowledge(store, prefix)
            for _ in range(5):
                book.observe("q", 50.0, ok=True)
            await book.flush()
        third = knowledge(store, "c")
        await third.load()
        return third

    book = run(work())
    assert book.stats("q").calls == 10
    assert book.expected_ms("q") == pytest.approx(50, rel=0.13)


@pytest.mark.parametrize(
    ("false", "kind", "expected"),
    [
        (0, ToolKind.QUERY, 0.3),
        (0, ToolKind.GENERATIVE, 0.5),
        (3, ToolKind.QUERY, 0.3),
        (8, ToolKind.QUERY, 0.6),
        (10, ToolKind.GENERATIVE, 0.9),
    ],
)
def test_measured_false_alarms_raise_the_threshold(
    false: int, kind: ToolKind, expected: float
) -> None:
    """Up to 30 % of false alarms the documented threshold stands."""
    book = knowledge()
    for number in range(10):
        book.alarm("q", false=number < false)

    assert book.threshold("q", kind) == pytest.approx(expected)


def test_few_alarms_say_nothing() -> None:
    """Nine false alarms of nine leave the threshold."""
    book = knowledge()
    for _ in range(9):
        book.alarm("q", false=True)

    assert book.threshold("q", ToolKind.QUERY) == 0.3


def test_a_fingerprint_changes_only_against_an_earlier_one() -> None:
    """The first sight is no change; the new one is kept across processes."""
    store = InMemoryStore()

    async def work() -> tuple[bool, ...]:
        first = knowledge(store, "a")
        seen = [first.fingerprint_changed("public.t", "f1")]
        seen.append(first.fingerprint_changed("public.t", "f1"))
        await first.flush()
        second = knowledge(store, "b")
        await second.load()
        seen.append(second.fingerprint_changed("public.t", "f2"))
        seen.append(second.fingerprint_changed("public.t", "f2"))
        return tuple(seen)

    assert run(work()) == (False, False, True, False)


def test_a_description_tells_the_planner_what_is_known() -> None:
    """Purpose, arguments, success, time and the commonest failure."""
    book = knowledge()
    book.note_schema("q", "Run SQL.\nMore.", {"properties": {"sql": {}, "limit": {}}})
    for _ in range(8):
        book.observe("q", 100.0, ok=True)
    for _ in range(2):
        book.observe("q", 100.0, ok=False)
        book.note_error("q", "execution_error:param_error:q", 'near "order"')

    line = book.describe(["q"])
    assert line.startswith(
        "q(sql, limit); Run SQL.; 80% of 10 calls worked; takes about"
    )
    assert line.endswith('failed with "near \\"order\\""')


def test_error_patterns_survive_with_count_and_example() -> None:
    """The commonest comes first."""
    store = InMemoryStore()

    async def work() -> KnowledgeBook:
        first = knowledge(store, "a")
        for signature in ("x:y:q", "x:z:q", "x:z:q"):
            first.note_error("q", signature, f"message of {signature}")
        await first.flush()
        second = knowledge(store, "b")
        await second.load()
        return second

    found = run(work()).patterns("q")
    assert [(item.signature, item.count) for item in found] == [
        ("x:z:q", 2),
        ("x:y:q", 1),
    ]
    assert found[0].example == "message of x:z:q"


def test_confidence_means_nothing_before_there_are_outcomes() -> None:
    """Nine outcomes are too few, ten are enough."""
    held = calibration(InMemoryStore(), "a")
    for _ in range(9):
        held.record("c", "s", 0.9, right=True)
    early = held.calibrated("c", "s", 0.9)
    held.record("c", "s", 0.9, right=True)

    assert early is None
    assert held.calibrated("c", "s", 0.9) == pytest.approx(0.976, abs=0.01)


def test_overconfidence_is_corrected_by_band() -> None:
    """What was stated as 0.9 and right half the time is worth about a half."""
    held = calibration(InMemoryStore(), "a")
    for number in range(40):
        held.record("c", "s", 0.95, right=number % 2 == 0)
        held.record("c", "s", 0.45, right=number % 10 == 0)
    high, low = held.calibrated("c", "s", 0.95), held.calibrated("c", "s", 0.45)

    assert high == pytest.approx(0.5, abs=0.05)
    assert low == pytest.approx(0.13, abs=0.05)


def test_a_rare_subclass_is_judged_by_its_category() -> None:
    """With twenty outcomes the category stands in; another category does not."""
    held = calibration(InMemoryStore(), "a")
    for _ in range(20):
        held.record("c", "common", None, right=True)

    assert held.calibrated("c", "rare", 0.7) == pytest.approx(0.95, abs=0.03)
    assert held.calibrated("other", "rare", 0.7) is None


def test_outcomes_of_two_processes_add_up_in_the_report() -> None:
    """The report says how many there are and whether that is enough."""
    store = InMemoryStore()

    async def work() -> Calibration:
        for prefix in ("a", "b"):
            held = calibration(store, prefix)
            for _ in range(4):
                held.record("c", "s", 0.5, right=True)
            await held.flush()
        reader = calibration(store, "r")
        await reader.load()
        return reader

    (row,) = run(work()).report()
    assert (row.outcomes, row.stated, row.enough) == (8, 0.5, False)
    assert row.right == pytest.approx(0.9)
