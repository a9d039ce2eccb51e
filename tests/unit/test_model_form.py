"""The form prompts show: short, and nothing the parser insists on is left unsaid."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mendgraph.nodes import schemas
from mendgraph.tools.models.form import form, unshown
from mendgraph.tools.models.instruct import example, instruction

ANSWERS = [
    each
    for each in vars(schemas).values()
    if isinstance(each, type)
    and issubclass(each, schemas.Answer)
    and each is not schemas.Answer
]


class Item(BaseModel):
    """One thing."""

    kind: Literal["a", "b"] = "a"
    weight: float = Field(default=0.5, ge=0, le=1)


class Order(BaseModel):
    """Many things."""

    title: str
    number: int = 1
    items: list[Item] = []
    words: dict[str, str] = {}
    anything: Any = None
    free: dict[str, Any] = {}
    code: Annotated[str, Field(pattern="^x")] = "x"
    note: str | None = Field(default=None, description="for people")


def test_a_schema_in_one_line():
    assert form(Order.model_json_schema()) == (
        '{"title": string, "number": integer, '
        '"items": [{"kind": a|b, "weight": number 0..1}], '
        '"words": {string: string}, "anything": any, "free": object, '
        '"code": string matching ^x, "note": string | null (for people)}'
    )


def test_what_the_example_shows_is_not_said_twice():
    shown = {"title": "t", "number": 2, "words": {"a": "b"}, "free": {"x": 1}}
    told = unshown(Order.model_json_schema(), {**shown, "anything": 3})
    assert [name for name in Order.model_fields if f'"{name}":' in told] == [
        "items",
        "code",
        "note",
    ]


def test_a_form_that_refers_to_itself_ends():
    class Tree(BaseModel):
        below: list["Tree"] = []

    assert "object" in form(Tree.model_json_schema())


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda each: each.__name__)
def test_every_field_and_every_choice_of_an_answer_is_told(answer):
    """In the example or beside it; a model cannot guess a word of a closed set."""
    told, shape = instruction(answer), answer.model_json_schema(by_alias=True)
    assert set(shape["properties"]) == {
        name for name in shape["properties"] if f'"{name}":' in told
    }
    for definition in (shape, *shape.get("$defs", {}).values()):
        for choice in definition.get("enum", ()):
            assert choice in told
    answer.model_validate(example(answer))
