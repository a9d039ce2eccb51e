"""Plan and step records load both documents' JSON as written (F01)."""

import pytest
from pydantic import ValidationError

from mendgraph.state.algebra import (
    PlanError,
    ancestors,
    cone,
    downstream,
    structural_problems,
    topological,
)
from mendgraph.state.limits import Limits
from mendgraph.state.plan import Plan, Risk
from mendgraph.tools.plan_check import check_plan, plan_problems
from mendgraph.tools.registry import make_registry

FIRST_DOCUMENT = {
    "goal": "从PostgreSQL读取用户行为日志,按小时聚合PV/UV,写入CSV",
    "steps": [
        {
            "step_id": "s1",
            "description": "验证数据库连接",
            "tool": "postgres_ping",
            "precondition": "数据库可访问",
            "expected_output": "连接成功,返回数据库版本",
            "risk_level": "low",
        },
        {
            "step_id": "s4",
            "description": "分批执行查询并聚合结果",
            "tool": "postgres_batch_query",
            "precondition": "s3成功,SQL有效",
            "expected_output": "按小时聚合的PV/UV数据列表",
            "risk_level": "high",
            "fallback_strategy": "使用游标逐行读取并在内存中聚合",
        },
    ],
}
SECOND_DOCUMENT = {
    "plan_version": 1,
    "steps": [
        {
            "id": "order",
            "tool": "query_order",
            "depends_on": [],
            "expected_output": "x",
        },
        {"id": "events", "tool": "query_order_events", "depends_on": []},
        {"id": "payment", "tool": "query_payment_status", "depends_on": ["order"]},
    ],
}


def lookup(key: str, limit: int = 10) -> dict:
    """Look something up."""
    return {"key": key, "limit": limit}


REGISTRY = make_registry([lookup], assume="read")


def plan(*steps):
    return Plan.model_validate({"steps": list(steps)})


def step(step_id, *needs, **fields):
    kept = {"tool": "lookup", "inputs": {"key": "k"}, **fields}
    return {"id": step_id, "dependencies": list(needs), **kept}


def test_first_document_loads():
    """The first document's plan loads with its aliases and its fallback in words."""
    read = Plan.model_validate(FIRST_DOCUMENT)
    assert read.ids == ("s1", "s4")
    assert read.step("s4").risk is Risk.HIGH
    assert read.step("s4").fallback.description == "使用游标逐行读取并在内存中聚合"


def test_second_document_loads():
    """The second document's plan loads with `plan_version` and `depends_on`."""
    read = Plan.model_validate(SECOND_DOCUMENT)
    assert read.version == 1
    assert read.step("payment").dependencies == ("order",)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"id": 1}, ("id", "1")),
        ({"id": "  s-01 "}, ("id", "s-01")),
        ({"id": "查询"}, ("id", "查询")),
        ({"id": "a", "dependencies": None}, ("dependencies", ())),
        ({"id": "a", "depends_on": "b"}, ("dependencies", ("b",))),
        ({"id": "a", "depends_on": [1]}, ("dependencies", ("1",))),
        ({"id": "a", "expected_ms": "250"}, ("expected_ms", 250.0)),
        ({"id": "a", "inputs": None}, ("inputs", {})),
        ({"id": "a", "colour": "red"}, ("extras", {"colour": "red"})),
    ],
)
def test_lossless_readings(given, expected):
    """What converts without loss is converted, unknown fields are kept aside."""
    name, value = expected
    read = plan({"tool": "lookup", **given}).steps[0]
    assert value == getattr(read, name)


@pytest.mark.parametrize(
    "given",
    [
        {"id": ""},
        {"id": "a", "dependencies": {"b": 1}},
        {"id": "a", "risk": "extreme"},
        {"id": "a", "expected_ms": "soon"},
        {"tool": "lookup"},
    ],
)
def test_what_does_not_fit_is_refused(given):
    """A value that would have to be guessed is refused."""
    with pytest.raises(ValidationError):
        plan({"tool": "lookup", **given})


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([step("a"), step("a")], "step 'a' is there twice"),
        ([step("a", "b")], "step 'a' depends on 'b', which is no step"),
        ([step("a", "a")], "step 'a' depends on itself"),
        ([step("a", "b"), step("b", "a")], "form a cycle"),
        ([step("a", tool="nothing")], "step 'a': no tool is called 'nothing'"),
        ([step("a", tool=None)], "step 'a' names no tool"),
        (
            [step("a"), step("b", inputs={"key": "{{ a.key }}"})],
            "step 'b', input: 'a.key' reads step 'a', which does not come before 'b'",
        ),
        ([step("a", inputs={})], "step 'a': tool 'lookup': 'key' is a required"),
        (
            [step("a", inputs={"key": "k", "limit": "many"})],
            "step 'a': argument 'limit' of tool 'lookup': 'many' is not of type",
        ),
        ([step("a", inputs={"key": "k", "colour": 1})], "'colour' was unexpected"),
        ([step("a", validation_rule="output.")], "step 'a', validation_rule: the rule"),
        ([step("a", validation_rule="thing > 0")], "uses 'thing', which is no step"),
        ([step("a", precondition_rule="1 +")], "step 'a', precondition_rule"),
        (
            [step("a", fallback={"tool": "nothing"})],
            "its fallback names no tool: 'nothing'",
        ),
    ],
)
def test_refused_before_anything_runs(steps, said):
    """Every fault of F02 is found before anything runs and names its step."""
    with pytest.raises(PlanError) as raised:
        check_plan(plan(*steps), REGISTRY, Limits())
    assert said in str(raised.value)


def test_more_steps_than_the_limit():
    """A plan with more steps than allowed is refused with both numbers."""
    steps = [step(f"s{i}") for i in range(4)]
    assert plan_problems(plan(*steps), REGISTRY, Limits(steps=3)) == [
        "4 steps, but the limit is 3"
    ]


def test_high_risk_needs_a_fallback_or_a_reason():
    """With strict risk a high-risk step without fallback is refused (F03)."""
    risky = step("a", risk="high")
    explained = step("a", risk="high", no_fallback_reason="there is only one bank")
    assert plan_problems(plan(risky), REGISTRY, Limits(), strict_risk=True)
    assert not plan_problems(plan(explained), REGISTRY, Limits(), strict_risk=True)


def test_bindings_reach_ids_that_are_no_identifiers():
    """`steps["s-01"].key` binds to an id that is no identifier."""
    bound = step("b", "s-01", inputs={"key": '{{ steps["s-01"].key }}'})
    assert plan_problems(plan(step("s-01"), bound), REGISTRY, Limits()) == []


def test_steps_may_not_be_read_dynamically():
    """An expression that computes which step it reads cannot be checked."""
    bound = step("b", "a", inputs={"key": "{{ steps[args.x].key }}"})
    problems = plan_problems(plan(step("a"), bound), REGISTRY, Limits())
    assert any("must name steps literally" in problem for problem in problems)


def test_order_ancestors_and_cone():
    """Order is stable, ancestors and cone follow the edges."""
    read = plan(step("d", "b", "c"), step("b", "a"), step("c", "a"), step("a"))
    assert [s.id for s in topological(read)] == ["a", "b", "c", "d"]
    assert ancestors(read, "d") == {"a", "b", "c"}
    assert downstream(read, "a") == {"b", "c", "d"}
    assert cone(read, "b") == {"b", "d"}
    assert structural_problems(read, 10) == []
