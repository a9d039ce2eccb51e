"""A script for `ScriptedModel` that answers each role from lines of its own."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from mendgraph.tools.doubles.scripted import ScriptEnded

ROLE = "ROLE: "
"""The line of a system prompt that names who asks."""
NO_ROLE = "chat"
"""Who asks where no line says so, such as the loop of an exploring step."""

Lines = Sequence[Any] | Callable[[list[BaseMessage]], Any]


class ByRole:
    """Answers by role: lines in order, or a function of the messages.

    Args:
        script: Role (`plan`, `patch`, `reflect`, `replan`, `critique`, `score`,
            `signal`, `chat`) → its lines, or a function that makes each.
    """

    def __init__(self, script: Mapping[str, Lines]) -> None:
        self.script = dict(script)
        self.asked: list[str] = []
        """The roles that asked, in order."""
        self._told: dict[str, int] = {}
        self._guard = threading.Lock()

    def __call__(self, messages: list[BaseMessage]) -> Any:
        """Return the next line of the role that asks.

        Raises:
            ScriptEnded: The role has no line left.
        """
        role = role_of(messages)
        with self._guard:
            self.asked.append(role)
            told = self._told.get(role, 0)
            self._told[role] = told + 1
        lines = self.script.get(role, ())
        if callable(lines):
            return lines(messages)
        if told >= len(lines):
            raise ScriptEnded(f"the script has no line {told + 1} for {role!r}")
        return lines[told]


def role_of(messages: Sequence[BaseMessage]) -> str:
    """Return which role of the agent asks."""
    for message in messages:
        first = str(message.text).split("\n", 1)[0]
        if first.startswith(ROLE):
            return first.removeprefix(ROLE).strip()
    return NO_ROLE
