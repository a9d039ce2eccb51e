import json
from enum import StrEnum
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel

from mendgraph.tools.models.errors import (
    ModelBlank,
    ModelOutputInvalid,
    ModelTruncated,
)
from mendgraph.tools.models.parser import parse, split_reasoning

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "cases.jsonl"


class Risk(StrEnum):
    LOW = "low"
    VERY_HIGH = "very_high"


class Step(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str
    depends_on: list[str] = Field(default_factory=list)


class Outline(BaseModel):
    title: str
    steps: list[Step]
    count: int = 0
    share: float | None = None
    ready: bool = False
    risk: Risk = Risk.LOW
    mode: Literal["read", "write"] = "read"
    tags: list[str] = Field(default_factory=list)
    extra: dict[str, int] = Field(default_factory=dict)


class City(BaseModel):
    location: str


class Script(BaseModel):
    code: str
    re: str


class Nothing(BaseModel):
    note: str | None = None


PLAIN = '{"title":"T","steps":[]}'
OUTLINE = Outline(title="T", steps=[])


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"```json\n{PLAIN}\n```",
        f"```\n{PLAIN}\n```\nI hope this helps {{name}}!",
        f"Here is the plan you asked for [1]:\n\n{PLAIN}\n\nLet me know.",
        f"Use {{braces}} like [this]. {PLAIN}",
        f'<think>maybe {{"draft": true}}</think>{PLAIN}',
        f"<think>\n\n</think>\n\n{PLAIN}",
        f"<think>one</think>\n<think>two</think>{PLAIN}",
        f'I think {{"title":"D","steps":[]}} is a draft.</think>\n{PLAIN}',
        f"<think>it should be {PLAIN}",
        f"<thinking>hm</thinking>```json\n{PLAIN}```",
        f"{PLAIN}\n{PLAIN}",
        "{'title': 'T', 'steps': []}",
        '{"title":"T","steps":[],}',
        '\ufeff{"title":"T","steps":[]}',
    ],
)
def test_wrapping_is_taken_off(text):
    """Fences, prose, leaked reasoning and repetition do not hide the one object."""
    assert parse(text, Outline) == OUTLINE


@pytest.mark.parametrize(
    ("field", "written", "expected"),
    [
        ("count", '"3"', 3),
        ("count", '"1,200"', 1200),
        ("count", "3.0", 3),
        ("share", '"0.25"', 0.25),
        ("share", '""', None),
        ("share", "{}", None),
        ("ready", '"true"', True),
        ("ready", '"False"', False),
        ("title", "7", "7"),
        ("risk", '"Very-High"', Risk.VERY_HIGH),
        ("risk", "null", Risk.LOW),
        ("mode", '"WRITE"', "write"),
        ("tags", '"[\\"a\\", \\"b\\"]"', ["a", "b"]),
        ("tags", "null", []),
        ("tags", '""', []),
        ("tags", "{}", []),
        ("tags", "[1, 2]", ["1", "2"]),
        ("extra", '"{\\"a\\": 1}"', {"a": 1}),
        ("extra", "null", {}),
        ("extra", "[]", {}),
        ("steps", '["{\\"id\\": \\"s1\\", \\"depends_on\\": null}"]', [Step(id="s1")]),
    ],
)
def test_lossless_conversion(field, written, expected):
    """A value of the wrong JSON type is converted when nothing is lost by it."""
    fields = {"title": '"T"', "steps": "[]", field: written}
    text = "{" + ",".join(f'"{key}":{value}' for key, value in fields.items()) + "}"
    assert getattr(parse(text, Outline), field) == expected


def test_text_that_looks_like_json_stays_text():
    """A text field is never decoded, whatever it holds."""
    assert parse('{"title":"[\\"a\\"]","steps":[]}', Outline).title == '["a"]'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"title":"T","steps":null}', "steps"),
        ('{"title":"T","steps":[],"count":3.5}', "count"),
        ('{"title":"T","steps":[],"count":"three"}', "count"),
        ('{"title":"T","steps":[],"risk":"huge"}', "risk"),
        ('{"title":"T","steps":[{"id":"s1","colour":1}]}', "steps.0.colour"),
        ('{"title":"T","title":"U","steps":[]}', "two different values"),
        ('{"title":"T","steps":[],"share":NaN}', "NaN"),
        ('{"title":"A","steps":[]} or {"title":"B","steps":[]}', "exactly one"),
        ("I cannot do that.", "no JSON object"),
        ("[1,2]", "valid dictionary"),
        ("null", "no JSON object"),
    ],
)
def test_what_would_need_guessing_is_refused(text, problem):
    """Anything that loses or invents data is refused and the problem is named."""
    with pytest.raises(ModelOutputInvalid) as caught:
        parse(text, Outline)
    assert problem in " ".join(caught.value.problems)


