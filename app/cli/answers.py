"""Answers given on the command line: by id, or to the one question that is open."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mendgraph.cli.asking import edited
from mendgraph.cli.faults import WrongUse
from mendgraph.state.interrupts import Question

Answer = dict[str, Any]


def read_answers(
    given: Sequence[str],
    single: Mapping[str, Any] | None,
    questions: Mapping[str, Question],
) -> dict[str, Answer]:
    """Return answers by interrupt id.

    Args:
        given: `ID=JSON` pairs; the id may be shortened, or be the step's id.
        single: A decision for the one open question.
        questions: What is open.

    Raises:
        WrongUse: An answer fits no open question, or is no JSON.
    """
    if (given or single) and not questions:
        raise WrongUse("nothing waits for an answer on this thread")
    answers = dict(_pair(text, questions) for text in given)
    if single is None:
        return answers
    if len(questions) > 1:
        raise WrongUse(
            f"{len(questions)} questions are open; say which with --answer ID=JSON: "
            + listing(questions)
        )
    key, question = next(iter(questions.items()))
    return {**answers, key: {"decisions": [_completed(single, question)]}}


def listing(questions: Mapping[str, Question]) -> str:
    """Return the open questions in one line."""
    return "; ".join(
        f"{key} ({question.kind.value} {question.name}, step {question.step_id})"
        for key, question in questions.items()
    )


def _pair(text: str, questions: Mapping[str, Question]) -> tuple[str, Answer]:
    name, equals, value = text.partition("=")
    if not equals:
        raise WrongUse(f"--answer {text!r}: write ID=JSON; open: {listing(questions)}")
    key = _key(name.strip(), questions)
    try:
        said = json.loads(value)
    except ValueError as error:
        raise WrongUse(f"--answer {name}: no JSON: {error}") from error
    if isinstance(said, dict) and "type" in said:
        said = {"decisions": [_completed(said, questions[key])]}
    return key, said


def _key(name: str, questions: Mapping[str, Question]) -> str:
    found = [
        key
        for key, question in questions.items()
        if key.startswith(name) or question.step_id == name
    ]
    if len(found) != 1 or not name:
        fits = "fits several questions" if found else "is no open question"
        raise WrongUse(f"--answer: {name!r} {fits}; open: {listing(questions)}")
    return found[0]


def _completed(decision: Mapping[str, Any], question: Question) -> Answer:
    """Return the decision; `{"type": "edit", "args": ...}` is a short form."""
    if decision.get("type") != "edit" or "args" not in decision:
        return dict(decision)
    args = decision["args"]
    if not isinstance(args, dict):
        raise WrongUse('an edit needs an object of arguments, as {"amount": 5}')
    return {"type": "edit", "edited_action": edited(question, args)}
