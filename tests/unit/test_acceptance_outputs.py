"""Whatever a tool returns is kept as JSON: after an effect nothing may fail."""

import dataclasses
import enum
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from mendgraph import create_mend_agent
from mendgraph.tools.plain import CIRCLE, CUT, json_value


class Model(BaseModel):
    when: datetime = datetime(2026, 1, 1, tzinfo=UTC)


@dataclasses.dataclass
class Data:
    amount: int = 1
    inner: Model = dataclasses.field(default_factory=Model)


class Array:
    def tolist(self) -> list[int]:
        return [1, 2]


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


class Colour(enum.Enum):
    RED = "red"


circle: dict = {}
circle["me"] = circle
NAN = float("nan")
AS = "2026-01-01T00:00:00Z"
CASES = [
    (NAN, None),
    ({"rows": [float("inf"), 1.5]}, {"rows": [None, 1.5]}),
    (2**63, 2**63),
    (2**64, str(2**64)),
    (10**5000, hex(10**5000)),
    ("\ud800x", "\ufffdx"),
    ({(1, 2): 3, 4: 5, None: 6, True: 7}, {"(1, 2)": 3, "4": 5, "null": 6, "true": 7}),
    (Model(), {"when": AS}),
    ([Data()], [{"amount": 1, "inner": {"when": AS}}]),
    (Array(), [1, 2]),
    ({"a": {1, 2}}, {"a": [1, 2]}),
    ((n for n in (1, 2)), [1, 2]),
    (Colour.RED, "red"),
    (Decimal("1.50"), "1.50"),
    (Path("x"), "x"),
    (memoryview(b"ab"), "ab"),
    (Hostile(), "<Hostile>"),
    (circle, {"me": CIRCLE}),
    (Model, str(Model)),
]


@pytest.mark.parametrize(("value", "expected"), CASES, ids=range(len(CASES)))
def test_an_odd_output_keeps_what_json_can_hold(value, expected) -> None:
    """Fields, items and exact digits; never the name of a Python object."""
    assert expected == json_value(value)


def test_nesting_without_end_is_cut() -> None:
    """Five thousand levels end after some hundred, and the step is done."""
    deep: list = []
    for _ in range(5_000):
        deep = [deep]
    assert CUT in json.dumps(json_value(deep), ensure_ascii=False)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(plain)
def test_plain_values_stay_as_they_are(value) -> None:
    """What JSON can hold comes back equal."""
    assert json_value(value) == value


@pytest.mark.parametrize("value", [{(1, 2): 3}, 2**70, circle, Hostile()], ids=range(4))
def test_an_effect_with_an_odd_answer_is_done_once(value, tmp_path) -> None:
    """It is neither failed nor in doubt because of how its answer is written."""
    paid = []

    def pay() -> object:
        """Pay."""
        paid.append(1)
        return value

    agent = create_mend_agent(None, tools=[pay], persist=tmp_path, learn=False)
    config = {"configurable": {"thread_id": "t"}}
    plan = {"steps": [{"id": "p", "tool": "pay"}]}
    result = agent.invoke({"task": "t", "plan": plan}, config)
    agent.close()
    assert (result["status"], paid) == ("done", [1])
