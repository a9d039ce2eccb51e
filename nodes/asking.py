"""Asking a person: the question is kept first, so a re-run asks the very same one.

`interrupt` replays answers by order, so expired and malformed answers close their
question in the store and the next one is asked in the same order every time.
"""

from langgraph.types import interrupt

from mendgraph.state.interrupts import AnswerError, Decision, Question, read_answer
from mendgraph.tools.run import Run


async def ask(run: Run, key: str, question: Question) -> Decision | None:
    """Ask until there is a valid answer in time; None where nobody can be asked.

    Args:
        run: The node's view of the world.
        key: Names the matter; the same key is the same question.
        question: What to ask.
    """
    if not run.can_ask:
        return None
    turn = 0
    while True:
        asked, closed = await run.vault.question(f"{key}:{turn}", question.plain())
        question = Question.model_validate(asked)
        answer = interrupt(question.payload())
        problem = closed or _refuse(answer, question, run.now())
        if problem is None:
            return read_answer(answer, question)
        await run.vault.close_question(f"{key}:{turn}", asked, problem)
        question = _again(question, problem, run.now())
        turn += 1


def _refuse(answer: object, question: Question, now: float) -> str | None:
    if question.expires_at is not None and now > question.expires_at:
        return "The earlier answer came after the question had expired."
    try:
        read_answer(answer, question)
    except AnswerError as error:
        return f"The last answer was not taken. {error}"
    return None


def _again(question: Question, problem: str, now: float) -> Question:
    """The same question once more, with a new term where it had one."""
    term = question.term_s
    expires_at = now + term if term else None
    return question.but(problem=problem, expires_at=expires_at)
