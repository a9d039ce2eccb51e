"""Plain thread values for the report, made up by hand; no run made them."""

from typing import Any

T0 = 1_790_000_000.0
"""When the made-up runs began, seconds since the epoch."""


def step(step_id: str, text: str, tool: str, *needs: str, **more: Any) -> dict:
    """Return a step of a plan file."""
    return {
        "id": step_id,
        "description": text,
        "tool": tool,
        "dependencies": list(needs),
        **more,
    }


def attempt(number: int, tool: str, start: float, took: float, **more: Any) -> dict:
    """Return an attempt; it is `ok` unless said otherwise."""
    return {
        "number": number,
        "tool": tool,
        "started_at": T0 + start,
        "ended_at": T0 + start + took,
        "status": "ok",
        **more,
    }


def record(step_id: str, status: str, *attempts: dict, **more: Any) -> dict:
    """Return a step record."""
    return {"step_id": step_id, "status": status, "attempts": list(attempts), **more}


def summary(digest: str, **more: Any) -> dict:
    """Return an execution summary."""
    return {"status": "success", "output_digest": digest, **more}


def failure(message: str, category: str, subclass: str, reason: str) -> dict:
    """Return failure facts with their class."""
    return {
        "facts": {"message": message},
        "classification": {
            "category": category,
            "subclass": subclass,
            "transient": False,
            "reaction": "no_retry",
            "confidence": 0.9,
            "reason": reason,
            "rule": "made-up",
        },
    }


def call(role: str, start: float, took: float, written: int = 400) -> dict:
    """Return a kept reasoning chain."""
    return {
        "role": role,
        "label": f"v1:{role}",
        "model": "deepseek-flash",
        "reasoning": "kept apart",
        "started_at": T0 + start,
        "ended_at": T0 + start + took,
        "prompt_tokens": 1_400,
        "completion_tokens": written,
    }


def correction(step_id: str, at: float, action: str, tier: str, **more: Any) -> dict:
    """Return a line of the corrections trail."""
    return {
        "step_id": step_id,
        "trigger": "hard",
        "category": "execution_error",
        "subclass": "param_error",
        "action": action,
        "tier": tier,
        "at": T0 + at,
        "worked": True,
        **more,
    }


