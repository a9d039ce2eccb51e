"""Five ways to spend compute on a question with a discrete answer (F60).

Samples that vote share one model and its habits: a majority is an opinion. A check by
code is the only verification here, and it is as good as its rules.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mendgraph.nodes.candidates import Maker, Scorer, search
from mendgraph.state.record import Record
from mendgraph.state.vote import strict_majority
from mendgraph.tools.cel import RuleError, compile_rule

SAMPLES = 5
RETRIES = 2
"""Times a refused answer is asked for again."""
BRANCH, DEPTH, BEAM = 3, 2, 1


class Task(Record):
    """A question, its one right answer, and cheap checks that need not know it."""

    id: str
    question: str
    answer: str
    wrong: tuple[str, ...]
    """Answers a double may give by mistake."""
    rules: tuple[str, ...]
    trap: bool = False

    def share_kept(self, answer: str | None) -> float:
        """Return the share of the rules an answer keeps, 0..1."""
        if answer is None:
            return 0.0
        kept = [_holds(rule, answer) for rule in self.rules]
        return sum(kept) / len(kept)


def _holds(rule: str, answer: str) -> bool:
    known = {"answer": answer, "number": int(answer) if answer.isdigit() else -1}
    try:
        return compile_rule(rule).holds(known)
    except RuleError:
        return False


@dataclass(frozen=True)
class Said:
    """One answer of a model and what it cost."""

    answer: str | None
    seconds: float
    prompt_tokens: int
    completion_tokens: int


class Asker(Protocol):
    """Asks a model one question."""

    async def ask(self, task: Task, *, effort: str = "low", refused: str = "") -> Said:
        """Return the answer; `refused` is an answer that did not pass the rules."""
        ...


@dataclass
class Tally:
    """What one way took for one task."""

    said: list[Said] = field(default_factory=list)
    seconds: float = 0.0

    def one(self, said: Said) -> str | None:
        """Count an answer that was waited for."""
        self.said.append(said)
        self.seconds += said.seconds
        return said.answer

    def many(self, said: Sequence[Said]) -> list[str | None]:
        """Count answers asked for at once: the slowest is waited for."""
        self.said += said
        self.seconds += max(each.seconds for each in said)
        return [each.answer for each in said]


Way = Callable[[Task, Asker, Tally], Awaitable[str | None]]


async def single(task: Task, asker: Asker, tally: Tally) -> str | None:
    """Ask once."""
    return tally.one(await asker.ask(task))


async def higher_effort(task: Task, asker: Asker, tally: Tally) -> str | None:
    """Ask once and let the model think longer."""
    return tally.one(await asker.ask(task, effort="high"))


async def majority(task: Task, asker: Asker, tally: Tally) -> str | None:
    """Ask several times at once; without a strict majority there is no answer."""
    said = [await asker.ask(task) for _ in range(SAMPLES)]
    return strict_majority(tally.many(said)).answer


async def verified(task: Task, asker: Asker, tally: Tally) -> str | None:
    """Ask, check by code, ask again showing what was refused; else no answer."""
    refused = ""
    for _ in range(1 + RETRIES):
        answer = tally.one(await asker.ask(task, refused=refused))
        if task.share_kept(answer) == 1.0:
            return answer
        refused = answer or ""
    return None


async def local_search(task: Task, asker: Asker, tally: Tally) -> str | None:
    """Search answers with a beam, scored by the share of rules they keep."""

    async def make(parent: str, count: int) -> list[str]:
        said = [await asker.ask(task, refused=parent) for _ in range(count)]
        return [answer or "" for answer in tally.many(said)]

    async def score(answers: Sequence[str]) -> list[float]:
        return [task.share_kept(answer or None) for answer in answers]

    found = await search(
        "",
        Maker(make, cost=int),
        Scorer(score, cost=lambda _count: 0),
        branch=BRANCH,
        depth=DEPTH,
        beam=BEAM,
        max_nodes=BRANCH * DEPTH,
        max_calls=BRANCH * DEPTH,
    )
    best = found.best
    return best.node if best and best.score == 1.0 else None


WAYS: Mapping[str, Way] = {
    "single call": single,
    "higher effort": higher_effort,
    f"majority of {SAMPLES}": majority,
    "verified by code": verified,
    "beam search": local_search,
}
