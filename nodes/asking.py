"""Asking a person: the question is kept first, so a re-run asks the very same one.

`interrupt` replays answers by order. So it is kept which answer was taken and which was
not: a re-run takes the same ones, and asks what comes next in the same order.
"""

from collections.abc import Callable

from langgraph.types import interrupt

from mendgraph.state.interrupts import AnswerError, Decision, Question, read_answer
from mendgraph.state.record import Record
from mendgraph.tools.run import Run

Judge = Callable[[Decision], str | None]
"""Says why a well-formed answer cannot be taken, or nothing."""
TAKEN = ""
"""Kept beside a question whose answer was taken; otherwise the reason it was not."""


class Answered(Record):
    """An answer and the question it was given to."""

    decision: Decision
    question: Question


async def ask(
    run: Run, key: str, question: Question, judge: Judge | None = None
) -> Decision | None:
    """Ask until there is a valid answer in time; None where nobody can be asked.

    Args:
        run: The node's view of the world.
        key: Names the matter; the same key is the same question.
        question: What to ask.
        judge: Looks at well-formed answers.
    """
    answered = await ask_in_term(run, key, question, judge)
    return answered.decision if answered else None


async def ask_in_term(
    run: Run, key: str, question: Question, judge: Judge | None = None
) -> Answered | None:
    """Ask as `ask` does; return the answer with the question as it was asked."""
    if not run.can_ask:
        return None
    turn = 0
    while True:
        name = f"{key}:{turn}"
        asked, verdict = await run.vault.question(name, question.plain())
        question = Question.model_validate(asked)
        answer = interrupt(question.payload())
        if verdict is None:
            verdict = _refuse(answer, question, run.now(), judge) or TAKEN
            await run.vault.close_question(name, asked, verdict)
        if verdict == TAKEN:
            return Answered(decision=read_answer(answer, question), question=question)
        question = _again(question, verdict, run.now())
        turn += 1


def _refuse(
    answer: object, question: Question, now: float, judge: Judge | None
) -> str | None:
    """Return why an answer is not taken."""
    if question.expires_at is not None and now > question.expires_at:
        return "The earlier answer came after the question had expired."
    try:
        problem = judge(read_answer(answer, question)) if judge else None
        read_answer(answer, question)
    except AnswerError as error:
        problem = str(error)
    return f"The last answer was not taken. {problem}" if problem else None


def _again(question: Question, problem: str, now: float) -> Question:
    """The same question once more, with a new term where it had one."""
    term = question.term_s
    expires_at = now + term if term else None
    return question.but(problem=problem, expires_at=expires_at)
