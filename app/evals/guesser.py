"""A double that names causes and is wrong in a known share; its probes are real looks.

It stands in for a model where the measure is what verification catches, not how good a
model is. Each cause it names comes with the cheapest look that would confirm it.
"""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mendgraph.evals.injected import Injected
from mendgraph.state.failure import Category, Subclass
from mendgraph.state.lesson import NextAction

WRONG_SHARE = 0.23
"""The document's share of false corrections without verification (section 6.3)."""
SEED = 623
STATED = 0.7
"""The confidence it states, always the same."""
CASE = re.compile(r"case (\d+)\.")
LABEL = (
    "Causes from a scripted double that errs in 23 % of its answers, not from a model. "
    "The probes are real looks at the world, and each cause comes with one that can "
    "decide it: this measures what verification does with probes, not how well a model "
    "would choose them."
)
FIXES: dict[Category, NextAction] = {
    Category.PLAN: NextAction.LOCAL_REPLAN,
    Category.EXECUTION: NextAction.PATCH,
    Category.ENVIRONMENT: NextAction.RETRY,
    Category.REQUIREMENT: NextAction.GLOBAL_REPLAN,
}
"""The fix a cause leads to."""
NAMES: dict[Category, Subclass] = {
    Category.PLAN: Subclass.PRECONDITION_ERROR,
    Category.EXECUTION: Subclass.PARAM_ERROR,
    Category.ENVIRONMENT: Subclass.SERVICE_UNAVAILABLE,
    Category.REQUIREMENT: Subclass.AMBIGUOUS,
}


def _plan_look(case: Injected) -> dict[str, Any]:
    """What should be there is not: no file or table, or an input that gives nothing."""
    told = "error.message.matches('(?i)cannot be filled|precondition_rule')"
    if not case.resource or case.resource.startswith(("/", "!")):
        return {"expression": told}
    arguments = {"what": case.resource}
    expression = f"!output.exists || {told}"
    return {"tool": "exists", "arguments": arguments, "expression": expression}


def _execution_look(_case: Injected) -> dict[str, Any]:
    """The error speaks of the arguments: a refused value, a syntax, a format."""
    words = (
        "(?i)syntax|invalid|decode|must be|not a date|division|usage|parse|expecting"
    )
    return {"expression": f"error.message.matches('{words}')"}


def _environment_look(case: Injected) -> dict[str, Any]:
    """What the step depends on does not answer a harmless read."""
    if not case.resource:
        return {"expression": "error.http_status >= 500"}
    arguments = {"what": case.resource}
    return {"tool": "reachable", "arguments": arguments, "expression": "!output.ok"}


def _requirement_look(case: Injected) -> dict[str, Any]:
    """More than one thing fits what was asked for."""
    if not case.term:
        words = "(?i)which one|please specify|unclear|contradict|ambiguous"
        return {"expression": f"error.message.matches('{words}')"}
    arguments = {"term": case.term}
    return {"tool": "matches", "arguments": arguments, "expression": "output.count > 1"}


LOOKS: dict[Category, Callable[[Injected], dict[str, Any]]] = {
    Category.PLAN: _plan_look,
    Category.EXECUTION: _execution_look,
    Category.ENVIRONMENT: _environment_look,
    Category.REQUIREMENT: _requirement_look,
}
"""Cause → the cheapest look that would confirm it. One look for each kind of cause,
written for the kind and not for the case."""


@dataclass(frozen=True)
class Guess:
    """The cause the double names, and its look."""

    category: Category
    right: bool
    probe: dict[str, Any]

    @classmethod
    def of(cls, case: Injected, number: int) -> "Guess":
        """Return the guess for a case: the truth, or in 23 % another category."""
        dice = random.Random(SEED + number)  # noqa: S311  a seeded choice, no secret
        right = dice.random() >= WRONG_SHARE
        others = [category for category in FIXES if category is not case.category]
        named = case.category if right else dice.choice(others)
        return cls(named, right, LOOKS[named](case))

    @property
    def cause(self) -> str:
        """The hypothesis in words."""
        return f"{self.category} is to blame"

    @property
    def decision(self) -> NextAction:
        """The fix that follows from the cause."""
        return FIXES[self.category]


@dataclass(frozen=True)
class Guesser:
    """The script of the double: no patch, one reflection, no other plan."""

    guesses: Mapping[int, Guess]
    """Number of the case, as its task names it → guess."""

    def __call__(self, messages: list[Any]) -> dict[str, Any]:
        """Answer by the role that the prompt names."""
        system = messages[0].text
        if "ROLE: reflect" not in system:
            return {"arguments": {}, "why": LABEL, "impossible": LABEL, "content": ""}
        number = CASE.search(messages[-1].text)
        guess = self.guesses[int(number[1]) if number else -1]
        return {
            "category": str(guess.category),
            "subclass": str(NAMES[guess.category]),
            "hypotheses": [guess.cause],
            "decision": str(guess.decision),
            "patch": {"limit": 1} if guess.decision is NextAction.PATCH else None,
            "probes": [{**guess.probe, "confirms": 0}],
            "confidence": STATED,
        }
