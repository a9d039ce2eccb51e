"""Two doubles that answer questions with known error rates; they are no models.

What they show is arithmetic: how error rates, shared habits, token counts and waits
turn into success and cost. It says nothing about any real model.
"""

import random
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from mendgraph.evals.ways import Said, Task
from mendgraph.state.record import Record
from mendgraph.tools.doubles.scripted import Line, ScriptedModel
from mendgraph.tools.models.errors import ModelError
from mendgraph.tools.models.reasoner import Reasoner

SYSTEM = "Answer in one word or number."


class Choice(BaseModel):
    """The answer to a question."""

    answer: str


class Habits(Record):
    """How a double errs and what it costs."""

    name: str
    error: float
    """Share of wrong answers at low effort, 0..1."""
    trapped: float
    """The same where the wrong answer comes to mind first."""
    same_mistake: float
    """Share of mistakes that are the first wrong answer: what votes cannot cure."""
    effort_helps: float = 0.5
    """High effort multiplies the error rate by this."""
    low_tokens: int = 60
    high_tokens: int = 700
    tokens_a_second: float = 60.0


DOUBLES: tuple[Habits, ...] = (
    Habits(name="careful double", error=0.10, trapped=0.45, same_mistake=0.5),
    Habits(name="hasty double", error=0.35, trapped=0.75, same_mistake=0.8),
)


@dataclass
class DoubleAsker:
    """Asks a scripted double through the real model adapter, on a clock of its own."""

    habits: Habits
    dice: random.Random
    now: float = 0.0
    _task: Task | None = None
    _effort: str = "low"
    _refused: str = ""
    _reasoner: Reasoner = field(init=False)

    def __post_init__(self) -> None:
        model = ScriptedModel(script=self._answer, model_name=self.habits.name)
        self._reasoner = Reasoner([model], clock=lambda: self.now, sleep=self._sleep)

    async def ask(self, task: Task, *, effort: str = "low", refused: str = "") -> Said:
        """Return the double's answer and what it cost."""
        self._task, self._effort, self._refused = task, effort, refused
        began = self.now
        hint = f"\nNot this answer: {refused}" if refused else ""
        prompt = [("system", SYSTEM), ("user", f"{task.question}{hint}")]
        try:
            answer = await self._reasoner.ask("answer", prompt, Choice)
        except ModelError as error:
            spent, said = error.usage, None
        else:
            spent, said = answer.usage, answer.value.answer.strip().lower()
        read, wrote = spent.prompt_tokens, spent.completion_tokens
        return Said(said, self.now - began, read, wrote)

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def _answer(self, messages: list[BaseMessage]) -> Any:
        habits, task = self.habits, self._task
        if task is None:
            raise RuntimeError("nothing was asked")
        high = self._effort == "high"
        wrote = habits.high_tokens if high else habits.low_tokens
        wrote = round(wrote * self.dice.lognormvariate(0.0, 0.35))
        self.now += 0.4 + wrote / habits.tokens_a_second
        read = sum(len(str(message.text)) for message in messages) // 4
        usage = {"input_tokens": read, "output_tokens": wrote}
        said = Choice(answer=self._said(task, high=high))
        return Line(text=said.model_dump_json(), usage=usage)

    def _said(self, task: Task, *, high: bool) -> str:
        """Return the right answer, or a mistake as often as the habits say."""
        rate = self.habits.trapped if task.trap else self.habits.error
        rate *= self.habits.effort_helps if high else 1.0
        if self.dice.random() >= rate:
            return task.answer
        others = [wrong for wrong in task.wrong if wrong != self._refused]
        if not others:
            return task.answer
        first = self.dice.random() < self.habits.same_mistake
        return others[0] if first else self.dice.choice(others)
