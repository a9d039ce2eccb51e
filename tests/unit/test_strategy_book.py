"""The life of strategies in a store, and by arithmetic alone."""

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from mendgraph.state.lesson import (
    Application,
    NextAction,
    Reflection,
    Strategy,
    StrategyState,
)
from mendgraph.state.strategy import (
    PLAIN,
    WEIGHTED,
    mean_resolve_s,
    next_state,
    success_rate,
    tuned,
)
from mendgraph.tools.strategies import StrategyBook, UnknownStrategyError, widened

Value = TypeVar("Value")
Outcome = Literal["success", "partial", "failure"]
SIGNATURE = "execution_error:param_error:postgres_query"
OUTCOMES = st.lists(st.sampled_from(["success", "partial", "failure"]), max_size=60)


def run(work: Coroutine[Any, Any, Value]) -> Value:
    return asyncio.run(work)


def book(store: InMemoryStore | None = None, prefix: str = "") -> StrategyBook:
    numbers, ticks = itertools.count(), itertools.count(1)
    return StrategyBook(
        store or InMemoryStore(),
        lambda: float(next(ticks)),
        lambda: f"{prefix}{next(numbers):05d}",
    )


def use(outcome: Outcome, at: float = 0.0, **more: Any) -> Application:
    return Application(task_id="t", step_id="s", outcome=outcome, at=at, **more)


def uses(text: str) -> tuple[Application, ...]:
    names: dict[str, Outcome] = {"+": "success", "~": "partial", "-": "failure"}
    return tuple(use(names[mark], float(n)) for n, mark in enumerate(text))


def strategy(state: StrategyState, marks: str = "") -> Strategy:
    return Strategy(
        id="a", signature=SIGNATURE, content="c", state=state, applications=uses(marks)
    )


def reflection(number: int, **changes: Any) -> Reflection:
    base = {
        "id": f"f{number}",
        "step_id": "s1",
        "decision": NextAction.PATCH,
        "observed_issue": "syntax error",
        "suggested_strategy": "quote the word",
        "category": "execution_error",
        "subclass": "param_error",
        "signature": SIGNATURE,
    }
    return Reflection.model_validate({**base, **changes})


@pytest.mark.parametrize(
    ("state", "marks", "expected"),
    [
        (StrategyState.CANDIDATE, "+", StrategyState.CANDIDATE),
        (StrategyState.CANDIDATE, "+-+", StrategyState.ACTIVE),
        (StrategyState.CANDIDATE, "-----", StrategyState.RETIRED),
        (StrategyState.ACTIVE, "++---", StrategyState.TUNING),
        (StrategyState.ACTIVE, "+++--", StrategyState.ACTIVE),
        (StrategyState.ACTIVE, "---", StrategyState.ACTIVE),
        (StrategyState.TUNING, "+++++", StrategyState.TUNING),
        (StrategyState.RETIRED, "+++++", StrategyState.RETIRED),
    ],
)
def test_measured_feedback_moves_a_strategy(
    state: StrategyState, marks: str, expected: StrategyState
) -> None:
    """Under 60 % of enough uses means tuning; two successes make it active."""
    assert next_state(strategy(state, marks)) is expected


@given(OUTCOMES)
def test_a_success_never_lowers_the_plain_rate(outcomes: list[Outcome]) -> None:
    """The rate lies between 0 and 1 and rises with success."""
    held = [use(outcome) for outcome in outcomes]
    before, after = success_rate(held), success_rate([*held, use("success")])

    assert after is not None
    assert 0 <= (before or 0.0) <= after <= 1 or len(held) >= PLAIN.size


def test_the_weighted_window_notices_a_turn_sooner() -> None:
    """Twenty weighted uses fall faster than fifty plain ones."""
    marks = uses("+" * 40 + "-" * 10)

    plain, weighted = success_rate(marks), success_rate(marks, WEIGHTED)
    assert plain == pytest.approx(0.8)
    assert weighted is not None
    assert weighted < 0.5


def test_the_time_to_resolve_counts_uses_that_helped() -> None:
    """Failures have no time to resolve."""
    held = [use("success", resolve_s=2.0), use("partial", resolve_s=4.0)]

    assert mean_resolve_s([*held, use("failure", resolve_s=99.0)]) == 3.0


def test_a_tuned_strategy_is_a_candidate_one_version_up() -> None:
    """It names what it replaces and starts unmeasured."""
    new = tuned(strategy(StrategyState.TUNING, "---"), "b", 5.0, "better")

    assert (new.version, new.replaces, new.state) == (2, "a", StrategyState.CANDIDATE)
    assert new.applications == ()


