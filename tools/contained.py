"""Tools whose code would end more than their call, such as by `sys.exit`.

A SystemExit ends the event loop that all steps share, and a StopIteration cannot pass
a future, so who awaits it waits for ever. Both become plain errors of the tool here.
On the loop a KeyboardInterrupt and a cancellation from outside pass; on a thread of its
own a tool can only have raised them itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial, wraps
from typing import Any, cast

from langchain_core.tools import BaseTool, StructuredTool, Tool


class ToolLeft(RuntimeError):
    """A tool raised what would end more than its call."""


def contained(tool: BaseTool) -> BaseTool:
    """Return the tool with its functions contained; tools of other classes as given.

    Those are contained when they are called (`guarded`).
    """
    if not isinstance(tool, StructuredTool | Tool):
        return tool
    changes = {
        "func": returned(tool.func) if tool.func else None,
        "coroutine": awaited(tool.coroutine) if tool.coroutine else None,
    }
    return tool.model_copy(update=changes)


class _Guarded:
    """A tool of a class of its own as LangChain's methods see it.

    They run `_arun` as a task of its own, and what that raises ends the loop before any
    caller sees it. The tool is not copied, since it may keep something in itself.
    """

    def __init__(self, tool: BaseTool) -> None:
        own: Any = type(tool)
        vars(self).update(
            _guarded=tool,
            _arun=awaited(tool._arun),  # noqa: SLF001  what LangChain awaits
            arun=partial(own.arun, self),
            ainvoke=partial(own.ainvoke, self),
        )

    @property  # type: ignore[misc]  # nothing sets it
    def __class__(self) -> type:
        """The tool's class, so `isinstance` and `super()` hold in its methods."""
        return type(vars(self)["_guarded"])

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_guarded"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_guarded"], name, value)


def guarded(tool: BaseTool) -> BaseTool:
    """Return an asynchronous tool with its coroutine contained, to be awaited."""
    if isinstance(tool, StructuredTool | Tool):
        return tool  # contained when it was registered
    return cast("BaseTool", _Guarded(tool))


def returned(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a synchronous function that raises nothing but plain errors."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            value = function(*args, **kwargs)
            return list(value) if isinstance(value, Iterator) else value
        except StopIteration as error:
            raise ToolLeft(_words(error)) from error
        except Exception:
            raise
        except BaseException as error:
            raise ToolLeft(_words(error)) from error

    return call


def awaited(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return a coroutine function that cannot end the loop it runs on."""

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return await function(*args, **kwargs)
        except SystemExit as error:
            raise ToolLeft(_words(error)) from error
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            raise ToolLeft("the tool cancelled itself") from error

    return call


def _is_cancelled() -> bool:
    """Tell whether a cancellation came from outside, as from a timeout or Ctrl-C."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _words(error: BaseException) -> str:
    return f"the tool raised {error!r}"
