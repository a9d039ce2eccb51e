"""How the simulated model decides: pure, from texts it was shown, with a stated luck.

A decision errs with probability q, drawn from hash(seed, task, decision), so every
agent's model errs at the same decisions. It can only react to what it can read: where a
framework hides the error's text, all it knows is that something failed.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mendgraph.bench.tasks import AS_OF, Wanted

PATIENCE = 3
"""Times the model makes the same call for a fault that looks transient."""
MOST_TRIES = 12
"""Calls for one step after which the model stops, whatever it believes."""
STEP = re.compile(r"- (s\d+): (\w+) key=(\S+?)(?: from ([s\d, ]+))?\s*$", re.MULTILINE)
RAISED = re.compile(r"\s*(?:ERROR|Error|\w+(?:Error|Timeout|Exception))\b")
"""How texts begin that tell of an exception."""
TRANSIENT = re.compile(
    r"\b(503|502|504|429)\b|timed? ?out|timeout|reset by peer|try again|temporar"
    r"|is locked|gave no answer|deadlock",
    re.IGNORECASE,
)
ARGUMENT = re.compile(
    r"argument '(\w+)'(?: must be|: expected) '([^']+)'|"
    r"argument \W?(\w+)\W? must be \W?(\w+)"
)
OWN_KEY = re.compile(r"unknown key|does not fit", re.IGNORECASE)
HOPELESS = re.compile(r"may not read|not served anywhere", re.IGNORECASE)


@dataclass(frozen=True)
class Luck:
    """How often the model errs, and where."""

    seed: int = 0
    q: float = 0.0
    asked: int = 0
    """Times the very same request was answered before: it is decided anew."""

    def errs(self, task: str, decision: str) -> bool:
        """Tell whether this decision is one of the wrong ones."""
        again = f"@{self.asked}" if self.asked else ""
        drawn = f"{self.seed}|{task}|{decision}{again}"
        told = hashlib.sha256(drawn.encode()).digest()
        return int.from_bytes(told[:8]) / 2**64 < self.q


@dataclass(frozen=True)
class Try:
    """One call the model made, and the text that came back."""

    tool: str
    text: str
    args: Mapping[str, Any]


@dataclass(frozen=True)
class Move:
    """What the model does next about one step."""

    kind: str
    """`call`, `done` or `give_up`."""
    tool: str = ""
    args: Mapping[str, Any] | None = None
    value: str = ""
    why: str = ""


def wanted_in(text: str) -> tuple[str, list[Wanted]]:
    """Return the task's name and the steps a text asks for."""
    steps = {
        row[0]: Wanted(row[0], row[1], row[2], _names(row[3]))
        for row in STEP.findall(text)
    }
    found = list(steps.values())
    return (found[0].key.rpartition(".")[0] if found else "?"), found


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def read(text: str) -> Any:
    """Return the JSON a text holds, else the text."""
    start = text.find("{")
    if start < 0 or RAISED.match(text):
        return text
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0]
    except ValueError:
        return text


def flaw(step: Wanted, answer: Any) -> str | None:
    """Return what is wrong with an answer by what the task said; None: it is good."""
    if not isinstance(answer, dict):
        return f"no answer: {str(answer)[:80]}"
    if answer.get("error"):
        return str(answer["error"])
    if step.tool == "published":
        return None if answer.get("found") else "it was not published"
    if answer.get("value") is None:
        return "there is no value"
    return None if step.tool == "publish" else _bad_rows(answer)


def _bad_rows(answer: dict[str, Any]) -> str | None:
    rows = answer.get("rows")
    if not isinstance(rows, list) or len(rows) != answer.get("row_count") or not rows:
        return "rows are missing"
    return None if answer.get("as_of") == AS_OF else "it is not of the date asked for"