def test_the_second_success_of_a_signature_makes_a_candidate() -> None:
    """One success is chance; the second is kept, with its change as CEL."""
    strategies = book()

    async def learn(number: int, name: str) -> Strategy | None:
        return await strategies.learn_from(
            reflection(number),
            {"sql": f'SELECT "{name}"'},
            resolved=True,
            args_before={"sql": f"SELECT {name}"},
            error=f'syntax error at or near "{name}"',
        )

    async def work() -> tuple[Any, ...]:
        first = await learn(1, "order")
        repeated = await learn(1, "order")
        second = await learn(2, "user")
        third = await learn(3, "group")
        return first, repeated, second, third

    first, repeated, second, third = run(work())
    assert (first, repeated, third) == (None, None, None)
    assert second.state is StrategyState.CANDIDATE
    assert second.content == "quote the word"
    assert "quoteName" in second.patch["sql"]


def test_a_fix_that_did_not_help_teaches_nothing() -> None:
    """Unresolved reflections make no strategy."""
    strategies = book()

    async def work() -> list[Strategy]:
        for number in range(3):
            await strategies.learn_from(reflection(number), {"a": 1}, resolved=False)
        return await strategies.all()

    assert run(work()) == []


def test_strategies_are_found_by_signature_then_class_then_any() -> None:
    """Retired and tuning ones are not proposed."""
    strategies, fault = book(), "execution_error:param_error"
    held = {
        "any": (f"{fault}:*", StrategyState.ACTIVE),
        "class": (f"{fault}:sql_query", StrategyState.ACTIVE),
        "candidate": (SIGNATURE, StrategyState.CANDIDATE),
        "active": (SIGNATURE, StrategyState.ACTIVE),
        "tuning": (SIGNATURE, StrategyState.TUNING),
    }

    async def work() -> list[Strategy]:
        for key, (signature, state) in held.items():
            item = strategy(state).but(id=key, signature=signature)
            await strategies._put(item)
        return await strategies.for_signature(SIGNATURE, "sql_query")

    found = [item.id for item in run(work())]
    assert found == ["active", "candidate", "class", "any"]


def test_recording_moves_the_strategy_and_the_board_shows_it() -> None:
    """Two successes promote, failures send to tuning, replacing retires."""
    strategies = book()

    async def work() -> tuple[list[StrategyState], Any, Any]:
        await strategies._put(strategy(StrategyState.CANDIDATE))
        states = []
        for number, item in enumerate(uses("++-----")):
            recorded = await strategies.record("a", item.but(at=float(number)))
            states.append(recorded.state)
        due = await strategies.due_for_tuning()
        new = tuned(due[0], "b", 9.0, "better")
        await strategies.replace("a", new)
        return states, await strategies.board(), await strategies.get("a")

    states, board, old = run(work())
    tuning, active = StrategyState.TUNING, StrategyState.ACTIVE
    assert states == [
        StrategyState.CANDIDATE,
        active,
        active,
        active,
        tuning,
        *[tuning] * 2,
    ]
    assert old.state is StrategyState.RETIRED
    assert [(row.id, row.uses, row.successes, row.version) for row in board] == [
        ("a", 7, 2, 1),
        ("b", 0, 0, 2),
    ]


def test_two_processes_lose_no_application() -> None:
    """Both write at once; counts and window hold what both wrote."""
    store = InMemoryStore()
    first, second = book(store, "a"), book(store, "b")

    async def work() -> Strategy:
        await first._put(strategy(StrategyState.CANDIDATE))
        await asyncio.gather(
            *(first.record("a", use("success", float(n))) for n in range(10)),
            *(second.record("a", use("failure", float(n))) for n in range(10)),
        )
        return await book(store, "c").get("a")

    found = run(work())
    assert (found.total, found.successes, len(found.applications)) == (20, 10, 20)


def test_only_the_newest_fifty_applications_are_kept() -> None:
    """Totals stay exact although old applications go."""
    strategies = book()

    async def work() -> Strategy:
        await strategies._put(strategy(StrategyState.CANDIDATE))
        for number in range(60):
            last = await strategies.record("a", use("success", float(number)))
        return last

    found = run(work())
    assert (found.total, len(found.applications)) == (60, 50)
    assert found.applications[0].at == 10.0


def test_recording_for_an_unknown_strategy_is_an_error() -> None:
    """A wrong id is told, not swallowed."""
    with pytest.raises(UnknownStrategyError):
        run(book().record("nobody", use("success")))


def test_the_shipped_strategies_are_added_once_and_marked() -> None:
    """Seeding twice adds nothing; each says that it is a seed."""
    strategies = book()

    async def work() -> tuple[int, int, list[Strategy]]:
        counts = await strategies.seed(), await strategies.seed()
        return *counts, await strategies.all()

    first, second, held = run(work())
    assert (first, second) == (len(held), 0)
    assert {item.source for item in held} == {"seed"}


def test_a_signature_widens_to_class_and_any_tool() -> None:
    """Without a class only the tool itself and any tool are looked at."""
    assert widened("a:b:c", None) == ("a:b:c", "a:b:*")
    assert widened("a:b:c", "k") == ("a:b:c", "a:b:k", "a:b:*")
