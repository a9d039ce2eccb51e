"""A bare step id that is no name to CEL: the plan is refused with the remedy."""

import pytest

from mendgraph import create_mend_agent
from mendgraph.state.algebra import PlanError
from mendgraph.tools.cel import indexed

IDS = ("查询", "in", "for", "load-data", "load-data-2", "1", "tägliche Zahlen", "s1")


def take(value: object = None) -> dict:
    """Take a value."""
    return {"rows": [value]}


def refusal(name: str, **fields: object) -> str:
    steps = [
        {"id": name, "tool": "take"},
        {"id": "z", "tool": "take", "depends_on": [name], **fields},
    ]
    agent = create_mend_agent(None, tools=[take], assume="read", seeded=False)
    with pytest.raises(PlanError) as caught:
        agent.invoke({"task": "t", "plan": {"steps": steps}})
    return str(caught.value)


@pytest.mark.parametrize("name", [each for each in IDS if each != "s1"])
def test_a_template_is_refused_with_the_template_that_works(name: str) -> None:
    """It can be copied from the message, and then the plan runs."""
    written = f'{{{{ steps["{name}"].rows }}}}'
    said = refusal(name, inputs={"value": f"{{{{ {name}.rows }}}}"})
    assert "step 'z', input: " in said
    assert f"; write {written}" in said
    steps = [
        {"id": name, "tool": "take"},
        {
            "id": "z",
            "tool": "take",
            "depends_on": [name],
            "inputs": {"value": written},
        },
    ]
    agent = create_mend_agent(None, tools=[take], assume="read", seeded=False)
    result = agent.invoke({"task": "t", "plan": {"steps": steps}})
    assert result["status"] == "done"


def test_a_rule_is_told_without_braces() -> None:
    """Rules are CEL as they stand."""
    said = refusal("查询", validation_rule="output.rows == 查询.rows")
    assert said.endswith('; write output.rows == steps["查询"].rows')


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("size(查询) + 查询.n", 'size(steps["查询"]) + steps["查询"].n'),
        ("s1.rows in 查询.rows", 's1.rows in steps["查询"].rows'),
        ("load-data-2.rows", 'steps["load-data-2"].rows'),
        ("'查询' + 查询.name", "'查询' + steps[\"查询\"].name"),
        ("s1.rows[1] + 1 + 1.n", 's1.rows[1] + 1 + steps["1"].n'),
        ("s1.for", None),
        ("'查询'", None),
        ("load-data-3.rows", None),
        ("s1.rows", None),
    ],
)
def test_only_bare_ids_are_rewritten(source: str, written: str | None) -> None:
    """Texts, fields, operators, numbers and other names stay as they are."""
    assert indexed(source, IDS) == written


def test_an_error_of_another_kind_has_no_remedy() -> None:
    """Where no such step is read, the message is about the syntax alone."""
    assert "; write" not in refusal("a", inputs={"value": "{{ a.rows + }}"})
