"""How many prompt tokens does a local replan take beside a global one (F41)?

Plans of 10, 20, 50 and 100 steps fail at 60 %. Both prompts are built by the code that
runs in production, for the same tools, lessons, knowledge, records and reflection, and
counted with the instruction for their answer. Both answers come from a script and are
merged for real, so the prompts are those of two replans that work.
"""

import argparse
import asyncio
import itertools
import json
import platform
import sys
from dataclasses import dataclass
from typing import Any

from langgraph.store.memory import InMemoryStore

from mendgraph.nodes.brief import Brief, MendBrief
from mendgraph.nodes.planning import draft_patch, draft_plan
from mendgraph.state.algebra import cone
from mendgraph.state.failure import Classification, Failure, FailureFacts
from mendgraph.state.lesson import Found, Lesson, NextAction, Reflection
from mendgraph.state.limits import Limits, Spent
from mendgraph.state.outcome import ExecutionSummary, StepRecord
from mendgraph.state.plan import Plan
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.board import Board
from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.models.capabilities import CapabilityBook
from mendgraph.tools.models.reasoner import Reasoner
from mendgraph.tools.registry import Registry, make_registry
from mendgraph.tools.run import Deps, Run
from mendgraph.tools.vault import Vault

SIZES = (10, 20, 50, 100)
TASK = (
    "Read the user behaviour logs of the last month from PostgreSQL, count page views "
    "and visitors by hour and region, compare them with the month before, and write "
    "one CSV file for each region and a summary for the sales team."
)
CONSTRAINTS = ("do not use drop_table", "figures are rounded to two decimals")


@dataclass(frozen=True)
class Tool:
    """A tool of the benchmark: name, arguments, purpose, kind of effect."""

    name: str
    arguments: str
    purpose: str
    effect: str = "read"


TOOLS = (
    Tool("postgres_ping", "dsn: str", "Check that the database answers."),
    Tool(
        "postgres_query",
        "sql: str, params: list[str] | None = None, limit: int = 1000",
        "Run one read-only SQL statement and give its rows, with a row limit.",
    ),
    Tool(
        "postgres_batch_query",
        "sql: str, batch_size: int = 500, max_batches: int = 100",
        "Run a long SELECT with a server-side cursor, batch by batch.",
    ),
    Tool(
        "describe_table",
        "table: str, schema_name: str = 'public'",
        "Give the columns of a table with types and whether they may be null.",
    ),
    Tool(
        "aggregate",
        "rows: list[dict], by: list[str], measures: list[str]",
        "Group rows and sum, count or average the measures of each group.",
    ),
    Tool(
        "join_rows",
        "left: list[dict], right: list[dict], on: list[str], how: str = 'inner'",
        "Join two lists of rows on equal fields.",
    ),
    Tool(
        "http_get",
        "url: str, headers: dict | None = None, timeout_s: float = 10.0",
        "Fetch a URL and give status, headers and body.",
    ),
    Tool(
        "csv_writer",
        "path: str, rows: list[dict], columns: list[str] | None = None",
        "Write rows to a CSV file; gives path, bytes and rows written.",
        "write",
    ),
    Tool(
        "send_mail",
        "to: str, subject: str, body: str",
        "Send a mail to one address.",
        "irreversible",
    ),
    Tool("drop_table", "table: str", "Delete a table.", "irreversible"),
)


def registry() -> Registry:
    """Return the benchmark's tools; none of them is ever called."""
    functions = []
    for tool in TOOLS:
        scope: dict[str, Any] = {}
        source = f"def {tool.name}({tool.arguments}) -> dict:\n    '''{tool.purpose}'''"
        exec(source, scope)  # noqa: S102  our own text, to get real signatures
        functions.append(scope[tool.name])
    policies = {tool.name: ToolPolicy(effect=tool.effect) for tool in TOOLS}
    return make_registry(functions, policies)


