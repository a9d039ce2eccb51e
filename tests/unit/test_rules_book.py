"""The rule book: lookup, application, the ladder and its limits."""

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from langgraph.store.memory import InMemoryStore

from mendgraph.state.lesson import (
    Application,
    MendRule,
    NextAction,
    RuleStage,
    Strategy,
    StrategyState,
)
from mendgraph.tools.cel import RuleError
from mendgraph.tools.rules import RuleBook

Value = TypeVar("Value")
SIGNATURE = "execution_error:param_error:postgres_query"


def run(work: Coroutine[Any, Any, Value]) -> Value:
    return asyncio.run(work)


def ids() -> Callable[[], str]:
    counter = itertools.count()
    return lambda: f"id{next(counter):04d}"


def book(store: InMemoryStore | None = None, prefix: str = "") -> RuleBook:
    make, ticks = ids(), itertools.count(1)
    return RuleBook(
        store or InMemoryStore(), lambda: float(next(ticks)), lambda: prefix + make()
    )


def rule(**changes: Any) -> MendRule:
    given = {
        "id": "r1",
        "signature": SIGNATURE,
        "condition": 'error.message.contains("limit")',
        "patch": {"limit": "int(args.limit) / 2"},
    }
    return MendRule.model_validate({**given, **changes})


def seen(**args: Any) -> dict[str, Any]:
    return {"tool": "t", "args": args, "error": {"message": "over the limit"}}


def test_a_rule_that_fits_gives_the_new_arguments() -> None:
    """Other arguments stay as they are."""
    mended = book().apply(rule(), seen(limit=10, table="a"))

    assert mended == {"limit": 5, "table": "a"}


@pytest.mark.parametrize(
    ("changes", "args"),
    [
        ({"condition": 'error.message.contains("other")'}, {"limit": 10}),
        ({"condition": "args.missing > 1"}, {"limit": 10}),
        ({"patch": {"limit": "args.limit"}}, {"limit": 10}),
        ({"patch": {"limit": "args.limit.nothing"}}, {"limit": 10}),
        ({"action": NextAction.FALLBACK}, {"limit": 10}),
    ],
    ids=["condition false", "condition fails", "no change", "patch fails", "no patch"],
)
def test_a_rule_that_does_not_fit_changes_nothing(
    changes: dict[str, Any], args: dict[str, Any]
) -> None:
    """Conditions that fail, errors in CEL and idle patches all mean: not this rule."""
    assert book().apply(rule(**changes), seen(**args)) is None


def test_a_rule_never_touches_a_protected_argument() -> None:
    """An idempotency key is out of reach of rules."""
    given = seen(limit=10)

    assert book().apply(rule(), given, protected={"limit"}) is None


def test_null_takes_an_argument_away() -> None:
    """A patch of null removes the argument; an argument that was null stays."""
    mended = book().apply(rule(patch={"extra": "null"}), seen(extra=1, kept=None))

    assert mended == {"kept": None}


def test_lookup_goes_from_the_tool_to_its_class_to_any() -> None:
    """The most special rule comes first; built-in ones lead their group."""
    rules = book()
    fault = "execution_error:param_error"

    async def fill() -> None:
        await rules.add(rule(id="any", signature=f"{fault}:*"))
        await rules.add(rule(id="class", signature=f"{fault}:sql_query"))
        await rules.add(rule(id="own", confidence=0.9))
        await rules.add(rule(id="built", stage=RuleStage.BUILT_IN))
        await rules.add(rule(id="gone", stage=RuleStage.RETIRED))

    run(fill())

    found = [item.id for item in rules.lookup(SIGNATURE, "sql_query")]
    assert found == ["built", "own", "class", "any"]


def test_a_rule_that_does_not_compile_is_refused() -> None:
    """A broken rule never reaches the monitor."""
    with pytest.raises(RuleError):
        run(book().add(rule(condition="args.limit >")))


def test_fifty_clean_uses_build_a_rule_in_and_one_misjudgement_demotes_it() -> None:
    """The ladder of the document: 50 without fault up, one fault down."""
    rules = book()

    async def work() -> list[RuleStage]:
        await rules.add(rule())
        stages = [(await _used(rules, helped=True)).stage for _ in range(50)]
        return [*stages[-2:], (await _used(rules, helped=True, clean=True)).stage]

    up = [RuleStage.TEMPLATE, RuleStage.BUILT_IN, RuleStage.TEMPLATE]
    assert run(work()) == up


async def _used(rules: RuleBook, helped: bool, clean: bool = False) -> MendRule:
    found = await rules.record("r1", helped=helped, clean=clean)
    assert found is not None
    return found


def test_a_rule_that_misjudges_often_retires_itself() -> None:
    """Three misjudgements among few uses end it, and lookup leaves it out."""
    rules = book()

    async def work() -> MendRule:
        await rules.add(rule())
        for _ in range(2):
            await _used(rules, helped=False)
        return await _used(rules, helped=False)

    last = run(work())
    assert (last.stage, last.misjudgements) == (RuleStage.RETIRED, 3)
    assert rules.lookup(SIGNATURE) == []