def test_wrong_keys_name_the_expected_ones():
    """Wrong keys (B27) are not mapped; the missing ones and all expected are named."""
    text = '{"action":"click","element":"a","argument":"","twoStep":false}'
    with pytest.raises(ModelOutputInvalid) as caught:
        parse(text, City)
    assert caught.value.problems == (
        "location: this field is required and missing",
        "expected keys: location",
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"title":"T","steps":[{"id":"s1"}',
        '{"title":"T","steps":[]',
        '{"title":"T',
        f'{PLAIN}\n{{"title":',
        '```json\n[{"title":"T","steps":[]},',
        '<think>so {"title":"T","steps":[',
        "{",
    ],
)
def test_cut_off_json_is_never_closed(text):
    """Text that ends inside a value is truncated, though a prefix might fit."""
    with pytest.raises(ModelTruncated):
        parse(text, Outline)


def test_length_refuses_even_whole_json():
    """With finish_reason `length` the text is not read at all (B13)."""
    with pytest.raises(ModelTruncated):
        parse(PLAIN, Outline, finish_reason="length")


WHOLE = json.dumps({"title": PLAIN, "steps": [{"id": "s1"}]})


@pytest.mark.parametrize("length", range(1, len(WHOLE)))
def test_no_prefix_of_json_is_accepted(length):
    """No proper prefix of an answer passes for the answer."""
    with pytest.raises(ModelTruncated):
        parse(WHOLE[:length], Outline)


@given(st.text(), st.text())
def test_strings_survive(title, tag):
    """Whatever is in a string comes out as it went in."""
    text = json.dumps({"title": title, "steps": [], "tags": [tag]})
    outline = parse(f"Sure:\n```json\n{text}\n```", Outline)
    assert (title, [tag]) == (outline.title, outline.tags)


@given(st.text(alphabet="{}[]\"'\\<>/think,:0 \n", max_size=60))
def test_noise_never_breaks_the_parser(text):
    """Any noise is a record or one of our errors, never another exception."""
    try:
        assert isinstance(parse(text, Nothing), Nothing)
    except (ModelOutputInvalid, ModelTruncated, ModelBlank) as error:
        assert error.remedy  # noqa: PT017  both outcomes are checked


def test_deep_nesting_is_refused():
    """A bomb of brackets is refused, not a crash."""
    with pytest.raises(ModelOutputInvalid):
        parse('{"a":' * 5_000 + "1" + "}" * 5_000, Outline)


def test_think_inside_a_string_stays():
    """The text `<think>` inside a JSON string is no reasoning (B15)."""
    text = '{"title":"a <think>b</think> c","steps":[]}'
    assert parse(text, Outline).title == "a <think>b</think> c"


@pytest.mark.parametrize("text", ["", "  \n\t", "<think>hm</think>", "<think>hm"])
def test_blank(text):
    """No text beside reasoning is blank, and no success with an empty object (B11)."""
    with pytest.raises(ModelBlank):
        parse(text, Nothing)


def test_reasoning_is_split_off():
    """Leading reasoning is returned apart from the answer."""
    assert split_reasoning("<think>why</think>{}") == ("why", "{}")


def test_raw_newline_and_bad_escape():
    """A raw line break and a bare backslash are read as they were meant (B29)."""
    text = '{"code":"line1\nline2","re":"\\d+ \\u00e9 \\\\n"}'
    assert parse(text, Script) == Script(code="line1\nline2", re="\\d+ \u00e9 \\n")


def test_lists_as_the_whole_answer():
    """A schema that is a list takes a list."""
    answer = parse('```json\n[{"location":"Berlin"}]\n```', RootModel[list[City]])
    assert answer.root == [City(location="Berlin")]


EXPECTED: dict[str, object] = {
    "B15": OUTLINE,
    "B21": City(location="Berlin"),
    "B29": Script(code="line1\nline2", re="\\d+"),
}
SCHEMAS = {"B15": Outline, "B21": City, "B29": Script}


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not laid here")
@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_cases_as_they_were_reported(case):
    """Inputs of the real cases, taken from the file itself, give the right value."""
    lines = map(json.loads, CASES.read_text().splitlines())
    given = next(line["input"] for line in lines if line["id"] == case)
    text = given.removeprefix("arguments: ").partition("   (")[0]
    assert parse(text, SCHEMAS[case]) == EXPECTED[case]