def step(number: int, needs: list[int]) -> dict[str, Any]:
    """Return a step that reads, aggregates or writes, by its number."""
    rows = f"{{{{ s{needs[-1]}.rows }}}}" if needs else []
    made = (
        ("postgres_query", {"sql": f"SELECT region, hour, uid FROM log_{number}"}),
        ("aggregate", {"rows": rows, "by": ["hour", "region"], "measures": ["pv"]}),
        ("csv_writer", {"path": f"out/report_{number}.csv", "rows": rows}),
    )
    tool, inputs = made[number % len(made)] if needs else made[0]
    return {
        "id": f"s{number}",
        "description": f"{tool} for part {number} of the monthly comparison",
        "tool": tool,
        "inputs": inputs,
        "dependencies": [f"s{i}" for i in needs],
        "expected_output": "rows by hour and region, none of them empty",
        "validation_rule": "size(output.rows) > 0",
        "risk": "low",
    }


def plan_of(size: int, shape: str) -> Plan:
    """Return a chain, or a braid in which a step reads the two before it."""
    steps = []
    for number in range(1, size + 1):
        back = {"chain": [1], "braid": [3, 1], "branches": [4]}[shape]
        needs = sorted({number - distance for distance in back if number > distance})
        steps.append(step(number, needs))
    return Plan.model_validate({"goal": TASK, "steps": steps})


def failure() -> Failure:
    """Return the failure of the document's example."""
    message = 'syntax error at or near "timestamp" LINE 1: SELECT timestamp, region'
    return Failure(
        facts=FailureFacts(
            message=message,
            sqlstate="42601",
            exceptions=("psycopg.errors.SyntaxError",),
        ),
        classification=Classification(
            category="execution_error",
            subclass="param_error",
            transient=False,
            reaction="adjust_params",
            confidence=0.9,
            reason="SQLSTATE 42601 is a syntax error",
            rule="sqlstate",
        ),
    )


def reflection(step_id: str) -> Reflection:
    """Return what was found out about it."""
    return Reflection(
        id="r1",
        step_id=step_id,
        decision=NextAction.LOCAL_REPLAN,
        observed_issue="the SQL uses a reserved word as a column name, twice patched",
        hypotheses=("timestamp must be quoted", "the table was renamed"),
        next_action="describe the table first and select from its real columns",
        category="plan_error",
        subclass="missing_step",
        signature="plan_error:missing_step:postgres_query",
    )


def record(plan: Plan, number: int, failed: int) -> StepRecord:
    """Return what became of a step."""
    return StepRecord(
        step_id=f"s{number}",
        status="failed" if number == failed else "done",
        tool=plan.steps[number - 1].tool,
        failure=failure() if number == failed else None,
        summary=ExecutionSummary(
            status="failed" if number == failed else "success",
            output_digest=json.dumps(
                {"rows": 720 + number, "first": {"hour": 0, "region": "EU", "pv": 81}}
            ),
        ),
    )


def lessons() -> tuple[Found, ...]:
    """Return the five lessons memory gives a planner."""
    texts = (
        "Quote PostgreSQL column names that are reserved words, such as timestamp.",
        "Read large tables with a cursor in batches; a plain SELECT ran out of memory.",
        "Write numbers as text for the CSV template, or the file stays empty.",
        "Describe a table before the first query on it; columns were renamed in May.",
        "Aggregate in SQL rather than in memory when more than 100,000 rows are read.",
    )
    return tuple(
        Found(
            lesson=Lesson(
                id=f"lesson-{number}",
                text=text,
                issue="a step of a report failed at its first try",
                signature="execution_error:param_error:postgres_query",
                tool="postgres_query",
                category="execution_error",
                subclass="param_error",
                created_at=0.0,
            ),
            score=1.0 / number,
        )
        for number, text in enumerate(texts, start=1)
    )


