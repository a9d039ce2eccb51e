"""Questions and answers in the older Agent Inbox shape."""

import pytest

from mendgraph.state.agent_inbox import from_inbox, to_inbox
from mendgraph.state.interrupts import AnswerError, Kind, Question, read_answer

QUESTION = Question(
    kind=Kind.APPROVAL,
    name="refund",
    args={"amount": 5},
    description="May it?",
    allowed=("approve", "edit"),
)

OPEN = QUESTION.but(allowed=())


def test_a_question_becomes_a_human_interrupt():
    """Name, arguments and allowed decisions carry over."""
    assert to_inbox(QUESTION.payload()) == {
        "action_request": {"action": "refund", "args": {"amount": 5}},
        "config": {
            "allow_accept": True,
            "allow_edit": True,
            "allow_respond": False,
            "allow_ignore": False,
        },
        "description": "May it?",
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([{"type": "accept", "args": None}], "approve"),
        (
            [{"type": "edit", "args": {"action": "refund", "args": {"amount": 4}}}],
            "edit",
        ),
    ],
)
def test_an_answer_becomes_a_decision(given, expected):
    """The inbox's words become decisions that are read like any other."""
    assert read_answer(from_inbox(given), QUESTION).type == expected


def test_words_of_the_inbox_become_a_message():
    """A response's text is the message of the decision."""
    expected = {"decisions": [{"type": "respond", "message": "wait"}]}
    assert from_inbox([{"type": "response", "args": "wait"}]) == expected


@pytest.mark.parametrize("args", [None, "", "  "])
def test_a_response_without_words_is_refused(args):
    """It reads as a respond decision, and that needs a message."""
    with pytest.raises(AnswerError, match="needs a message"):
        read_answer(from_inbox([{"type": "response", "args": args}]), OPEN)


@pytest.mark.parametrize(
    "given", [None, [], [{"type": "yes"}], [{"type": "edit", "args": "5"}]]
)
def test_a_wrong_answer_is_refused(given):
    """What is no answer of the inbox gets a clear error."""
    with pytest.raises(AnswerError):
        from_inbox(given)
