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
import tempfile
from typing import Any

from langgraph.store.memory import InMemoryStore

from mendgraph.nodes.brief import Brief, MendBrief
from mendgraph.nodes.planning import draft_patch, draft_plan
from mendgraph.state.algebra import cone
from mendgraph.state.failure import Failure
from mendgraph.state.lesson import Found, Lesson, NextAction, Reflection
from mendgraph.state.limits import Limits, Spent
from mendgraph.state.outcome import ExecutionSummary, StepRecord, StepStatus
from mendgraph.state.plan import Plan
from mendgraph.tools.board import Board
from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.knowledge import KnowledgeBook
from mendgraph.tools.models.capabilities import CapabilityBook
from mendgraph.tools.models.reasoner import Reasoner
from mendgraph.tools.registry import Registry, make_registry
from mendgraph.tools.run import Deps, Run
from mendgraph.tools.shipped.files import file_tools
from mendgraph.tools.shipped.http import http_tools
from mendgraph.tools.shipped.sql_sqlite import sqlite_tools
from mendgraph.tools.vault import Vault

SIZES = (10, 20, 50, 100)
TASK = (
    "Read the user behaviour logs of last month from the database, count page views "
    "and visitors by hour and region, compare them with the month before, and write "
    "one CSV file for each region and a summary for the sales team."
)
CONSTRAINTS = ("do not use http_request", "figures are rounded to two decimals")


def registry(folder: str) -> Registry:
    """Return the package's own tools for SQL, files and HTTP; none is ever called."""
    kit = (
        sqlite_tools(f"{folder}/logs.db", root=folder)
        + file_tools(folder)
        + http_tools("http://127.0.0.1:9")
    )
    return make_registry(kit.tools, kit.policies)


def step(number: int, needs: list[int]) -> dict[str, Any]:
    """Return a step that reads, aggregates or writes, by its number."""
    rows = f"{{{{ s{needs[-1]}.rows }}}}" if needs else []
    query = f"SELECT region, hour, uid FROM log_{number}"  # noqa: S608  never run
    made = (
        ("sqlite_query", {"sql": query, "max_rows": 5_000}),
        ("csv_writer", {"path": f"out/report_{number}.csv", "rows": rows}),
        ("sqlite_batch_query", {"sql": query, "aggregate": {"group_by": ["hour"]}}),
    )
    tool, inputs = made[number % len(made)] if needs else made[0]
    return {
        "id": f"s{number}",
        "description": f"{PURPOSES[tool]} of part {number} for the comparison",
        "tool": tool,
        "inputs": inputs,
        "dependencies": [f"s{i}" for i in needs],
        "expected_output": "rows by hour and region, none of them empty",
        "validation_rule": "size(output.rows) > 0",
        "risk": "low",
    }


PURPOSES = {
    "sqlite_query": "read the views",
    "csv_writer": "write the rows",
    "sqlite_batch_query": "count visitors by hour",
}
SHAPES = {"chain": (1,), "braid": (3, 1), "branches": (4,)}
"""How far back a step reads."""


def plan_of(size: int, shape: str) -> Plan:
    """Return a chain, a braid of two strands, or four branches side by side."""
    steps = [
        step(number, [number - back for back in SHAPES[shape] if number > back])
        for number in range(1, size + 1)
    ]
    return Plan.model_validate({"goal": TASK, "steps": steps})


def failure() -> Failure:
    """Return the failure of the document's example."""
    message = 'syntax error at or near "timestamp" LINE 1: SELECT timestamp, region'
    told = {"message": message, "exceptions": ["sqlite3.OperationalError"]}
    judged = {
        "category": "execution_error",
        "subclass": "param_error",
        "reaction": "adjust_params",
        "transient": False,
        "confidence": 0.9,
        "reason": "a syntax error cannot pass by waiting",
        "rule": "syntax",
    }
    return Failure.model_validate({"facts": told, "classification": judged})


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
        signature="plan_error:missing_step:sqlite_query",
    )


def record(plan: Plan, number: int, failed: int) -> StepRecord:
    """Return what became of a step."""
    return StepRecord(
        step_id=f"s{number}",
        status=StepStatus.FAILED if number == failed else StepStatus.DONE,
        tool=plan.steps[number - 1].tool,
        failure=failure() if number == failed else None,
        summary=ExecutionSummary(
            status="failed" if number == failed else "success",
            output_digest=f'{{"rows":{720 + number},"hour":0,"region":"EU","pv":81}}',
        ),
    )