def healed() -> dict[str, Any]:
    """Five steps, two faults, both mended: the PV/UV example of the design."""
    plan = {
        "id": "pv-uv",
        "goal": "Hourly PV and UV from the event log, written to a CSV file",
        "steps": [
            step("s1", "Check the database connection", "sql_ping", risk="low"),
            step("s2", "Look at the table's columns", "sql_query", "s1"),
            step("s3", "Write the aggregation query", "write_sql", "s2"),
            step("s4", "Run the query in batches", "sql_query", "s3", risk="high"),
            step("s5", "Write the result to a CSV file", "csv_write", "s4"),
        ],
    }
    bad_sql = 'syntax error at or near "timestamp" (SQLSTATE 42601)'
    empty = "result.csv has 0 bytes although 5,000 rows were given"
    steps = [
        record(
            "s1",
            "done",
            attempt(1, "sql_ping", 4.1, 0.12),
            summary=summary('{"version": "PostgreSQL 17.2"}'),
        ),
        record(
            "s2",
            "done",
            attempt(1, "sql_query", 4.3, 0.35),
            summary=summary('{"columns": ["user_id", "action", "timestamp"]}', rows=3),
        ),
        record(
            "s3",
            "done",
            attempt(1, "write_sql", 4.7, 2.6),
            summary=summary('{"sql": "SELECT date_trunc(...)"}'),
        ),
        record(
            "s4",
            "done",
            attempt(
                1,
                "sql_query",
                7.4,
                0.8,
                status="failed",
                error=bad_sql,
                verdict="execution_error:param_error",
                rule="sqlstate-42",
            ),
            attempt(
                2,
                "sql_query",
                12.6,
                3.9,
                tier="tier2",
                waited_s=2.0,
                changed=["sql"],
                why='quoted the reserved word "timestamp"',
            ),
            summary=summary('{"rows": 5000, "first": {"hour": "00", "pv": 812}}'),
            corrections=1,
        ),
        record(
            "s5",
            "done",
            attempt(
                1,
                "csv_write",
                16.6,
                0.7,
                status="failed",
                error=empty,
                verdict="execution_error:parse_error",
                rule="file-not-empty",
            ),
            attempt(
                2,
                "csv_write",
                22.4,
                1.1,
                tier="tier2",
                waited_s=2.0,
                changed=["template"],
                why="the template takes numbers as text",
            ),
            summary=summary('{"path": "result.csv", "bytes": 148210}'),
            corrections=1,
            effect_key="e1",
        ),
    ]
    signatures = (
        "execution_error:param_error:sql_query",
        "execution_error:parse_error:csv_write",
    )
    state = {
        "task": plan["goal"],
        "status": "done",
        "answer": "result.csv holds 5,000 hourly rows (148 kB).",
        "plan": plan,
        "steps": {each["step_id"]: each for each in steps},
        "started_at": T0,
        "spent": {
            "executions": 7,
            "retries": 2,
            "tier2": 2,
            "corrections": 2,
            "model_calls": 6,
            "correction_model_calls": 4,
            "prompt_tokens": 8_400,
            "completion_tokens": 3_600,
            "reasoning_tokens": 2_100,
            "budgeted_tokens": 3_600,
            "seconds": 24.3,
        },
        "corrections": [
            correction(
                "s4",
                8.3,
                "change_arguments",
                "tier2",
                reason="other arguments (the SQL does not parse)",
                model_calls=2,
                prompt_tokens=2_700,
                signature=signatures[0],
            ),
            correction(
                "s5",
                17.4,
                "change_arguments",
                "tier2",
                reason="the file is empty although the tool said success",
                trigger="soft",
                subclass="parse_error",
                model_calls=2,
                signature=signatures[1],
            ),
        ],
        "reflections": [
            {
                "id": "r1",
                "step_id": "s4",
                "decision": "patch",
                "observed_issue": bad_sql,
                "confirmed_cause": "s3 left the reserved word unquoted",
                "hypotheses": ["reserved word as a column name", "wrong dialect"],
                "cause_step": "s3",
                "evidence_refs": ["s3@1.1", "s4 attempt 1"],
                "next_action": "quote the column and run again",
                "lesson": "Quote reserved words used as column names in PostgreSQL.",
                "category": "execution_error",
                "subclass": "param_error",
                "signature": signatures[0],
                "confidence": 0.86,
                "resolved": True,
                "source": "model",
            },
            {
                "id": "r2",
                "step_id": "s5",
                "decision": "patch",
                "observed_issue": empty,
                "hypotheses": ["the template wants text and was given numbers"],
                "evidence_refs": ["s5 attempt 1"],
                "lesson": "Convert numbers to text for this CSV template.",
                "category": "execution_error",
                "subclass": "parse_error",
                "signature": signatures[1],
                "resolved": True,
                "source": "model",
            },
        ],
        "notes": [{"kind": "memory", "text": "One lesson was shown to the planner."}],
        "answers": [],
    }
    thoughts = [
        call("plan", 0.3, 3.6, 900),
        call("reflect", 8.3, 1.2, 700),
        call("patch", 9.6, 1.0, 300),
        call("reflect", 17.4, 1.6, 800),
        call("patch", 19.1, 1.2, 300),
        call("critique", 23.6, 0.6, 600),
    ]
    return {
        "state": state,
        "reasoning": {f"k{n}": each for n, each in enumerate(thoughts)},
        "ledger": [effect("e1", "s5", "csv_write", "done", path="result.csv")],
        "strategies": [strategy("st1", signatures[0], uses=9, successes=8)],
    }


def effect(key: str, step_id: str, tool: str, status: str, **arguments: Any) -> dict:
    """Return a ledger entry."""
    return {
        "key": key,
        "thread_id": "t1",
        "step_id": step_id,
        "lineage": step_id,
        "plan_version": 1,
        "tool": tool,
        "arguments": arguments,
        "arguments_digest": "0" * 64,
        "status": status,
        "created_at": T0 + 20,
    }


def strategy(key: str, signature: str, uses: int, successes: int) -> dict:
    """Return a strategy with its record of use."""
    return {
        "id": key,
        "signature": signature,
        "content": "Quote column names that are reserved words, then run again.",
        "state": "active" if uses else "candidate",
        "total": uses,
        "successes": successes,
        "patch": {"sql": "args.sql"},
        "applications": [
            {
                "task_id": "t0",
                "step_id": "s4",
                "outcome": "success",
                "at": T0 - 9_000,
                "resolve_s": 3.4,
            }
        ][:uses],
    }


REGIONS = (
    *("north", "south", "east", "west", "centre", "coast"),
    *("hills", "lakes", "plains", "islands", "delta", "forest"),
)


