"""The labelled set: 120 failures by construction, thirty a category (F33).

Each is a plan that runs on the real world of `injected_world`. What was injected is the
truth; the words of the errors are the tools' own, the service's or the directory's.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mendgraph.state.failure import Category, Subclass

PER_CATEGORY = 30
SEED = 2_026


@dataclass(frozen=True)
class Injected:
    """A failure whose cause is known."""

    name: str
    category: Category
    subclass: Subclass
    steps: tuple[dict[str, Any], ...]
    resource: str = ""
    """File, table, address or database the failed step depends on."""
    term: str = ""
    """The name in the request that may be ambiguous."""


Maker = Callable[[random.Random], Injected]


def _step(tool: str, step_id: str = "s1", **inputs: Any) -> dict[str, Any]:
    return {"id": step_id, "tool": tool, "inputs": inputs}


def _after(step: dict[str, Any], *needed: str, **more: Any) -> dict[str, Any]:
    return {**step, "depends_on": list(needed), **more}


def _plan(subclass: Subclass, name: str, *steps: dict[str, Any], on: str) -> Injected:
    return Injected(name, Category.PLAN, subclass, steps, on)


def unwritten_file(dice: random.Random) -> Injected:
    """A file is read that an earlier step should have written."""
    path = f"report{dice.randint(1, 99)}.csv"
    tool = dice.choice(["csv_reader", "file_reader", "load_json"])
    read = _step(tool, path=path)
    return _plan(Subclass.MISSING_STEP, "unwritten file", read, on=path)


def read_before_write(dice: random.Random) -> Injected:
    """A file is read before the step that writes it."""
    path = f"late{dice.randint(1, 99)}.csv"
    read = _step("csv_reader", path=path)
    rows = [{"a": "1"}]
    write = _after(_step("csv_writer", "s2", path=path, rows=rows), "s1")
    return _plan(Subclass.ORDER_ERROR, "read before write", read, write, on=path)


def missing_table(dice: random.Random) -> Injected:
    """A table is queried that no step has made."""
    table = f"staging_{dice.randint(1, 99)}"
    query = _step("sqlite_query", sql=f"SELECT * FROM {table}")  # noqa: S608  our own words
    return _plan(Subclass.MISSING_STEP, "missing table", query, on=table)


def unmet_precondition(dice: random.Random) -> Injected:
    """What an earlier step gave does not meet the step's own condition."""
    count = dice.randint(6, 60)
    first = _step("sqlite_query", "s0", sql="SELECT id FROM sales")
    rule = f"size(s0.rows) > {count}"
    second = _after(_step("exists", what="sales"), "s0", precondition_rule=rule)
    return _plan(
        Subclass.PRECONDITION_ERROR, "unmet precondition", first, second, on="sales"
    )


def wrong_binding(dice: random.Random) -> Injected:
    """A field is bound that the earlier step's output does not have."""
    field = dice.choice(["total", "summary", "path", "items"])
    first = _step("sqlite_query", "s0", sql="SELECT id FROM sales")
    second = _after(_step("exists", what=f"{{{{ s0.{field} }}}}"), "s0")
    return _plan(Subclass.PRECONDITION_ERROR, "wrong binding", first, second, on="")


def _execution(
    subclass: Subclass, name: str, step: dict[str, Any], on: str
) -> Injected:
    return Injected(name, Category.EXECUTION, subclass, (step,), on)


def bad_sql(dice: random.Random) -> Injected:
    """A statement that SQLite cannot read."""
    wrong = dice.choice(
        [
            "SELECT group FROM sales",
            "SELECT index FROM sales",
            "SELEC id FROM sales",
            "SELECT id FROM sales WHERE",
            "SELECT sum(amount FROM sales",
            "SELECT id, FROM sales",
        ]
    )
    step = _step("sqlite_query", sql=f"{wrong} -- {dice.randint(1, 99)}")
    return _execution(Subclass.PARAM_ERROR, "bad SQL", step, "sales")


def wrong_encoding(dice: random.Random) -> Injected:
    """A text read in an encoding it is not in."""
    path = dice.choice(["gb.txt", "latin.txt"])
    step = _step("file_reader", path=path, max_bytes=dice.randint(40, 400))
    return _execution(Subclass.PARSE_ERROR, "wrong encoding", step, path)


def broken_json(dice: random.Random) -> Injected:
    """A file that is no JSON."""
    path = dice.choice(["cut.json", "single.json"])
    step = _step("load_json", path=path)
    return _execution(Subclass.PARSE_ERROR, "broken JSON", step, path)


def refused_value(dice: random.Random) -> Injected:
    """A value the service does not take."""
    url = dice.choice(["/limit", "/date"])
    step = _step("fetch", url=url, limit=dice.randint(101, 999))
    return _execution(Subclass.PARAM_ERROR, "refused value", step, url)


