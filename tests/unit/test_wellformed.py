"""Text that is no Unicode never reaches a store or an encoder."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from mendgraph import create_mend_agent
from mendgraph.state.wellformed import well_formed
from mendgraph.tools.models.parser import parse

ANY = st.recursive(
    st.text(st.characters()) | st.integers() | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)


@given(ANY)
def test_whatever_comes_can_be_encoded(value):
    """Every value becomes one that UTF-8 takes."""
    json.dumps(well_formed(value), ensure_ascii=False).encode()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_unicode_stays_as_it_is(text):
    """Text without lone surrogates is not touched."""
    assert well_formed(text) == text


def test_a_pair_becomes_its_character():
    """Two halves that belong together are one character."""
    assert well_formed("\ud83d\ude00") == "😀"
    assert well_formed("\ud83d") == "\ufffd"


class Said(BaseModel):
    text: str


def test_a_models_lone_surrogate_is_replaced():
    """Spelled or raw, it is gone before anything reads the answer."""
    assert parse('{"text": "a\\ud83d"}', Said).text == "a\ufffd"
    assert parse('{"text": "a\ud83d"}', Said).text == "a\ufffd"


def test_a_tools_lone_surrogate_ends_no_step():
    """A tool may return what no encoder takes; the step is done all the same."""

    def odd(kind: str) -> object:
        """Return something odd."""
        raw = {"text": "a\ud83d"}
        return raw if kind == "raw" else '{"text": "a\\ud83d"}'

    agent = create_mend_agent(None, tools=[odd], assume="read", seeded=False)
    kinds = ("raw", "json")
    steps = [{"id": kind, "tool": "odd", "inputs": {"kind": kind}} for kind in kinds]
    result = agent.invoke({"task": "t", "plan": {"steps": steps}})
    assert result["status"] == "done"
    assert result["answer"].count("a\ufffd") == 2