def wide() -> dict[str, Any]:
    """Fifty steps, twelve branches at once, a fallback, a replan and a long pause."""
    kinds = (
        ("load", "Load the orders of {}", "sql_query"),
        ("clean", "Drop duplicates in {}", "clean_rows"),
        ("check", "Check totals of {}", "check_totals"),
        ("sum", "Sum up {}", "aggregate"),
    )
    steps = []
    for region in REGIONS:
        before: tuple[str, ...] = ()
        for name, text, tool in kinds:
            key = f"{name}-{region}"
            steps.append(step(key, text.format(region), tool, *before))
            before = (key,)
    sums = [f"sum-{region}" for region in REGIONS]
    steps.append(step("merge", "Merge all regions", "merge", *sums))
    steps.append(step("publish", "Publish the report", "publish", "merge", risk="high"))
    first = {"id": "orders", "goal": "Report", "version": 1, "steps": steps}
    second = {**first, "version": 2, "steps": [dict(each) for each in steps]}
    for each in second["steps"]:
        if each["id"] == "check-lakes":
            each.update(id="check-lakes-2", replaces="check-lakes", tool="recount")
        each["dependencies"] = [
            "check-lakes-2" if d == "check-lakes" else d for d in each["dependencies"]
        ]
    second["retired"] = ["check-lakes"]
    records = _wide_records()
    state = {
        "task": "Build and publish the regional order report",
        "status": "done",
        "answer": "The report covers twelve regions and is published.",
        "plan": second,
        "steps": {each["step_id"]: each for each in records},
        "started_at": T0,
        "spent": {
            "executions": sum(len(each["attempts"]) for each in records),
            "retries": 4,
            "tier1": 2,
            "tier3": 1,
            "replans": 1,
            "corrections": 1,
            "model_calls": 3,
            "correction_model_calls": 2,
            "prompt_tokens": 6_100,
            "completion_tokens": 2_950,
            "budgeted_tokens": 2_950,
            "seconds": 21.0,
        },
        "corrections": [
            correction(
                "load-coast",
                2.9,
                "retry_same",
                "tier1",
                reason="transient (429, Retry-After 3 s); the same call after 3 s",
                category="env_error",
                subclass="rate_limited",
            ),
            correction(
                "check-lakes",
                6.4,
                "local_replan",
                "plan",
                reason="the totals need a recount first; one step is planned anew",
                category="plan_error",
                subclass="missing_step",
                model_calls=2,
            ),
            correction(
                "clean-delta",
                5.2,
                "fallback",
                "tier3",
                reason="the fallback (out of memory)",
                subclass="resource_exhausted",
            ),
        ],
        "answers": [
            {
                "kind": "approval",
                "question": "Publish to 1,240 readers?",
                "answer": "approve",
                "step_id": "publish",
            }
        ],
    }
    thoughts = [
        call("plan", 0.2, 1.9),
        call("reflect", 6.4, 0.9),
        call("replan", 7.3, 1.4),
    ]
    return {
        "state": state,
        "reasoning": {f"k{n}": each for n, each in enumerate(thoughts)},
        "history": [first],
        "ledger": [
            {**effect("e1", "publish", "publish", "done", readers=1240)}
            | {"approval_id": "ap-17", "idempotency_key": "5d1f0c1e"}
        ],
    }


def _wide_records() -> list[dict]:
    records = []
    for n, region in enumerate(REGIONS):
        at = 2.2 + 0.02 * n
        for name, tool, took in (
            ("load", "sql_query", 0.6 + 0.13 * (n * 7 % 5)),
            ("clean", "clean_rows", 0.9 + 0.21 * (n * 5 % 7)),
            ("check", "check_totals", 0.4 + 0.05 * n),
            ("sum", "aggregate", 0.7 + 0.1 * (n % 3)),
        ):
            made = _branch(f"{name}-{region}", tool, at, took)
            records += made
            at = made[-1]["attempts"][-1]["ended_at"] - T0 + 0.03
    records.append(record("merge", "done", attempt(1, "merge", 13.6, 1.2)))
    records.append(
        record(
            "publish",
            "done",
            attempt(1, "publish", 4_215.0, 1.7),
            effect_key="e1",
            summary=summary('{"id": "rep-88"}'),
        )
    )
    return records


def _branch(key: str, tool: str, at: float, took: float) -> list[dict]:
    if key == "load-coast":
        bad = {
            "status": "failed",
            "error": "429 Too Many Requests, Retry-After: 3",
            "verdict": "env_error:rate_limited",
        }
        again = attempt(
            2, tool, at + 3.5, took, tier="tier1", waited_s=3.0, why="the same call"
        )
        return [record(key, "done", attempt(1, tool, at, 0.5, **bad), again)]
    if key == "clean-delta":
        bad = {
            "status": "failed",
            "error": "MemoryError",
            "verdict": "execution_error:resource_exhausted",
        }
        again = attempt(2, "clean_stream", at + 1.0, 1.9, tier="tier3", why="fallback")
        return [record(key, "done", attempt(1, tool, at, 0.8, **bad), again)]
    if key == "check-lakes":
        bad = {"status": "failed", "error": "totals differ by 14", "verdict": "plan"}
        return [
            record(key, "void", attempt(1, tool, at, took, **bad)),
            record(
                "check-lakes-2",
                "done",
                attempt(1, "recount", at + took + 2.6, 1.1),
                plan_version=2,
                lineage="check-lakes",
            ),
        ]
    return [record(key, "done", attempt(1, tool, at, took))]