class Mind:
    """The decisions about one task.

    Args:
        luck: Where they err.
        task: Its name.
        role: Sets apart decisions that several roles take about the same answer.
    """

    def __init__(self, luck: Luck, task: str, role: str = "") -> None:
        self.luck, self.task, self.role = luck, task, role

    def arguments(
        self, step: Wanted, sources: Sequence[Any], number: int, **more: Any
    ) -> dict[str, Any]:
        """Return the arguments of a step's call, the `number`th from 1."""
        wrong = self.luck.errs(self.task, f"{step.id}:call:{number}{self.role}")
        args: dict[str, Any] = {"key": f"{step.key}x" if wrong else step.key, **more}
        return {**args, "sources": list(sources)} if takes_sources(step) else args

    def overlooks(self, step: Wanted, number: int) -> bool:
        """Tell whether the model misreads the `number`th answer of a step."""
        return self.luck.errs(self.task, f"{step.id}:judge:{number}{self.role}")

    def next(self, step: Wanted, sources: Sequence[Any], tries: Sequence[Try]) -> Move:
        """Return what to do about a step, seeing all its answers so far."""
        number = len(tries) + 1
        if not tries:
            return self._call(step, step.tool, sources, number)
        if number > MOST_TRIES:
            return Move("give_up", why=f"{MOST_TRIES} calls were in vain")
        answer = read(tries[-1].text)
        if tries[-1].tool == "published" and step.tool == "publish":
            return self._looked(step, sources, tries, answer)
        if not isinstance(answer, dict):
            return self.after_error(step, sources, tries, tries[-1].text)
        return self._judged(step, sources, tries, answer)

    def _judged(
        self,
        step: Wanted,
        sources: Sequence[Any],
        tries: Sequence[Try],
        answer: dict[str, Any],
    ) -> Move:
        problem = flaw(step, answer)
        if problem is None:
            return Move("done", value=str(answer.get("value", answer.get("found"))))
        if self.overlooks(step, len(tries)):
            return Move("done", value=str(answer.get("value")), why="overlooked")
        return self.again(step, sources, tries, problem, fresh=True)

    def _call(
        self, step: Wanted, tool: str, sources: Sequence[Any], number: int, **more: Any
    ) -> Move:
        args = self.arguments(step, sources, number, **more)
        return Move("call", tool=tool, args=args)

    def _looked(
        self, step: Wanted, sources: Sequence[Any], tries: Sequence[Try], answer: Any
    ) -> Move:
        if isinstance(answer, dict) and answer.get("found"):
            return Move("done", value="published")
        return self._call(step, "publish", sources, len(tries) + 1)

    def after_error(
        self, step: Wanted, sources: Sequence[Any], tries: Sequence[Try], text: str
    ) -> Move:
        """Return what the model does about an error's text."""
        last = tries[-1]
        if self.overlooks(step, len(tries)):
            return Move("call", tool=last.tool, args=last.args, why="the same again")
        if mended := self._other_arguments(step, sources, tries, text):
            return mended
        if HOPELESS.search(text):
            return Move("give_up", why=text[:160])
        if not TRANSIENT.search(text):
            return self._switch(step, sources, tries, text)
        if step.tool == "publish":
            return Move("call", tool="published", args={"key": step.key})
        return self.again(step, sources, tries, text)

    def _other_arguments(
        self, step: Wanted, sources: Sequence[Any], tries: Sequence[Try], text: str
    ) -> Move | None:
        """Return a call with what the text says is wrong put right."""
        number, last = len(tries) + 1, tries[-1]
        found = ARGUMENT.search(text)
        if number > 2 * PATIENCE:
            return None
        if OWN_KEY.search(text):
            return self._call(step, last.tool, sources, number)
        name, value = [each for each in found.groups() if each] if found else ("", "")
        known = {k: v for k, v in last.args.items() if k not in {"key", "sources"}}
        if not name or known.get(name) == value:
            return None
        return self._call(step, last.tool, sources, number, **{**known, name: value})

    def again(
        self,
        step: Wanted,
        sources: Sequence[Any],
        tries: Sequence[Try],
        why: str,
        **more: Any,
    ) -> Move:
        """Return the same call, as long as the model is patient; else the mirror."""
        tool = tries[-1].tool
        same = sum(1 for each in tries if each.tool == tool)
        if same >= PATIENCE or step.tool == "published":
            return self._switch(step, sources, tries, why)
        given = more if step.tool in {"fetch", "derive"} else {}
        return self._call(step, tool, sources, len(tries) + 1, **given)

    def _switch(
        self, step: Wanted, sources: Sequence[Any], tries: Sequence[Try], why: str
    ) -> Move:
        other = f"{step.tool}_mirror"
        if step.tool in {"fetch", "derive"} and all(t.tool != other for t in tries):
            return self._call(step, other, sources, len(tries) + 1)
        return Move("give_up", why=why[:160])


def takes_sources(step: Wanted) -> bool:
    """Tell whether a step's tool reads other values."""
    return step.tool in {"derive", "publish"}
