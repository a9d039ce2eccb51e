"""Tools whose code would end more than their call, such as by `sys.exit`.

A SystemExit ends the event loop that all steps share, and a StopIteration cannot pass
a future, so who awaits it waits for ever. Both become plain errors of the tool here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import wraps
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, Tool


class ToolLeft(RuntimeError):
    """A tool raised what would end more than its call."""


def contained(tool: BaseTool) -> BaseTool:
    """Return the tool with its functions contained; tools of other classes as given."""
    if not isinstance(tool, StructuredTool | Tool):
        return tool
    changes = {
        "func": _contained(tool.func) if tool.func else None,
        "coroutine": _awaited(tool.coroutine) if tool.coroutine else None,
    }
    return tool.model_copy(update=changes)


def _contained(function: Callable[..., Any]) -> Callable[..., Any]:
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


def _awaited(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
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
