"""The one place where exceptions become a message and an exit code.

Kinds are named by text, so that looking one up imports nothing.
"""

import os
import traceback
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import typer

from mendgraph.cli.exits import Code
from mendgraph.cli.output import print_json, say_error

Param = ParamSpec("Param")
Out = TypeVar("Out")
DEBUG = "MENDGRAPH_DEBUG"


class WrongUse(Exception):
    """A command was used in a way that cannot work; the text names the remedy."""


class Told(NamedTuple):
    """What is said about an exception."""

    message: str
    code: Code


KINDS: dict[str, tuple[str, Code]] = {
    "mendgraph.cli.faults.WrongUse": ("{error}", Code.WRONG_USE),
    "mendgraph.state.algebra.PlanError": ("{error}", Code.WRONG_USE),
    "mendgraph.state.interrupts.AnswerError": (
        "{error}\nThe question stays open; nothing was run.",
        Code.WRONG_USE,
    ),
    "mendgraph.tools.errors.MendError": ("{error}", Code.WRONG_USE),
    "mendgraph.tools.cel.RuleError": ("{error}", Code.WRONG_USE),
    "mendgraph.tools.ledger.LedgerError": ("{error}", Code.WRONG_USE),
    "mendgraph.tools.lease.LeaseError": ("{error}", Code.WRONG_USE),
    "mendgraph.tools.models.errors.ModelError": ("{error}", Code.WRONG_USE),
    "mendgraph.tools.persist.PersistError": ("{error}", Code.WRONG_USE),
    "builtins.KeyboardInterrupt": ("{error}", Code.INTERRUPTED),
    "builtins.BrokenPipeError": ("", Code.UNFINISHED),
    "builtins.PermissionError": (
        "{error.filename}: {error.strerror}; make it usable for this user",
        Code.WRONG_USE,
    ),
}
"""Qualified name of a class or of one it derives from → message, exit code."""

UNKNOWN = (
    "unexpected {kind}: {error}\nThis is a fault of mendgraph or of the tools module, "
    f"not of your command. Set {DEBUG}=1 to see where it comes from."
)


def tell(error: BaseException) -> Told:
    """Return what to say about an exception, by the nearest class that is known."""
    for kind in type(error).__mro__:
        known = KINDS.get(f"{kind.__module__}.{kind.__qualname__}")
        if known:
            return Told(known[0].format(error=error), known[1])
    message = UNKNOWN.format(kind=type(error).__name__, error=error)
    return Told(message, Code.FAULT)


def guarded(command: Callable[Param, Out]) -> Callable[Param, Out]:
    """Wrap a command so that what it raises is told in one message."""

    @wraps(command)
    def run(*args: Param.args, **kwargs: Param.kwargs) -> Out:
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            told = tell(error)
            _say(told, kwargs)
            if os.environ.get(DEBUG):
                traceback.print_exception(error)
            raise typer.Exit(told.code) from error

    return run


def _say(told: Told, options: Mapping[str, Any]) -> None:
    if told.message:
        say_error(told.message)
    if options.get("as_json"):
        print_json({"error": told.message, "exit_code": told.code.value})
