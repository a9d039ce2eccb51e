"""A tool that fails on purpose, by attempt number: a double for tests and rehearsals.

It wraps a real function and says in its description that its faults are injected.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from inspect import getdoc, iscoroutine
from typing import Any

import httpx
from langchain_core.tools import BaseTool, create_schema_from_function
from pydantic import PrivateAttr

NOTE = "faulty double: its faults are injected"


@dataclass
class Attempt:
    """One call as a fault sees it."""

    number: int
    """From 1."""
    arguments: dict[str, Any]
    real: Callable[[], Awaitable[Any]]
    """Makes the real call."""
    before: list[Any] = field(default_factory=list)
    """What earlier real calls gave."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


Fault = Callable[[Attempt], Awaitable[Any]]


def raising(error: BaseException, *, after: bool = False) -> Fault:
    """Raise an error instead of the call, or after it (the answer is lost)."""

    async def fault(attempt: Attempt) -> Any:
        if after:
            await attempt.real()
        raise error

    return fault


def http_status(
    status: int,
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    *,
    after: bool = False,
) -> Fault:
    """Raise what httpx raises for a status, with or without the call being made."""
    request = httpx.Request("POST", "http://faulty.invalid/")
    response = httpx.Response(
        status,
        headers=dict(headers or {}),
        text=json.dumps(body or {"error": {"message": f"injected {status}"}}),
        request=request,
    )
    text = f"injected HTTP {status}"
    error = httpx.HTTPStatusError(text, request=request, response=response)
    return raising(error, after=after)


def saying(value: Any) -> Fault:
    """Say something and do nothing: empty, of a wrong type, or `all is well`."""

    async def fault(_attempt: Attempt) -> Any:
        return value

    return fault


def empty() -> Fault:
    """Return no rows without looking."""
    return saying([])


def wrong_type() -> Fault:
    """Return text where the function gives something else."""
    return saying("injected: not what was asked for")


def silent(said: Any = None) -> Fault:
    """Report success and do nothing."""
    return saying({"status": "ok"} if said is None else said)


def truncated(share: float = 0.5) -> Fault:
    """Make the call and return the first part of what it gave, 0..1 of it."""

    async def fault(attempt: Attempt) -> Any:
        value = await attempt.real()
        whole = value if isinstance(value, str | list) else json.dumps(value)
        return whole[: int(len(whole) * share)]

    return fault


def stale() -> Fault:
    """Return what the first call gave; the first call itself is real."""

    async def fault(attempt: Attempt) -> Any:
        return attempt.before[0] if attempt.before else await attempt.real()

    return fault


def delayed(seconds: float) -> Fault:
    """Make the call and answer late."""

    async def fault(attempt: Attempt) -> Any:
        value = await attempt.real()
        await attempt.sleep(seconds)
        return value

    return fault


class FaultyTool(BaseTool):
    """A function as a tool whose calls fail as told.

    Args:
        function: Does the real work; plain or a coroutine function.
        faults: Number of the attempt (from 1) → fault; the others are real.
        sleep: Waits that many seconds, for delays.
    """

    name: str = ""
    description: str = ""
    function: Callable[..., Any]
    faults: Mapping[int, Fault] = {}
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _calls: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _given: list[Any] = PrivateAttr(default_factory=list)

    def __init__(
        self,
        function: Callable[..., Any],
        faults: Mapping[int, Fault] | None = None,
        **fields: Any,
    ) -> None:
        name = getattr(function, "__name__", "faulty")
        told = {
            "name": name,
            "description": f"{getdoc(function) or name} ({NOTE})",
            "args_schema": create_schema_from_function(name, function),
            **fields,
        }
        super().__init__(function=function, faults=faults or {}, **told)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The arguments of every call, failed ones too, in order."""
        return self._calls

    @property
    def done(self) -> int:
        """How often the function itself ran to its end."""
        return len(self._given)

    def _run(self, **arguments: Any) -> Any:
        return asyncio.run(self._arun(**arguments))

    async def _arun(self, **arguments: Any) -> Any:
        self._calls.append(dict(arguments))
        number = len(self._calls)

        async def real() -> Any:
            value = self.function(**arguments)
            value = await value if iscoroutine(value) else value
            self._given.append(value)
            return value

        fault = self.faults.get(number)
        if fault is None:
            return await real()
        attempt = Attempt(number, arguments, real, list(self._given), self.sleep)
        return await fault(attempt)
