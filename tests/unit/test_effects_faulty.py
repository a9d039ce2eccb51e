"""The faulty double: each fault does what it says, by attempt number."""

import asyncio

import httpx
import pytest

from mendgraph.tools.doubles.clock import VirtualClock
from mendgraph.tools.doubles.faulty import (
    NOTE,
    FaultyTool,
    delayed,
    empty,
    http_status,
    raising,
    silent,
    stale,
    truncated,
    wrong_type,
)


class Shelf:
    """Counts how often it is really asked."""

    def __init__(self):
        self.asked = 0

    def rows(self, most: int = 4) -> list:
        """Return rows."""
        self.asked += 1
        return [{"n": n, "at": self.asked} for n in range(most)]


def called(fault, times=1, **options):
    """Return what the last of these calls gave, the tool and the shelf."""
    shelf = Shelf()
    faults = {times: fault} if fault else {}
    tool = FaultyTool(shelf.rows, faults, **options)
    for _ in range(times):
        value = asyncio.run(tool.ainvoke({"most": 4}))
    return value, tool, shelf


def test_it_says_what_it_is_and_keeps_the_functions_face():
    """Name, arguments and words are the function's; the description tells the rest."""
    tool = FaultyTool(Shelf().rows)
    assert tool.name == "rows"
    assert tool.description.startswith("Return rows.")
    assert NOTE in tool.description
    assert tool.tool_call_schema.model_json_schema()["properties"]["most"]


def test_without_a_fault_the_call_is_real_both_ways():
    """`invoke` and `ainvoke` reach the function; every call is on record."""
    shelf = Shelf()
    tool = FaultyTool(shelf.rows)
    assert len(tool.invoke({"most": 2})) == 2
    assert len(asyncio.run(tool.ainvoke({}))) == 4
    assert (shelf.asked, tool.done) == (2, 2)
    assert [call["most"] for call in tool.calls] == [2, 4]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (empty(), []),
        (wrong_type(), "injected: not what was asked for"),
        (silent(), {"status": "ok"}),
        (silent({"rows": 9}), {"rows": 9}),
    ],
)
def test_saying_something_does_nothing(fault, expected):
    """The function is not run."""
    value, tool, shelf = called(fault)
    assert (value, tool.done, shelf.asked) == (expected, 0, 0)


def test_truncated_is_the_first_part_of_a_real_answer():
    """Half of four rows are two."""
    value, _, shelf = called(truncated())
    assert ([row["n"] for row in value], shelf.asked) == ([0, 1], 1)


def test_stale_is_what_the_first_call_gave():
    """The third call answers as the first did."""
    value, _, shelf = called(stale(), times=3)
    assert ({row["at"] for row in value}, shelf.asked) == ({1}, 2)


@pytest.mark.parametrize(("after", "asked"), [(False, 0), (True, 1)])
def test_an_error_comes_instead_of_the_call_or_after_it(after, asked):
    """A lost answer has had its effect."""
    shelf = Shelf()
    tool = FaultyTool(shelf.rows, {1: raising(ConnectionError("gone"), after=after)})
    with pytest.raises(ConnectionError, match="gone"):
        asyncio.run(tool.ainvoke({}))
    assert shelf.asked == asked


def test_a_status_is_what_httpx_raises():
    """Status, headers and body are there to be read."""
    tool = FaultyTool(Shelf().rows, {1: http_status(429, {"Retry-After": "7"})})
    with pytest.raises(httpx.HTTPStatusError) as raised:
        asyncio.run(tool.ainvoke({}))
    answer = raised.value.response
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
    assert "injected 429" in answer.text


def test_a_delay_is_real_and_late():
    """The function has run, and the time has passed."""
    clock = VirtualClock()
    value, _, shelf = called(delayed(3), sleep=clock.sleep)
    assert (len(value), shelf.asked, clock.slept) == (4, 1, [3])
