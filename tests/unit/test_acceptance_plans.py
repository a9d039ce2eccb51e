"""Plans as people write them: odd ids, templates, typing errors."""

from typing import Any

import pytest

from mendgraph import create_mend_agent
from mendgraph.state.algebra import PlanError


def give(number: int = 1) -> dict:
    """Return the number."""
    return {"number": number}


def echo(value: Any) -> dict:
    """Return what was given."""
    return {"value": value}


def run(*steps):
    agent = create_mend_agent(
        None, tools=[give, echo], assume="read", learn=False, seeded=False
    )
    return agent.invoke({"task": "t", "plan": {"steps": list(steps)}})


IDS = ["1", "s-01", "查询", "é", "in", "true", "null", "size", "steps", "output"]
IDS += ["args", "error", "has", "a b", "a.b", "a|b", "a:b", "$", "__end__", 'x"y']


@pytest.mark.parametrize("name", IDS)
def test_a_step_may_have_any_id(name: str) -> None:
    """Reserved words of the rule language too; `steps['id']` reaches all of them."""
    reference = f"steps['{name}'].number"
    result = run(
        {"id": name, "tool": "give", "inputs": {"number": 5}},
        {
            "id": "z",
            "tool": "give",
            "inputs": {"number": f"{{{{ {reference} }}}}"},
            "depends_on": [name],
            "validation_rule": f"output.number == 5 && {reference} == 5",
        },
    )
    assert result["status"] == "done"


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("{{ a.number }}", 5),
        (" {{ a.number }} ", 5),
        ("{{ a }}", {"number": 5}),
        ("{{ a.number + 1 }}", 6),
        ("{{ a.number > 4 ? 'much' : 'little' }}", "much"),
        ("n={{ a.number }};", "n=5;"),
        ("{{ a.number }}{{ a.number }}", "55"),
        ({"k": ["{{ a.number }}", {"d": "{{ a.number }}"}]}, {"k": [5, {"d": 5}]}),
        ("{a.number}", "{a.number}"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{{", "{{"),
        ("{% x %}", "{% x %}"),
    ],
)
def test_a_template_alone_keeps_its_type(written: Any, given: Any) -> None:
    """Inside text it becomes text; braces that are no template stay as they are."""
    got: list[Any] = []

    def take(value: Any) -> dict:
        """Take a value."""
        got.append(value)
        return {"taken": True}

    agent = create_mend_agent(
        None, tools=[give, take], assume="read", learn=False, seeded=False
    )
    steps = [
        {"id": "a", "tool": "give", "inputs": {"number": 5}},
        {"id": "b", "tool": "take", "inputs": {"value": written}, "depends_on": ["a"]},
    ]
    agent.invoke({"task": "t", "plan": {"steps": steps}})
    assert [given] == got


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("validation_rul", "validation_rule"),
        ("depend_on", "depends_on"),
        ("input", "inputs"),
        ("timeout", "timeout_s"),
    ],
)
def test_a_misspelt_field_is_no_extra(field: str, meant: str) -> None:
    """A check or an order that would silently not be kept is refused by name."""
    with pytest.raises(PlanError) as caught:
        run({"id": "a", "tool": "give", field: {}})
    assert f"step 'a' has a field {field!r}; did you mean {meant!r}?" in str(
        caught.value
    )


def test_a_field_of_somebody_else_is_kept() -> None:
    """Unknown fields that resemble none of ours do no harm."""
    assert run({"id": "a", "tool": "give", "owner": "ops"})["status"] == "done"
