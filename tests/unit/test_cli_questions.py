"""Questions at the terminal and answers on the command line."""

import io

import pytest
from rich.console import Console

from mendgraph.cli.answers import read_answers
from mendgraph.cli.asking import at_terminal
from mendgraph.cli.faults import WrongUse
from mendgraph.state.interrupts import Kind, Question, read_answer

APPROVAL = Question(
    kind=Kind.APPROVAL,
    name="refund",
    args={"amount": 50, "token": "***"},
    description="Refund the order.",
    step_id="s2",
    expires_at=1_767_225_600.0,
)
CLARIFY = Question(
    kind=Kind.CLARIFICATION,
    name="clarify",
    description="Which year?\nPlease choose.",
    options=("2025", "2026"),
)
WAITING = Question(kind=Kind.WAITING, name="waiting", description="Still processing.")


def asked(questions, *lines: str):
    """Return the answers typed, and what was shown."""
    typed = iter(lines)
    where = Console(file=io.StringIO(), width=100)
    prompts: list[str] = []

    def read(prompt: str) -> str:
        prompts.append(prompt)
        line = next(typed, None)
        if line is None:
            raise EOFError
        return line

    answers = at_terminal(where, read)(questions)
    return answers, where.file.getvalue() + "\n".join(prompts)


def decision(answers, key: str = "q"):
    return answers[key]["decisions"][0]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a"], {"type": "approve"}),
        (["approve"], {"type": "approve"}),
        (["r", "too much"], {"type": "reject", "message": "too much"}),
        (["r", ""], {"type": "reject", "message": None}),
        (["s", "ask Berg"], {"type": "respond", "message": "ask Berg"}),
        (["?", "a"], {"type": "approve"}),
    ],
)
def test_an_approval_is_answered_by_letter_or_word(lines, expected) -> None:
    """Each decision has a letter; what is none of them is asked again."""
    answers, _ = asked({"q": APPROVAL}, *lines)
    assert decision(answers) == expected
    assert read_answer(answers["q"], APPROVAL).type == expected["type"]


def test_an_edit_keeps_what_is_not_changed() -> None:
    """A masked value typed back as it was shown does not replace the secret."""
    answers, shown = asked(
        {"q": APPROVAL}, "e", "{", "e", "[1]", "e", '{"amount": 5, "token": "***"}'
    )
    assert decision(answers)["edited_action"] == {
        "name": "refund",
        "args": {"amount": 5},
    }
    assert "no JSON" in shown
    assert "write an object" in shown


def test_a_question_shows_arguments_step_and_term() -> None:
    """Tool, step, masked arguments and the end of the term are on the screen."""
    _, shown = asked({"q": APPROVAL})
    for words in ("refund, step s2", '"amount": 50', '"***"', "2026-01-01 00:00:00"):
        assert words in shown


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2", {"type": "respond", "message": "2026"}),
        ("2025", {"type": "respond", "message": "2025"}),
        ("last year", {"type": "respond", "message": "last year"}),
        ("/stop", {"type": "reject", "message": "stopped at the terminal"}),
    ],
)
def test_a_clarification_takes_a_number_or_words(line, expected) -> None:
    """An option may be chosen by number, or the answer typed."""
    answers, _ = asked({"q": CLARIFY}, line)
    assert decision(answers) == expected


def test_several_questions_are_asked_one_after_another() -> None:
    """Each answer has the id of its question; one left for later has none."""
    questions = {"a": APPROVAL, "b": CLARIFY, "c": WAITING}
    answers, shown = asked(questions, "l", "1", "a")
    assert set(answers) == {"b", "c"}
    assert "(2 of 3)" in shown
    assert "look again" in shown


def test_an_ended_input_leaves_the_question_open() -> None:
    """Ctrl-D is no answer."""
    assert asked({"q": APPROVAL})[0] == {}


def test_hostile_text_cannot_move_the_cursor() -> None:
    """Descriptions and arguments are untrusted."""
    hostile = APPROVAL.but(description="\x1b[2Jgone", args={"x": "\u202eevil"})
    _, shown = asked({"q": hostile}, "a")
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


def test_command_line_answers_go_to_the_named_question() -> None:
    """A question is named by its id, the start of its id, or its step."""
    questions = {"abc123": APPROVAL, "def456": CLARIFY}
    answers = read_answers(
        ['s2={"type": "approve"}', 'def={"type": "respond", "message": "2025"}'],
        None,
        questions,
    )
    assert decision(answers, "abc123") == {"type": "approve"}
    assert decision(answers, "def456")["message"] == "2025"


def test_a_short_edit_becomes_a_full_one() -> None:
    """`--edit` needs the changed arguments only."""
    answers = read_answers([], {"type": "edit", "args": {"amount": 1}}, {"q": APPROVAL})
    assert read_answer(answers["q"], APPROVAL).edited_action is not None


@pytest.mark.parametrize(
    ("given", "single", "questions", "words"),
    [
        (["x={}"], None, {"abc": APPROVAL}, "'x' is no open question; open: abc"),
        (["abc"], None, {"abc": APPROVAL}, "write ID=JSON"),
        (["abc={"], None, {"abc": APPROVAL}, "no JSON"),
        (["a={}"], None, {"ab": APPROVAL, "ac": CLARIFY}, "fits several"),
        ([], {"type": "approve"}, {"a": APPROVAL, "b": CLARIFY}, "2 questions"),
        ([], {"type": "approve"}, {}, "nothing waits"),
        ([], {"type": "edit", "args": [1]}, {"a": APPROVAL}, "needs an object"),
    ],
)
def test_answers_that_fit_nothing_are_refused(given, single, questions, words) -> None:
    """The message names what is open."""
    with pytest.raises(WrongUse, match=words):
        read_answers(given, single, questions)
