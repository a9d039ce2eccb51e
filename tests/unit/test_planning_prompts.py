"""Prompts hold what a role needs, masked, fenced and within their tokens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from mendgraph.nodes.brief import Brief, MendBrief
from mendgraph.nodes.plan_prompts import _id_ranges
from mendgraph.nodes.prompt_parts import signature, tried_text
from mendgraph.nodes.prompts import (
    patch_prompt,
    plan_prompt,
    prompt_tokens,
    reflect_prompt,
    replan_prompt,
    score_prompt,
    signal_prompt,
)
from mendgraph.nodes.schemas import (
    Critique,
    Patch,
    PlanDraft,
    ReflectionDraft,
    ReplanDraft,
    Scores,
    SignalVerdict,
)
from mendgraph.state.algebra import cone
from mendgraph.state.failure import Classification, Failure, FailureFacts
from mendgraph.state.lesson import Found, Lesson
from mendgraph.state.outcome import Attempt, ExecutionSummary, StepRecord
from mendgraph.state.plan import Plan
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.registry import make_registry

SECRET = "sk-abcdefghijklmnopqrstuvwx"
WORDS = "the figures of the month were read and summed by hour and by region "


def query(sql: str, limit: int = 10, mode: str | None = None) -> dict:
    """Run a query and give its rows."""
    return {"sql": sql, "limit": limit, "mode": mode}


REGISTRY = make_registry(
    [query], {"query": ToolPolicy(effect="read", required_fields=("rows",))}
)
FAILURE = Failure(
    facts=FailureFacts(
        message=f'syntax error at or near "timestamp" (password={SECRET})',
        sqlstate="42601",
        tool="query",
    ),
    classification=Classification(
        category="execution_error",
        subclass="param_error",
        transient=False,
        reaction="adjust_params",
        confidence=0.9,
        reason="SQLSTATE class 42",
        rule="sqlstate",
    ),
)


def chain(count: int, words: int = 1) -> Plan:
    return Plan.model_validate(
        {
            "goal": "report",
            "steps": [
                {
                    "id": f"s{i + 1}",
                    "tool": "query",
                    "description": WORDS * words,
                    "inputs": {"sql": f"count {i} of {{{{ s{i}.rows }}}}"}
                    if i
                    else {"sql": "count"},
                    "dependencies": [f"s{i}"] if i else [],
                }
                for i in range(count)
            ],
        }
    )


def records(plan: Plan, failed: set[str], words: int = 1) -> dict[str, StepRecord]:
    return {
        step.id: StepRecord(
            step_id=step.id,
            status="failed" if step.id in failed else "done",
            tool=step.tool,
            failure=FAILURE if step.id in failed else None,
            summary=ExecutionSummary(status="success", output_digest=WORDS * words),
        )
        for step in plan.steps
    }


def lessons(count: int, words: int) -> tuple[Found, ...]:
    found = Lesson(
        id="l",
        text=WORDS * words,
        signature="a:b:query",
        category="execution_error",
        subclass="param_error",
        created_at=0.0,
    )
    return tuple(Found(lesson=found.but(id=f"l{i}"), score=1.0) for i in range(count))


@settings(max_examples=settings().max_examples // 6)
@given(
    st.sets(st.integers(0, 199), max_size=30),
    st.integers(1, 300),
    st.integers(0, 20),
    st.integers(0, 60),
)
def test_the_planner_s_prompt_stays_within_8000_tokens(failed, words, many, rules):
    """Whatever is known of 200 steps, the whole prompt fits; constraints stay."""
    plan = chain(200)
    names = {f"s{i + 1}" for i in failed}
    brief = Brief(
        task=WORDS * words,
        tools=tuple(REGISTRY),
        constraints=tuple(f"rule {i} holds" for i in range(rules)),
        lessons=lessons(many, words % 40 + 1),
        knowledge=WORDS * words,
        base=plan,
        records=records(plan, names, words % 9 + 1),
        reason=WORDS * words,
    )
    prompt = plan_prompt(brief, problems=[WORDS] * 3, previous=WORDS * words)
    assert prompt_tokens(prompt, PlanDraft) <= 8_000
    for name in {*names, "s200"}:
        assert f"\n{name} [" in prompt["user"]
    assert all(f"c{i + 1}: rule {i} holds" in prompt["user"] for i in range(rules))


def test_the_failure_stands_only_in_a_correcting_prompt():
    """A first plan has neither steps nor a failure; a replan has both."""
    first = plan_prompt(Brief(task="report", tools=tuple(REGISTRY)))
    assert "why there must be another plan" not in first["user"]
    plan = chain(3)
    again = plan_prompt(
        Brief(task="report", base=plan, records=records(plan, {"s1"}), reason="down")
    )
    assert 'label="why there must be another plan"' in again["user"]
    assert 'label="steps of the last plan"' in again["user"]
    assert "an id never used before" in again["system"]


def test_a_patch_prompt_is_small_and_masked():
    """Error, arguments and attempts are there in 800 tokens, without secrets."""
    attempts = [
        Attempt(
            number=n,
            tool="query",
            started_at=0,
            ended_at=1,
            status="failed",
            error=f"error {n}",
            changed=("sql",),
            why="quoted the column",
        )
        for n in (1, 2)
    ]
    step = chain(1).step("s1")
    prompt = patch_prompt(
        step,
        REGISTRY.get("query"),
        {"sql": "select timestamp", "password": SECRET},
        FAILURE,
        attempts=attempts,
        snapshots=["quote reserved words"],
    )
    text = "\n".join(prompt.values())
    assert prompt_tokens(prompt, Patch) <= 800
    assert SECRET not in text
    for words in ("ROLE: patch", "42601", "error 2", "quoted the column", "reserved"):
        assert words in text


def test_a_reflection_sees_the_failed_step_and_its_direct_upstream():
    """Facts, class, attempts, upstream digests, lessons with ids and open decisions."""
    prompt = reflect_prompt(
        "report",
        chain(2).step("s2"),
        FAILURE,
        upstream={"s1": "rows: 3"},
        lessons=lessons(1, 1),
        light=True,
    )
    for words in ("s1: rows: 3", "[l0]", "param_error", "local_replan"):
        assert words in prompt["user"]
    assert "no counterfactual" in prompt["system"]
    assert SECRET not in prompt["user"]


def test_a_local_replan_shows_the_cone_and_no_more():
    """Steps outside the cone are stage summaries; the failed one is there in full."""
    plan = chain(20)
    brief = MendBrief(
        task="report",
        plan=plan,
        failed=frozenset({"s12"}),
        cone=cone(plan, "s12"),
        tools=tuple(REGISTRY),
        records=records(plan, {"s12"}),
    )
    prompt = replan_prompt(brief)
    assert '"id":"s12"' in prompt["user"]
    assert "s20: query after [s19]" in prompt["user"]
    assert "stage s1.." in prompt["user"]
    assert '"id":"s11"' not in prompt["user"]
    assert "Ids used before: s1..s20" in prompt["user"]


def test_a_replan_is_told_in_a_line_what_was_tried():
    """Every call with what it changed; a single call is told by its failure."""
    times = {"started_at": 1.0, "ended_at": 2.0, "status": "failed"}
    calls = [
        Attempt(number=1, tool="query", **times),
        Attempt(number=2, tool="query", changed=("limit",), **times),
        Attempt(number=3, tool="other", **times),
    ]
    assert tried_text(calls) == "tried: query; query, changed limit; other"
    assert tried_text(calls[:1]) == ""


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        ((), ""),
        (("s1", "s2"), "s1, s2"),
        (("s1", "s2", "s3", "x", "s9"), "s1..s3, x, s9"),
        (("1", "2", "3", "4"), "1..4"),
        (("s01", "s02", "s03"), "s01, s02, s03"),
    ],
)
def test_used_ids_are_told_in_ranges(ids, shown):
    """Runs of numbered ids take few tokens; all others stand as they are."""
    assert _id_ranges(ids) == shown


def test_other_roles_name_themselves():
    """Every system prompt has its ROLE line."""
    assert "ROLE: score" in score_prompt("t", [chain(2)])["system"]
    assert "ROLE: signal" in signal_prompt("t", "stop", chain(2))["system"]
    assert '<untrusted_data label="message">' in signal_prompt("t", "x", None)["user"]


def test_a_tool_is_shown_by_its_signature():
    """Required and optional arguments, without titles and null."""
    expected = "query(sql: string, limit?: integer, mode?: string)"
    assert signature(REGISTRY.get("query")) == expected


@pytest.mark.parametrize(
    "schema",
    [Critique, Patch, PlanDraft, ReflectionDraft, ReplanDraft, Scores, SignalVerdict],
)
def test_every_example_is_a_valid_answer(schema):
    """What prompts show as an example is accepted, and shown in the schema."""
    example = schema.example()
    assert example == schema.model_validate(example.model_dump())
    assert schema.model_json_schema()["example"]


def test_answers_are_lenient_in_form_and_closed_in_meaning():
    """Shapes are brought to one; what means nothing becomes unknown, or is refused."""
    draft = PlanDraft.model_validate(
        {
            "steps": None,
            "constraint_answers": [{"constraint": "c1", "answer": "yes"}, "no"],
            "needs_clarification": "Which one?",
            "more": 1,
        }
    )
    assert draft.constraint_answers == {"c1": "yes", "c2": "no"}
    assert draft.needs_clarification.question == "Which one?"
    looked = ReflectionDraft.model_validate(
        {"category": "Plan", "subclass": "whatever", "decision": "Local_Replan"}
    )
    assert (looked.category, looked.subclass) == ("plan_error", None)
    assert Patch.model_validate({"confidence": 85}).confidence is None
    with pytest.raises(ValidationError):
        ReflectionDraft.model_validate({"decision": "pray"})
    with pytest.raises(ValidationError):
        Critique.model_validate({"score": 85})
