import pytest
from pydantic import BaseModel

from mendgraph.tools.models.errors import ModelOutputInvalid
from mendgraph.tools.models.markup import calls_in, has_markup
from mendgraph.tools.models.parser import parse, parse_arguments


class City(BaseModel):
    location: str


class Nothing(BaseModel):
    note: str | None = None


@pytest.mark.parametrize("bar", ["\uff5c", "\uff5c\uff5c", "\u2016", "|", "||"])
@pytest.mark.parametrize("blank", ["", " "])
def test_markup_in_every_spelling(bar, blank):
    """DeepSeek's own tool-call markup is recognised and its arguments judged (B22)."""
    tag = f"{bar}DSML{bar}{blank}"
    text = (
        f'<{tag}tool_calls><{tag}invoke name="search">'
        f'<{tag}parameter name="location" string="true">Berlin</{tag}parameter>'
        f"</{tag}invoke></{tag}tool_calls>"
    )
    assert calls_in(text) == [("search", {"location": "Berlin"})]
    assert parse(text, City) == City(location="Berlin")


OLDER_MARKUP = (
    "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>"
    "function<\uff5ctool\u2581sep\uff5c>search\n```json\n"
    '{"location":"Berlin"}\n```<\uff5ctool\u2581call\u2581end\uff5c>'
)
INVOKE_MARKUP = (
    '<function_calls><invoke name="search"><parameter name="location">Berlin'
    "</parameter></invoke></function_calls>"
)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name":"search","arguments":{"location":"Berlin"}}</tool_call>',
        OLDER_MARKUP,
        INVOKE_MARKUP,
    ],
)
def test_other_markup(text):
    """Markup of older models and other templates is recognised too."""
    assert has_markup(text)
    assert calls_in(text) == [("search", {"location": "Berlin"})]


def test_unfinished_markup_is_no_answer():
    """Markup without usable arguments is refused and never shown as an answer."""
    text = '<\uff5cDSML\uff5ctool_calls><\uff5cDSML\uff5cinvoke name="search">...'
    with pytest.raises(ModelOutputInvalid, match="tool-call markup"):
        parse(text, City)


def test_arguments_with_trailing_prose():
    """The object of arguments is taken; the fence and prose after it are not (B21)."""
    text = '{"location":"Berlin"}\n``` now I will call it again'
    assert parse_arguments(text, City) == City(location="Berlin")


@pytest.mark.parametrize("raw", ["[1,2]", '"Berlin"', "null", "", "3", None])
def test_arguments_must_be_an_object(raw):
    """Arguments that are valid JSON and no object are refused (B25)."""
    with pytest.raises(ModelOutputInvalid):
        parse_arguments(raw, City)


def test_no_arguments_for_a_tool_without_required_ones():
    """Nothing at all is an empty object where no argument is required (B25)."""
    assert parse_arguments("", Nothing) == Nothing()