KNOWLEDGE = "\n".join(
    f"{tool.name}: {97 - number} % of calls succeed, median {120 + 40 * number} ms"
    for number, tool in enumerate(TOOLS)
)


async def _no_sleep(_seconds: float) -> None:
    return None


def run_with(answer: dict[str, Any]) -> Run:
    """Return a run whose model, a scripted double, gives this answer."""
    store, numbers, limits = InMemoryStore(), itertools.count(), Limits()
    model = ScriptedModel(script=[answer])
    deps = Deps(
        registry=registry(),
        limits=limits,
        reasoner=Reasoner(
            [model], clock=lambda: 0.0, sleep=_no_sleep, book=CapabilityBook()
        ),
        memory=None,
        store=store,
        clock=lambda: 0.0,
        new_id=lambda: str(next(numbers)),
        sleep=_no_sleep,
    )
    return Run(
        deps=deps,
        thread_id="bench",
        task_id="bench",
        vault=Vault(store, "bench"),
        library=deps.library(store),
        board=Board(limits, Spent(), {}, lambda: 0.0),
        config={},
        write=lambda _event: None,
        can_ask=False,
    )


def replanned(size: int, shape: str) -> tuple[int, int, int]:
    """Return the prompt tokens of a local and a global replan, and the cone's size."""
    plan = plan_of(size, shape)
    failed = round(size * 0.6)
    name = f"s{failed}"
    affected = cone(plan, name)
    done = {s for s in plan.ids if s not in affected and int(s[1:]) < failed}
    known = {i: record(plan, int(i[1:]), failed) for i in (*done, name)}
    answers = {"c2": "the last step rounds"}
    mended = {
        **plan.step(name).model_dump(mode="json", exclude_defaults=True),
        "id": f"s{size + 1}",
        "replaces": name,
        "tool": "postgres_query",
        "inputs": {"sql": 'SELECT "timestamp", region FROM log'},
    }
    local = MendBrief(
        task=TASK,
        plan=plan,
        failed=frozenset({name}),
        cone=affected,
        constraints=CONSTRAINTS,
        records=known,
        done=frozenset(done),
        reflection=reflection(name),
    )
    whole = Brief(
        task=TASK,
        constraints=CONSTRAINTS,
        lessons=lessons(),
        knowledge=KNOWLEDGE,
        base=plan,
        records=known,
        done=frozenset(done),
        reason=f"step {name} failed and could not be mended",
        reflection=reflection(name),
    )
    fresh = [{**step(size + 1, []), "id": f"s{size + 1}"}]
    near = run_with({"replace": [mended], "constraint_answers": answers})
    far = run_with({"steps": fresh, "keep": [], "constraint_answers": answers})
    first = asyncio.run(draft_patch(local, near))
    second = asyncio.run(draft_plan(whole, far))
    if first.plan is None or second.plan is None:
        sys.exit(f"no plan: {first.problem} / {second.problem}")
    return near.meter.prompt_tokens, far.meter.prompt_tokens, len(affected)


def main() -> None:
    """Print the table for a plan shape and the line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only 10 and 20 steps")
    sizes = SIZES[:2] if parser.parse_args().quick else SIZES
    figures: dict[str, float] = {}
    print(
        f"Python {platform.python_version()}, {platform.machine()}; tokens counted by"
    )
    print("mendgraph.state.tokens, the model is a scripted double\n")
    print(f"{'shape':<10}{'steps':>6}{'cone':>6}{'local':>8}{'global':>8}{'ratio':>8}")
    for shape in ("chain", "braid", "branches"):
        for size in sizes:
            local, whole, affected = replanned(size, shape)
            ratio = round(local / whole, 3)
            print(f"{shape:<10}{size:>6}{affected:>6}{local:>8}{whole:>8}{ratio:>8}")
            worst = max(figures.get(f"ratio_{size}", 0.0), ratio)
            figures[f"ratio_{size}"] = worst
    print("\nThe figures below are the worst of the shapes.")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
