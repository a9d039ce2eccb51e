"""Constraints in the user's words become checks, or are left to the planner."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.nodes.constraint_checks import Kind, width
from mendgraph.nodes.constraints import judge, recognise, violations
from mendgraph.state.algebra import ancestors
from mendgraph.state.plan import Plan
from mendgraph.state.policy import ToolPolicy
from mendgraph.tools.registry import make_registry

TOOLS = ("query_order", "refund", "drop_table")


def query_order(order: str) -> str:
    """Look an order up."""
    return order


def refund(order: str) -> str:
    """Pay money back."""
    return order


def drop_table(name: str) -> str:
    """Delete a table."""
    return name


REGISTRY = make_registry(
    [query_order, refund, drop_table],
    {
        "query_order": ToolPolicy(effect="read", expected_ms=2_000),
        "refund": ToolPolicy(effect="irreversible"),
        "drop_table": ToolPolicy(effect="write"),
    },
)


def plan_of(*steps: tuple[str, str, list[str]]) -> Plan:
    return Plan.model_validate(
        {"steps": [{"id": i, "tool": t, "dependencies": d} for i, t, d in steps]}
    )


@pytest.mark.parametrize(
    ("text", "kind", "number", "tools"),
    [
        ("at most 5 steps", Kind.MAX_STEPS, 5, ()),
        ("Use no more than three steps.", Kind.MAX_STEPS, 3, ()),
        ("最多5步", Kind.MAX_STEPS, 5, ()),
        ("计划不超过五个步骤", Kind.MAX_STEPS, 5, ()),
        ("步骤数不超过 8 个", Kind.MAX_STEPS, 8, ()),
        ("Do not use drop_table", Kind.FORBIDDEN, 1, ("drop_table",)),
        ("Don't call `drop_table` or `refund`.", Kind.FORBIDDEN, 1, TOOLS[:0:-1]),
        ("without refund", Kind.FORBIDDEN, 1, ("refund",)),
        ("drop_table is forbidden", Kind.FORBIDDEN, 1, ("drop_table",)),
        ("禁止使用 drop_table", Kind.FORBIDDEN, 1, ("drop_table",)),
        ("不要调用drop_table工具", Kind.FORBIDDEN, 1, ("drop_table",)),
        ("Only use query_order and refund", Kind.ONLY, 1, TOOLS[:2]),
        ("use only the tool query_order", Kind.ONLY, 1, ("query_order",)),
        ("只能使用 query_order、refund", Kind.ONLY, 1, TOOLS[:2]),
        ("at most 2 steps in parallel", Kind.MAX_PARALLEL, 2, ()),
        ("max 3 concurrent calls", Kind.MAX_PARALLEL, 3, ()),
        ("run sequentially", Kind.MAX_PARALLEL, 1, ()),
        ("并发不超过 4", Kind.MAX_PARALLEL, 4, ()),
        ("最多两个步骤并行", Kind.MAX_PARALLEL, 2, ()),
        ("串行执行", Kind.MAX_PARALLEL, 1, ()),
        ("Finish within 30 seconds", Kind.DEADLINE, 30, ()),
        ("within 2 minutes", Kind.DEADLINE, 120, ()),
        ("必须在 30 秒内完成", Kind.DEADLINE, 30, ()),
        ("两小时以内", Kind.DEADLINE, 7_200, ()),
        ("query_order must come before refund", Kind.BEFORE, 1, TOOLS[:2]),
        ("call refund only after query_order", Kind.BEFORE, 1, TOOLS[:2]),
        ("先调用 query_order 再调用 refund", Kind.BEFORE, 1, TOOLS[:2]),
        ("调用refund之前必须先调用query_order", Kind.BEFORE, 1, TOOLS[:2]),
        ("read-only", Kind.READ_ONLY, 1, ()),
        ("No side effects", Kind.READ_ONLY, 1, ()),
        ("只读", Kind.READ_ONLY, 1, ()),
        ("不要修改任何数据", Kind.READ_ONLY, 1, ()),
        ("no irreversible actions", Kind.REVERSIBLE, 1, ()),
        ("禁止任何不可逆操作", Kind.REVERSIBLE, 1, ()),
    ],
)
def test_known_sentences_become_rules(text, kind, number, tools):
    """English and Chinese sentences of the grammar become the rule they state."""
    (rule,) = recognise(text, TOOLS)
    assert (kind, number, tools) == (rule.kind, rule.number, rule.tools)


@pytest.mark.parametrize(
    "text",
    [
        "Don't modify existing tests",
        "Do not use drop_table unless the table is empty",
        "除非表为空, 否则不要使用 drop_table",
        "at most 5 steps if it is quick",
        "Do not use other_tool",
        "keep it backwards compatible",
        "refund no more than 5 euros",
        "not read-only",
        "write at most 5 steps of documentation",
        "read-only. Also be polite",
        "不要修改已有的测试",
        "",
    ],
)
def test_other_sentences_are_left_to_the_planner(text):
    """Conditions, exceptions and unknown tools never become a rule."""
    assert recognise(text, TOOLS) == ()


PLAN = plan_of(
    ("a", "query_order", []),
    ("b", "refund", ["a"]),
    ("c", "drop_table", []),
    ("d", "refund", []),
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("at most 3 steps", "has 4 steps, 3 are allowed"),
        ("do not use drop_table", "step 'c' uses 'drop_table'"),
        ("only use query_order and refund", "step 'c' uses 'drop_table'; only"),
        ("at most 2 in parallel", "3 steps could run at once, 2 may"),
        ("within 1 second", "needs about 2 s, 1 s are allowed"),
        ("query_order before refund", "step 'd' uses 'refund' and depends on no step"),
        ("read-only", "step 'b' uses 'refund', whose effect is irreversible"),
        ("no irreversible steps", "step 'd' uses 'refund'"),
    ],
)
def test_a_violation_is_found_and_said(text, words):
    """Each kind of rule finds what the plan does against it, naming the step."""
    found = violations(recognise(text, TOOLS), PLAN, REGISTRY)
    assert any(words in problem for problem in found), found


@pytest.mark.parametrize(
    "text",
    [
        "at most 4 steps",
        "at most 3 in parallel",
        "within 2 seconds",
        "only use query_order, refund and drop_table",
    ],
)
def test_a_plan_within_its_rules_has_no_violations(text):
    """Limits that are just met are met."""
    assert violations(recognise(text, TOOLS), PLAN, REGISTRY) == []


def test_a_fallback_may_not_use_a_forbidden_tool_either():
    """A forbidden tool is found in fallbacks and sub-tasks too."""
    step = {"id": "a", "tool": "query_order", "fallback": {"tool": "drop_table"}}
    inner = {"id": "b", "subtask": {"goal": "x", "tools": ["drop_table"]}}
    plan = Plan.model_validate({"steps": [step, inner]})
    found = violations(recognise("never use drop_table", TOOLS), plan, REGISTRY)
    assert len(found) == 2


def test_each_constraint_is_answered_or_reported_as_silent():
    """Code answers what it can check; of the rest, those without words are named."""
    texts = ["at most 9 steps", "be polite", "be quick"]
    said, broken, silent = judge(texts, {"c2": "all texts are"}, PLAN, REGISTRY)
    assert said["at most 9 steps"] == "checked by code: max_steps"
    assert said["be polite"] == "all texts are"
    assert (broken, silent) == ([], ["c3: be quick"])


@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=7))
def test_width_is_the_largest_set_of_independent_steps(raw):
    """Dilworth's count agrees with trying every set of steps."""
    plan = plan_of(
        *(
            (f"n{i}", "t", [f"n{d}" for d in deps if d < i])
            for i, deps in enumerate(raw)
        )
    )
    above = {i: ancestors(plan, i) for i in plan.ids}
    largest = max(
        len(group)
        for size in range(1, len(plan.ids) + 1)
        for group in combinations(plan.ids, size)
        if all(
            a not in above[b] and b not in above[a] for a, b in combinations(group, 2)
        )
    )
    assert largest == width(plan)
