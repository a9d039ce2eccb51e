"""One worker of `exactly_once.py`: an agent that pays twice, until its task is done.

It may be killed at any moment; the next worker of the run goes on from the folder.
"""

import asyncio
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from langchain_core.tools import StructuredTool
from langgraph.types import Command, Interrupt

from mendgraph.graph.agent import MendGraph
from mendgraph.graph.build import create_mend_agent
from mendgraph.nodes.doubt import HAPPENED, NOT_HAPPENED
from mendgraph.state.correction import Action, Row, Scope, Trigger, override
from mendgraph.state.failure import Category
from mendgraph.state.limits import Limits
from mendgraph.state.policy import ConfirmCall, Effect, ToolPolicy
from mendgraph.tools.memory.in_memory import InMemoryMemory

ANSWER_S = 0.25
"""A client's patience; the service hangs for longer."""
TIMEOUT_S = 0.4
"""Limit of a call; until then a lost request may still be on its way."""
CUT_S = 0.01
"""What is slept instead of a backoff of a second and more."""
KINDS = ("keyed", "confirmed", "asked")
"""Ways to resolve a doubt: the same key, the confirm call, a person."""
CLIENT = httpx.Client(trust_env=False, verify=False)  # noqa: S501  plain HTTP to loopback
CONFIG: Any = {"configurable": {"thread_id": "run"}}


@dataclass(frozen=True)
class Job:
    """What one run has to do."""

    name: str
    folder: Path
    base_url: str
    database: Path
    kinds: tuple[str, str]


async def short_sleep(seconds: float) -> None:
    """Wait; a backoff made for the real world is cut."""
    await asyncio.sleep(seconds if seconds <= TIMEOUT_S else CUT_S)


class Service:
    """The payment service the tools of this process talk to."""

    url = ""


def _post(body: dict[str, Any]) -> dict[str, Any]:
    answer = CLIENT.post(f"{Service.url}/pay", json=body, timeout=ANSWER_S)
    return dict(answer.raise_for_status().json())


def quote(order: str) -> dict[str, Any]:
    """Return what an order costs."""
    return {"order": order, "amount": 12.5}


def pay_keyed(order: str, amount: float, idempotency_key: str) -> dict[str, Any]:
    """Pay under a key."""
    body = {"order": order, "amount": amount, "idempotency_key": idempotency_key}
    return _post(body)


def pay_confirmed(order: str, amount: float) -> dict[str, Any]:
    """Pay without a key; the service can be asked."""
    return _post({"order": order, "amount": amount})


def pay_asked(order: str, amount: float) -> dict[str, Any]:
    """Pay without a key; only a person can tell."""
    return _post({"order": order, "amount": amount})


def pay_status(order: str) -> dict[str, Any]:
    """Return how far a payment is."""
    answer = CLIENT.get(f"{Service.url}/pay/{order}", timeout=ANSWER_S)
    return dict(answer.raise_for_status().json())


TOOLS = tuple(
    map(
        StructuredTool.from_function,
        (quote, pay_keyed, pay_confirmed, pay_asked, pay_status),
    )
)
"""Made once, before the workers are forked."""


def policies() -> dict[str, ToolPolicy]:
    """Return what is known of the tools; a processing payment is never done."""
    look = ConfirmCall(tool="pay_status", arguments={"order": "{{ args.order }}"})
    pay = ToolPolicy(
        effect=Effect.IRREVERSIBLE,
        pending_when="output.status == 'processing'",
        final_when="output.status == 'succeeded'",
        timeout_s=TIMEOUT_S,
        poll_every_s=0.01,
        poll_deadline_s=0.3,
    )
    read = ToolPolicy(effect=Effect.READ, timeout_s=TIMEOUT_S)
    return {
        "quote": read,
        "pay_status": read,
        "pay_keyed": pay.but(idempotency_arg="idempotency_key", confirm_with=look),
        "pay_confirmed": pay.but(confirm_with=look),
        "pay_asked": pay,
    }


def agent_of(job: Job) -> MendGraph:
    """Return the agent; an outage the tiers do not mend is put to a person."""
    ask = Row(
        trigger=Trigger.HARD,
        category=Category.ENVIRONMENT,
        action=Action.CLARIFY,
        scope=Scope.UNCHANGED,
    )
    caps = {"executions": 2_000, "corrections": 500, "clarifications": 500}
    return create_mend_agent(
        tools=TOOLS,
        policies=policies(),
        persist=job.folder,
        memory=InMemoryMemory(clock=time.time),
        limits=Limits(retries=500, corrections_per_step=100, **caps),
        matrix=override(ask),
        seeded=False,
        learn=False,
        sleep=short_sleep,
    )


def task_of(job: Job) -> dict[str, Any]:
    """Return the task: a quote, then two payments side by side."""
    pays = [
        {
            "id": f"pay{place}",
            "tool": f"pay_{kind}",
            "inputs": {
                "order": f"{job.name}-{place}",
                "amount": "{{ quote.amount }}",
            },
            "dependencies": ["quote"],
        }
        for place, kind in enumerate(job.kinds)
    ]
    quote = {"id": "quote", "tool": "quote", "inputs": {"order": job.name}}
    return {"task": f"pay {job.name}", "plan": {"steps": [quote, *pays]}}


def carry_on(job: Job) -> str:
    """Work on the run until its task ends; return how it ended."""
    Service.url = job.base_url
    agent = agent_of(job)
    try:
        while True:
            known = agent.get_state(CONFIG)
            if known.values.get("status") not in {None, "running"}:
                return str(known.values["status"])
            agent.invoke(_next(job, known), CONFIG)
    finally:
        agent.close()


def _next(job: Job, known: Any) -> Any:
    """Return what the run needs: its task, an answer, or just to go on."""
    if not known.values.get("task_id"):
        return task_of(job)
    if known.interrupts:
        answers = {each.id: _answer(job, each) for each in known.interrupts}
        return Command(resume=answers)
    return None


def _answer(job: Job, question: Interrupt) -> dict[str, Any]:
    """Answer as a person would who can look into the bank's own books."""
    meta, request = question.value["metadata"], question.value["action_requests"][0]
    if meta["kind"] == "waiting":
        return {"decisions": [{"type": "approve"}]}
    said = "retry"
    if HAPPENED in meta["options"]:
        time.sleep(TIMEOUT_S)  # what is on its way has arrived by then
        said = HAPPENED if _paid(job, request["args"]["order"]) else NOT_HAPPENED
    return {"decisions": [{"type": "respond", "message": said}]}


def _paid(job: Job, order: str) -> bool:
    select = "SELECT count(*) FROM payments WHERE order_id = ?"
    with closing(sqlite3.connect(job.database, timeout=10)) as database:
        return bool(database.execute(select, (order,)).fetchone()[0])