def failed() -> dict[str, Any]:
    """A refund task that stopped half-way: one failure, one doubt, budgets used up."""
    plan = {
        "id": "refund",
        "goal": "Refund order 1042 and tell the customer",
        "version": 2,
        "steps": [
            step("find", "Find the order", "query_order"),
            step("policy", "Read the refund policy", "search_docs"),
            step("amount", "Work out the amount", "compute", "find", "policy"),
            step("refund", "Refund the payment", "refund", "amount", risk="high"),
            step("ledger", "Book the refund", "book_entry", "refund"),
            step("mail", "Write to the customer", "send_mail", "refund"),
            step("stock", "Put the item back in stock", "stock_add", "find"),
            step("close", "Close the case", "close_case", "ledger", "mail", "stock"),
        ],
    }
    down = "503 Service Unavailable: the payment provider did not answer in 30 s"
    bad = {
        "status": "failed",
        "error": down,
        "verdict": "env_error:service_unavailable",
        "rule": "http-503",
    }
    steps = [
        record(
            "find",
            "done",
            attempt(1, "query_order", 2.0, 0.4),
            summary=summary('{"order": 1042, "total": "59.90 EUR"}'),
        ),
        record("policy", "done", attempt(1, "search_docs", 2.0, 1.6)),
        record("amount", "done", attempt(1, "compute", 3.7, 0.2)),
        record(
            "refund",
            "failed",
            attempt(1, "refund", 4.0, 3.0, **bad),
            attempt(2, "refund", 8.0, 3.0, tier="tier1", waited_s=1.0, **bad),
            attempt(3, "refund", 13.0, 3.0, tier="tier1", waited_s=2.0, **bad),
            failure=failure(
                down,
                "env_error",
                "service_unavailable",
                "the service said 503 three times",
            ),
            escalation={
                "action": "give_up",
                "reason": "no other provider is known and the retries are used up",
            },
            effect_key="e1",
        ),
        record("ledger", "blocked", blocked_by=["refund"]),
        record("mail", "blocked", blocked_by=["refund"]),
        record(
            "stock",
            "waiting",
            attempt(1, "stock_add", 2.5, 1.1, status="pending"),
            attempt(2, "stock_add", 6.0, 0.3, tier="poll", status="pending"),
        ),
    ]
    state = {
        "task": plan["goal"],
        "status": "partial",
        "answer": "The amount is 59.90 EUR. The refund itself could not be made.",
        "plan": plan,
        "limits": {"retries": 2},
        "steps": {each["step_id"]: each for each in steps},
        "started_at": T0,
        "spent": {
            "executions": 8,
            "retries": 2,
            "tier1": 2,
            "corrections": 1,
            "model_calls": 4,
            "correction_model_calls": 3,
            "prompt_tokens": 5_200,
            "completion_tokens": 15_400,
            "budgeted_tokens": 15_400,
            "seconds": 21.7,
        },
        "corrections": [
            correction(
                "refund",
                7.0,
                "retry_same",
                "tier1",
                reason="transient (503); the same call after 1 s",
                category="env_error",
                subclass="service_unavailable",
                worked=False,
                model_calls=3,
            ),
        ],
        "notes": [
            {"kind": "budget", "text": "Candidate plans: one path instead of three."},
            {"kind": "budget", "text": "The plan was not criticised by the model."},
            {"kind": "signal", "text": "The customer asked again by phone."},
        ],
        "answers": [
            {
                "kind": "clarification",
                "question": "Is the second delivery part of this order?",
                "answer": "no, only the first",
            }
        ],
    }
    return {
        "state": state,
        "reasoning": {
            "k0": call("plan", 0.2, 1.7),
            "k1": call("reflect", 16.2, 4.4, 9_000),
        },
        "ledger": [effect("e1", "refund", "refund", "unknown", amount="59.90 EUR")],
    }


def long(count: int = 300) -> dict[str, Any]:
    """A long plan: a chain in which every fifth step has a side branch."""
    steps, records, before = [], [], ""
    for n in range(count):
        key = f"t{n:03}"
        needs = (before,) if before else ()
        steps.append(step(key, f"Do part {n} of the long job", "work", *needs))
        made = attempt(1, "work", 0.05 * n, 0.04)
        records.append(record(key, "done", made))
        before = key if n % 5 else before or key
    return {
        "state": {
            "task": "A long job",
            "status": "done",
            "plan": {"id": "long", "steps": steps},
            "steps": {each["step_id"]: each for each in records},
            "started_at": T0,
        }
    }
