"""What to do about each error of a model: one table, no effects.

A reaction returns the next request to the same model and the wait before it, or None
when this model has had its chances.
"""

from collections.abc import Callable
from typing import Any

from mendgraph.state.failure import Subclass
from mendgraph.state.record import Record
from mendgraph.state.waits import backoff
from mendgraph.tools.models.capabilities import Capability
from mendgraph.tools.models.errors import (
    ModelBlank,
    ModelCapabilityMissing,
    ModelError,
    ModelOutputInvalid,
    ModelRateLimited,
    ModelTruncated,
    ModelUnavailable,
)
from mendgraph.tools.models.factory import thinking_switch


class Patience(Record):
    """How often one model is asked again, by reason."""

    reasks: int = 2
    """After answers that do not fit the schema."""
    blanks: int = 2
    """After answers without text."""
    larger_caps: int = 1
    """After answers cut off at the cap."""
    corrections: int = 4
    """After errors that taught us about the deployment."""
    waits: int = 2
    """After 429, 5xx and network faults."""
    longest_wait_s: float = 10.0
    """A longer wait is not worth it inline: the next model is asked instead."""


class Request(Record):
    """What varies between requests of one question to one model."""

    max_tokens: int | None = None
    most_tokens: int | None = None
    """The cap is never raised over this; None leaves it to the model."""
    thinking: bool | None = None
    json_mode: bool = True
    drop_temperature: bool = False
    problems: tuple[str, ...] = ()
    """Why the last answer was refused; shown to the model instead of the history."""
    reasks: int = 0
    blanks: int = 0
    larger_caps: int = 0
    corrections: int = 0
    waits: int = 0


class Next(Record):
    """The next request and how long to wait before it, in seconds."""

    request: Request
    wait_s: float = 0.0


Reaction = Callable[[Request, Any, Capability, Patience], Next | None]


def react(
    request: Request, error: ModelError, can: Capability, patience: Patience
) -> Next | None:
    """Return the next request to the same model, or None to give it up."""
    reaction = REACTIONS.get(type(error))
    return reaction(request, error, can, patience) if reaction else None


def _ask_again(
    request: Request, error: ModelOutputInvalid, _can: Capability, patience: Patience
) -> Next | None:
    if request.reasks >= patience.reasks:
        return None
    return Next(request=request.but(reasks=request.reasks + 1, problems=error.problems))


def _repeat_blank(
    request: Request, _error: ModelBlank, can: Capability, patience: Patience
) -> Next | None:
    """Repeat once as it is, then without what is known to cause blanks."""
    if request.blanks >= patience.blanks:
        return None
    again = request.but(blanks=request.blanks + 1)
    if request.blanks == 0:
        return Next(request=again)
    quiet = False if can.thinking and request.thinking is None else request.thinking
    return Next(request=again.but(json_mode=False, thinking=quiet))


def _raise_cap(
    request: Request, error: ModelTruncated, can: Capability, patience: Patience
) -> Next | None:
    """Double the cap; text that merely ends too soon counts as an invalid answer."""
    if not error.told:
        problem = ModelOutputInvalid(error.message)
        return _ask_again(request, problem, can, patience)
    most = min(can.output_cap, request.most_tokens or can.output_cap)
    cap = min(2 * (request.max_tokens or most), most)
    no_room = can.max_tokens is None or cap <= (request.max_tokens or 0)
    if request.larger_caps >= patience.larger_caps or no_room:
        return None
    quiet = error.by_reasoning and can.thinking and request.thinking is None
    return Next(
        request=request.but(
            max_tokens=cap,
            larger_caps=request.larger_caps + 1,
            thinking=False if quiet else request.thinking,
        )
    )


def _correct(
    request: Request, error: ModelCapabilityMissing, can: Capability, patience: Patience
) -> Next | None:
    """Repeat without the feature, unless the request did not use it."""
    in_use = uses(request, can, error.feature)
    if request.corrections >= patience.corrections or not in_use:
        return None
    again = request.but(corrections=request.corrections + 1)
    if error.feature == "temperature":
        return Next(request=again.but(drop_temperature=True))
    return Next(request=again)


def _wait(
    request: Request, error: ModelError, _can: Capability, patience: Patience
) -> Next | None:
    if request.waits >= patience.waits:
        return None
    subclass = WAIT_CLASS[type(error)]
    usual = backoff(subclass, error.http_status, request.waits + 1)
    wait = usual if error.retry_after_s is None else error.retry_after_s
    if wait > patience.longest_wait_s:
        return None
    return Next(request=request.but(waits=request.waits + 1), wait_s=wait)


WAIT_CLASS: dict[type[ModelError], Subclass] = {
    ModelRateLimited: Subclass.RATE_LIMITED,
    ModelUnavailable: Subclass.NETWORK_ERROR,
}
REACTIONS: dict[type[ModelError], Reaction] = {
    ModelOutputInvalid: _ask_again,
    ModelBlank: _repeat_blank,
    ModelTruncated: _raise_cap,
    ModelCapabilityMissing: _correct,
    ModelRateLimited: _wait,
    ModelUnavailable: _wait,
}
"""Errors not named here end the tries with this model at once."""


def options(
    request: Request, can: Capability, extra_body: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the call's keyword arguments: only what the model is known to take."""
    chosen: dict[str, Any] = {}
    if request.json_mode and can.json_mode:
        chosen["response_format"] = {"type": "json_object"}
    if request.max_tokens is not None and can.max_tokens is not None:
        chosen[can.max_tokens] = min(request.max_tokens, can.output_cap)
    if request.thinking is not None and can.thinking:
        switch = thinking_switch(on=request.thinking)
        chosen["extra_body"] = {**(extra_body or {}), "thinking": switch}
    if request.drop_temperature:
        chosen["temperature"] = None
    return chosen


def uses(request: Request, can: Capability, feature: str) -> bool:
    """Say whether a request with these capabilities uses a feature."""
    chosen = options(request, can, None)
    carriers = {
        "json_mode": "response_format",
        "json_schema": "response_format",
        "max_tokens": can.max_tokens,
        "output_cap": can.max_tokens,
        "thinking": "extra_body",
    }
    if feature == "temperature":
        return not request.drop_temperature
    return carriers.get(feature) in chosen