def test_two_processes_count_together() -> None:
    """Hits of both are in the sum, whoever reads."""
    store = InMemoryStore()
    first, second = book(store, "a"), book(store, "b")

    async def work() -> MendRule | None:
        await first.add(rule())
        await second.load()
        for _ in range(3):
            await first.record("r1", helped=True)
            await second.record("r1", helped=True)
        await first.load()
        return first.get("r1")

    found = run(work())
    assert found is not None
    assert (found.hits, found.successes, found.misjudgements) == (6, 6, 0)


def test_an_active_strategy_with_alike_fixes_becomes_one_rule() -> None:
    """The template mends a call nobody saw before, and is made only once."""
    uses = tuple(
        Application(
            task_id=f"t{n}",
            step_id="s",
            outcome="success",
            at=float(n),
            args_before={"sql": f"SELECT {name} FROM t{n}"},  # noqa: S608 (never run)
            args_after={"sql": f'SELECT "{name}" FROM t{n}'},  # noqa: S608 (never run)
            error=f'syntax error at or near "{name}"',
        )
        for n, name in enumerate(["order", "user", "group"] * 7)
    )
    strategy = Strategy(
        id="s1",
        signature=SIGNATURE,
        content="quote it",
        state=StrategyState.ACTIVE,
        applications=uses,
        total=21,
        successes=21,
    )
    rules = book()
    made, again = run(_twice(rules, strategy))

    assert made is not None
    assert again is None
    given = {
        "args": {"sql": "SELECT table FROM x"},
        "error": {"message": 'syntax error at or near "table"'},
    }
    assert rules.apply(made, given) == {"sql": 'SELECT "table" FROM x'}


async def _twice(rules: RuleBook, strategy: Strategy) -> tuple[Any, Any]:
    return await rules.distil(strategy), await rules.distil(strategy)


def test_lookup_stays_quick_with_a_thousand_rules() -> None:
    """The index makes a lookup independent of the number of rules."""
    rules = book()

    async def fill() -> None:
        for number in range(1_000):
            name = f"execution_error:param_error:tool{number}"
            await rules.add(rule(id=f"r{number}", signature=name))

    run(fill())
    times = []
    for _ in range(200):
        start = time.perf_counter_ns()
        found = rules.lookup("execution_error:param_error:tool500", "sql")
        times.append(time.perf_counter_ns() - start)

    assert [item.id for item in found] == ["r500"]
    assert sorted(times)[100] < 50_000


SEED_CASES: list[tuple[str, str, dict[str, Any], str, dict[str, Any]]] = [
    (
        "execution_error:param_error:pg",
        "sql_query",
        {"sql": "SELECT a, order FROM t ORDER BY a"},
        'syntax error at or near "order"',
        {"sql": 'SELECT a, "order" FROM t ORDER BY a'},
    ),
    (
        "execution_error:param_error:lite",
        "sql_query",
        {"sql": "SELECT group FROM t"},
        'near "group": syntax error',
        {"sql": 'SELECT "group" FROM t'},
    ),
    (
        "execution_error:param_error:pg",
        "sql_query",
        {"sql": "```sql\nSELECT 1\n```"},
        'syntax error at or near "```"',
        {"sql": "SELECT 1"},
    ),
    (
        "execution_error:parse_error:csv_write",
        "file_write",
        {"on_mismatch": "error"},
        "output type differs from the template",
        {"on_mismatch": "cast"},
    ),
    (
        "execution_error:parse_error:csv_read",
        "file_read",
        {"encoding": "utf-8"},
        "unknown column \ufeffid",
        {"encoding": "utf-8-sig"},
    ),
    (
        "execution_error:parse_error:csv_read",
        "file_read",
        {"encoding": "utf-8"},
        "'utf-8' codec can't decode byte 0xb5 in position 0",
        {"encoding": "gb18030"},
    ),
    (
        "execution_error:parse_error:json_read",
        "file_read",
        {"compression": None},
        "invalid start byte 0x8b",
        {"compression": "gzip"},
    ),
    (
        "env_error:network_error:http_get",
        "http",
        {"timeout_s": 20},
        "Read timed out",
        {"timeout_s": 30.0},
    ),
    (
        "execution_error:resource_exhausted:pg",
        "sql_query",
        {"limit": 1001},
        "out of memory",
        {"limit": 500},
    ),
]


@pytest.mark.parametrize(("signature", "kind", "args", "error", "mended"), SEED_CASES)
def test_the_shipped_rules_mend_their_kind_of_fault(
    signature: str, kind: str, args: dict[str, Any], error: str, mended: dict[str, Any]
) -> None:
    """Each shipped rule gives the arguments an engineer would give."""
    rules = book()
    run(rules.seed())

    given = {"tool": "x", "args": args, "error": {"message": error}, "output": None}
    fix = rules.first_fix(signature, kind, given)

    assert fix is not None
    assert fix[1] == mended


def test_the_shipped_rules_leave_other_failures_alone() -> None:
    """A missing column without a hint and a misplaced FROM are not theirs."""
    rules = book()
    run(rules.seed())
    signature = "execution_error:param_error:pg"
    given = {"tool": "x", "args": {"sql": "SELECT a, FROM t"}, "output": None}

    for message in ('syntax error at or near "FROM"', 'column "zz" does not exist'):
        error = {"error": {"message": message}}
        assert rules.first_fix(signature, "sql_query", {**given, **error}) is None