LESSONS = """\
Quote column names that are reserved words, such as timestamp.|syntax error at or near \
"timestamp" in an aggregate over the log table|quote every column of the statement
Read large tables in batches; one SELECT over all rows ran out of memory.|MemoryError \
after 40 s on the logs of a quarter|use the batch query with an aggregate
Give the CSV writer a template, or numbers are left out of the file.|the file had 0 \
bytes although 5,000 rows were given|cast integers to text and check size_bytes
Describe a table before the first query on it; columns were renamed in May.|no such \
column: uid|compare the schema fingerprint with the one of the last run
Aggregate in SQL rather than in memory for more than 100,000 rows.|the step took 90 s \
where 2 s were expected|GROUP BY hour and region in the statement itself"""
"""What to do, the symptom and the strategy of a lesson, a line each."""


def lessons() -> tuple[Found, ...]:
    """Return the five lessons memory gives a planner."""
    return tuple(
        Found(
            lesson=Lesson(
                id=f"lesson-{number}",
                text=text,
                issue=issue,
                strategy=strategy,
                signature="execution_error:param_error:sqlite_query",
                tool="sqlite_query",
                created_at=0.0,
                category="execution_error",
                subclass="param_error",
            ),
            score=1.0 / number,
        )
        for number, line in enumerate(LESSONS.splitlines(), start=1)
        for text, issue, strategy in [line.split("|")]
    )


def knowledge(tools: Registry) -> str:
    """Return what the knowledge book says after twenty calls of each tool."""
    numbers = itertools.count()
    book = KnowledgeBook(InMemoryStore(), lambda: 0.0, lambda: str(next(numbers)))
    for name in tools.names:
        for number in range(20):
            book.observe(name, 100.0 + 15 * number, ok=number != 7)
        book.note_error(name, f"env_error:network_error:{name}", "connection reset")
    return book.describe(tools.names)


def run_with(answer: dict[str, Any], tools: Registry) -> Run:
    """Return a run whose model, a scripted double, gives this answer."""
    store, numbers, limits = InMemoryStore(), itertools.count(), Limits()
    model = ScriptedModel(script=[answer])
    deps = Deps(
        registry=tools,
        limits=limits,
        reasoner=Reasoner(
            [model], clock=lambda: 0.0, sleep=asyncio.sleep, book=CapabilityBook()
        ),
        memory=None,
        store=store,
        clock=lambda: 0.0,
        new_id=lambda: str(next(numbers)),
        sleep=asyncio.sleep,
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


def replanned(size: int, shape: str, tools: Registry) -> tuple[int, int, int]:
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
        "tool": "sqlite_query",
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
        knowledge=knowledge(tools),
        base=plan,
        records=known,
        done=frozenset(done),
        reason=f"step {name} failed and could not be mended",
        reflection=reflection(name),
    )
    fresh = [{**step(size + 1, []), "id": f"s{size + 1}"}]
    near = run_with({"replace": [mended], "constraint_answers": answers}, tools)
    far = run_with({"steps": fresh, "constraint_answers": answers}, tools)
    drafts = [
        asyncio.run(draft_patch(local, near)),
        asyncio.run(draft_plan(whole, far)),
    ]
    if faults := [draft.problem for draft in drafts if draft.plan is None]:
        sys.exit(f"no plan: {faults}")
    return near.meter.prompt_tokens, far.meter.prompt_tokens, len(affected)


def main() -> None:
    """Print the table and, as JSON, the worst ratio of the shapes for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only 10 and 20 steps")
    sizes = SIZES[:2] if parser.parse_args().quick else SIZES
    figures: dict[str, float] = {}
    print(
        f"Python {platform.python_version()}, {platform.machine()}; tokens counted by"
    )
    print("mendgraph.state.tokens, the model is a scripted double\n")
    print(f"{'shape':<10}{'steps':>6}{'cone':>6}{'local':>8}{'global':>8}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        tools = registry(folder)
        for shape, size in itertools.product(SHAPES, sizes):
            local, whole, affected = replanned(size, shape, tools)
            ratio = round(local / whole, 3)
            print(f"{shape:<10}{size:>6}{affected:>6}{local:>8}{whole:>8}{ratio:>8}")
            worst = max(figures.get(f"ratio_{size}", 0.0), ratio)
            figures[f"ratio_{size}"] = worst
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
