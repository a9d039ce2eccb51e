"""How a thread was run, kept beside it, so that `resume` needs nothing but its id."""

from collections.abc import Iterable

from langgraph.store.base import BaseStore
from pydantic import Field, ValidationError

from mendgraph.cli.faults import WrongUse
from mendgraph.state.limits import Limits
from mendgraph.state.record import Record

ROOM = ("mendgraph", "cli")
PAGE = 1_000


class ThreadSettings(Record):
    """What was given to `run`; keys of models are never among it."""

    tools: tuple[str, ...] = ()
    folder: str = "."
    """Where tool modules are looked for first."""
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    interrupt_on: tuple[str, ...] = ()
    limits: dict[str, float] = Field(default_factory=dict)
    task: str = ""
    started_at: float = 0.0
    """Seconds since the epoch."""


def remember(store: BaseStore, thread: str, settings: ThreadSettings) -> None:
    """Keep the settings of a thread."""
    store.put(ROOM, thread, settings.plain(), index=False)


def recall(store: BaseStore, thread: str) -> ThreadSettings | None:
    """Return the settings of a thread; None when it was not run from here.

    Raises:
        WrongUse: Another version wrote them.
    """
    item = store.get(ROOM, thread)
    if item is None:
        return None
    try:
        return ThreadSettings.model_validate(item.value)
    except ValidationError as error:
        raise WrongUse(
            f"the settings of thread {thread} were written by another version of "
            "mendgraph; resume it with that version"
        ) from error


def remembered(store: BaseStore) -> dict[str, float]:
    """Return the threads that were run from here, and when (seconds since 1970)."""
    found: dict[str, float] = {}
    while True:
        page = store.search(ROOM, limit=PAGE, offset=len(found))
        found |= {item.key: float(item.value.get("started_at") or 0) for item in page}
        if len(page) < PAGE:
            return found


def read_limits(given: Iterable[str]) -> dict[str, float]:
    """Read `name=value` pairs.

    Raises:
        WrongUse: A name is no limit, or a value does not fit it.
    """
    pairs = dict(map(_pair, given))
    try:
        Limits.model_validate(pairs)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = str(fault["loc"][0])
        raise WrongUse(f"--limit {name}={pairs[name]:g}: {fault['msg']}") from error
    return pairs


def _pair(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    if name.strip() not in Limits.model_fields:
        known = ", ".join(Limits.model_fields)
        raise WrongUse(f"--limit {text!r}: write name=value with one of: {known}")
    try:
        return name.strip(), float(value)
    except ValueError as error:
        raise WrongUse(f"--limit {text!r}: {value!r} is no number") from error
