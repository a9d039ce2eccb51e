"""Arguments of create_mend_agent judged at once, each with what to give instead."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from pydantic import ValidationError

from mendgraph.state.limits import Limits
from mendgraph.tools.errors import ConfigError
from mendgraph.tools.policy_check import readable

PATHS = (1, 2, 3)
DATABASES = ("postgresql://", "postgres://")


class Shape(NamedTuple):
    """What an argument may be."""

    name: str
    kinds: tuple[type, ...]
    remedy: str


SHAPES = (
    Shape(
        "model",
        (str, BaseChatModel),
        "a name such as 'deepseek:deepseek-flash', a LangChain chat model, or None",
    ),
    Shape("policies", (Mapping,), "a mapping of tool name to ToolPolicy"),
    Shape("interrupt_on", (Mapping,), "a mapping such as {'pay': True}"),
    Shape("limits", (Limits, Mapping), "Limits(...) or a mapping of its fields"),
    Shape("persist", (str, Path), "a folder or a postgresql:// address"),
    Shape("checkpointer", (BaseCheckpointSaver, bool), "a LangGraph checkpointer"),
    Shape("store", (BaseStore,), "a LangGraph store, such as InMemoryStore()"),
)


def check_given(tools: Any, assume: Any, paths: Any, given: Mapping[str, Any]) -> None:
    """See that the arguments can be what they are for.

    Args:
        tools: Tools of the agent.
        assume: What tools without a policy are taken for.
        paths: Candidate plans.
        given: The arguments named in `SHAPES`; None is for all of them a default.

    Raises:
        ConfigError: Some cannot; each is named with what to give.
    """
    problems = [
        *_misshapen(given),
        *_tools(tools),
        *place_problems(given.get("persist")),
    ]
    if assume not in {"write", "read"}:
        problems.append(f"assume={assume!r}: give 'write' or 'read'")
    if paths not in PATHS:
        problems.append(f"paths={paths!r}: give 1, 2 or 3")
    if problems:
        raise ConfigError("\n".join(problems))


def _misshapen(given: Mapping[str, Any]) -> Iterator[str]:
    for name, kinds, remedy in SHAPES:
        value = given.get(name)
        if value is not None and not isinstance(value, kinds):
            yield f"{name} is {type(value).__name__}; give {remedy}"
    if given.get("persist") and (given.get("checkpointer") or given.get("store")):
        yield "give either persist= or checkpointer=/store=, not both"


def _tools(tools: Any) -> Iterator[str]:
    single = isinstance(tools, str | BaseTool) or not isinstance(tools, Iterable)
    if single:
        kind = type(tools).__name__
        yield f"tools is {kind}; give a list: tools=[look_up], or tools=kit.tools"


def place_problems(persist: str | Path | None) -> Iterator[str]:
    """Yield why `persist` names no place; an address must not become a folder."""
    place = "." if persist is None else str(persist)
    if not place.strip():
        yield "persist is empty; give a folder or a postgresql:// address"
    if "\0" in place:
        yield "persist has a null byte; give a folder or a postgresql:// address"
    scheme, colon, _ = place.partition("://")
    if colon and not place.startswith(DATABASES):
        yield f"persist cannot be a {scheme}:// address; give a folder or postgresql://"


def limits_of(given: Limits | Mapping[str, Any] | None) -> Limits:
    """Return the allowances, read from their fields where a mapping is given.

    Raises:
        ConfigError: A field is unknown or out of its range.
    """
    if isinstance(given, Limits):
        return given
    try:
        return Limits.model_validate(dict(given or {}))
    except ValidationError as error:
        raise ConfigError(f"limits: {readable(error, Limits)}") from error