def failing_program(dice: random.Random) -> Injected:
    """A program that ends with an error of its own."""
    code = dice.choice(
        [
            "print(1 / 0)",
            "import sys; print('usage: tool FILE', file=sys.stderr); sys.exit(2)",
            "int('12x')",
            "raise SystemExit('cannot parse line 7')",
        ]
    )
    step = _step("run_python", code=f"{code}  # {dice.randint(1, 99)}")
    return _execution(Subclass.TOOL_EXCEPTION, "failing program", step, "")


def left_out_rows(dice: random.Random) -> Injected:
    """A writer that reports success and wrote nothing."""
    rows = [{"id": dice.randint(1, 99)}]
    step = _step("csv_writer", path="out.csv", rows=rows, template={"id": "string"})
    return _execution(Subclass.PARSE_ERROR, "left-out rows", step, "out.csv")


def _outside(subclass: Subclass, name: str, step: dict[str, Any], on: str) -> Injected:
    return Injected(name, Category.ENVIRONMENT, subclass, (step,), on)


def nobody_there(dice: random.Random) -> Injected:
    """An address where nobody listens."""
    url = f"!/orders{dice.randint(1, 99)}"
    return _outside(
        Subclass.NETWORK_ERROR, "nobody there", _step("fetch", url=url), url
    )


def service_trouble(dice: random.Random) -> Injected:
    """A service that is down, crashes or is busy."""
    url = dice.choice(["/down", "/gateway", "/crash", "/busy"])
    step = _step("fetch", url=url, limit=dice.randint(1, 99))
    return _outside(Subclass.SERVICE_UNAVAILABLE, "service trouble", step, url)


def too_slow(dice: random.Random) -> Injected:
    """A service that does not answer in time."""
    step = _step("fetch", url="/slow", limit=dice.randint(1, 99))
    return _outside(Subclass.NETWORK_ERROR, "too slow", step, "/slow")


def no_right(dice: random.Random) -> Injected:
    """A right that is missing or has run out."""
    url = dice.choice(["/private", "/closed"])
    step = _step("fetch", url=url, limit=dice.randint(1, 99))
    return _outside(Subclass.PERMISSION_DENIED, "no right", step, url)


def renamed_column(dice: random.Random) -> Injected:
    """A column that was renamed since the plan's author saw the table."""
    column = dice.choice(["price", "area", "customer_no", "qty"])
    step = _step("sqlite_query", sql=f"SELECT {column} FROM sales")  # noqa: S608  our own words
    return _outside(Subclass.DATA_CHANGED, "renamed column", step, "sales")


def broken_database(dice: random.Random) -> Injected:
    """A database file that was overwritten."""
    step = _step(
        "broken_query", sql="SELECT id FROM sales", max_rows=dice.randint(1, 99)
    )
    return _outside(Subclass.DATA_CHANGED, "broken database", step, "broken.db")


def _request(
    subclass: Subclass, name: str, step: dict[str, Any], **more: Any
) -> Injected:
    return Injected(name, Category.REQUIREMENT, subclass, (step,), **more)


def shared_name(dice: random.Random) -> Injected:
    """A name that several customers have; the tool says so."""
    name = dice.choice(["Smith", "王", "Jones"])
    step = _step("find_customer", name=name)
    return _request(Subclass.AMBIGUOUS, "shared name", step, term=name)


def several_rows(dice: random.Random) -> Injected:
    """One row was meant and several fit; only the step's own check notices."""
    region = dice.choice(["north", "north' OR region = 'south"])
    sql = f"SELECT id FROM sales WHERE region = '{region}'"  # noqa: S608  our own words
    step = {
        **_step("sqlite_query", sql=sql),
        "validation_rule": "size(output.rows) == 1",
    }
    return _request(Subclass.AMBIGUOUS, "several rows", step, resource="sales")


def asked_back(dice: random.Random) -> Injected:
    """The service asks what is meant."""
    url, subclass = dice.choice(
        [
            ("/customer", Subclass.AMBIGUOUS),
            ("/period", Subclass.AMBIGUOUS),
            ("/currency", Subclass.MISSING_CONSTRAINT),
            ("/both", Subclass.CONFLICTING),
        ]
    )
    step = _step("fetch", url=url, limit=dice.randint(1, 99))
    term = "Smith" if url == "/customer" else ""
    return _request(subclass, "asked back", step, resource=url, term=term)


MAKERS: dict[Category, tuple[Maker, ...]] = {
    Category.PLAN: (
        unwritten_file,
        read_before_write,
        missing_table,
        unmet_precondition,
        wrong_binding,
    ),
    Category.EXECUTION: (
        bad_sql,
        wrong_encoding,
        broken_json,
        refused_value,
        failing_program,
        left_out_rows,
    ),
    Category.ENVIRONMENT: (
        nobody_there,
        service_trouble,
        too_slow,
        no_right,
        renamed_column,
        broken_database,
    ),
    Category.REQUIREMENT: (shared_name, several_rows, asked_back),
}


def injected_set(seed: int = SEED) -> Iterator[Injected]:
    """Yield the labelled failures, the same for the same seed."""
    dice = random.Random(seed)  # noqa: S311  a seeded choice, no secret
    for makers in MAKERS.values():
        for number in range(PER_CATEGORY):
            yield makers[number % len(makers)](dice)
