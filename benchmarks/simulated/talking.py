"""The simulated model with tools bound: it reads the messages and asks for calls."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from mendgraph.bench.tasks import Wanted
from simulated.mind import Luck, Mind, Move, Try, flaw, read, wanted_in

RESULT = re.compile(r"^result (s\d+) = (.+)$", re.MULTILINE)
XML_CALL = re.compile(
    r'<tool_call id="(s\d+)-\d+" name="(\w+)">(.*?)</tool_call>', re.DOTALL
)
XML_TOOL = re.compile(r'<message type="tool"[^>]*>(.*?)</message>', re.DOTALL)
GIVEN = re.compile(r"^.*- (s\d+): (\w+) key=(\S+) given (\[.*\])$", re.MULTILINE)
"""One step of a plan with the values it reads written out."""
REDO_LIMIT = 3


class Talk:
    """What a conversation shows of a task."""

    def __init__(self, luck: Luck, name: str, steps: Sequence[Wanted]) -> None:
        self.mind = Mind(luck, name)
        self.steps = list(steps)
        self.tries: dict[str, list[Try]] = {step.id: [] for step in steps}
        self.values: dict[str, str] = {}
        self.lost: dict[str, str] = {}
        self.given: dict[str, list[Any]] = {}
        """Values written out beside a step."""

    def calls(self) -> list[tuple[Wanted, Move]]:
        """Return the calls to make now; fills in what is done and what is lost."""
        wanted = [each for step in self.steps if (each := self._wish(step))]
        return [each for each in wanted if each[1].kind == "call"]

    def _wish(self, step: Wanted) -> tuple[Wanted, Move] | None:
        if step.id in self.values or any(need in self.lost for need in step.needs):
            return None
        if any(need not in self.values for need in step.needs):
            return None
        if redo := self._redo(step):
            return redo
        sources = self.sources(step)
        move = self.mind.next(step, sources, self.tries[step.id])
        if move.kind == "done":
            self.values[step.id] = move.value
        if move.kind == "give_up":
            self.lost[step.id] = move.why
        return step, move

    def sources(self, step: Wanted) -> list[Any]:
        """Return the values a step reads."""
        known = [self.values[need] for need in step.needs]
        return self.given.get(step.id, known)

    def _redo(self, step: Wanted) -> tuple[Wanted, Move] | None:
        """Publish again what reading back did not find, then look again."""
        looked = self.tries[step.id]
        if step.tool != "published" or not looked:
            return None
        answer = read(looked[-1].text)
        if not isinstance(answer, dict) or not flaw(step, answer):
            return None
        before = next((each for each in self.steps if each.id in step.needs), None)
        if before is None:
            return None
        tries = self.tries[before.id]
        made = [each for each in tries if each.tool == "publish"]
        if len(made) > REDO_LIMIT:
            return None
        if len(made) <= len(looked):
            sources = [self.values[need] for need in before.needs]
            args = self.mind.arguments(before, sources, len(tries) + 1)
            return before, Move("call", tool="publish", args=args)
        return step, Move("call", tool="published", args={"key": step.key})

    def report(self) -> str:
        """Return the final answer: values, or truthfully what is missing."""
        missing = [step.id for step in self.steps if step.id not in self.values]
        told = ", ".join(f"{k} = {v}" for k, v in self.values.items())
        if self.steps and not missing:
            return f"DONE. {told}"
        why = "; ".join(f"{k}: {v}" for k, v in self.lost.items())
        return f"NOT DONE: {', '.join(missing)} are missing ({why}). {told}"

    def summary(self) -> str:
        """Return the conversation in short: the task's lines and what is known."""
        self.settle()
        lines = "\n".join(step.line for step in self.steps)
        known = "\n".join(f"result {k} = {v}" for k, v in self.values.items())
        return f"Task {self.mind.task}. Carry out these steps:\n{lines}\n{known}"

    def settle(self) -> None:
        """Read all answers, step by step, until nothing more follows from them."""
        before = -1
        while before != len(self.values):
            before = len(self.values)
            self.calls()


def text_of(message: BaseMessage) -> str:
    """Return a message's text."""
    return str(message.text)


def talk_in(messages: Sequence[BaseMessage], luck: Luck) -> Talk:
    """Read a conversation: the task, what was called, what came back."""
    said = "\n".join(text_of(m) for m in messages if m.type in {"human", "system"})
    talk = asked_in(said, luck)
    asked: dict[str, tuple[str, str, Mapping[str, Any]]] = {}
    for message in messages:
        for call in getattr(message, "tool_calls", None) or ():
            step_id = str(call["id"]).partition("-")[0]
            asked[str(call["id"])] = (step_id, call["name"], call["args"])
        if message.type == "tool":
            _note(talk, asked.get(message.tool_call_id), text_of(message))  # type: ignore[attr-defined]  # a ToolMessage
    return talk


def asked_in(said: str, luck: Luck) -> Talk:
    """Return what a text asks for: one step with its values, or a whole task."""
    if one := GIVEN.search(said):
        step = Wanted(one.group(1), one.group(2), one.group(3))
        talk = Talk(luck, step.key.rpartition(".")[0], [step])
        talk.given[step.id] = read(f'{{"all": {one.group(4)}}}')["all"]
        return talk
    talk = Talk(luck, *wanted_in(said))
    talk.values.update(dict(RESULT.findall(said)))
    return talk


def _note(
    talk: Talk, asked: tuple[str, str, Mapping[str, Any]] | None, text: str
) -> None:
    if asked and asked[0] in talk.tries:
        talk.tries[asked[0]].append(Try(asked[1], text, asked[2]))


def transcript_in(text: str, luck: Luck) -> Talk:
    """Read a conversation printed as XML, as LangChain's summary prompt shows it."""
    talk = Talk(luck, *wanted_in(text))
    talk.values.update(dict(RESULT.findall(text)))
    asked = [(s, n, read(a)) for s, n, a in XML_CALL.findall(text)]
    answers = XML_TOOL.findall(text)
    for call, answer in zip(asked, answers, strict=False):
        _note(talk, call, answer.replace("&quot;", '"'))
    return talk
