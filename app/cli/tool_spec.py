"""Finding tools: `module:name` is a list, a Toolkit, a mapping or what makes one."""

import asyncio
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool

from mendgraph.cli.faults import WrongUse
from mendgraph.graph.build import create_mend_agent
from mendgraph.tools.shipped.toolkit import Toolkit

SHAPES = (
    "a list of tools, a Toolkit, a mapping with `tools` (and `policies`, "
    "`interrupt_on`, …), or a function without arguments that returns one of these"
)
OURS = frozenset({"checkpointer", "store", "persist", "name"})
"""Arguments of `create_mend_agent` that the command line sets itself."""
KEPT_APART = frozenset({"tools", "policies", "authorise", "interrupt_on"})


@dataclass(frozen=True)
class ToolSet:
    """What a tools module brings."""

    tools: tuple[Any, ...] = ()
    policies: Mapping[str, Any] = field(default_factory=dict)
    authorise: tuple[Any, ...] = ()
    interrupt_on: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other arguments of `create_mend_agent`, such as a chat model or limits."""

    def __add__(self, other: "ToolSet") -> "ToolSet":
        """Return both together."""
        return ToolSet(
            tools=self.tools + other.tools,
            policies={**self.policies, **other.policies},
            authorise=self.authorise + other.authorise,
            interrupt_on={**self.interrupt_on, **other.interrupt_on},
            more={**self.more, **other.more},
        )


def load_tools(specs: Iterable[str], folder: Path) -> ToolSet:
    """Import every spec, with the folder first on the module path.

    Raises:
        WrongUse: A module does not import, or a name is not there or not usable.
    """
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return reduce(ToolSet.__add__, (_load(spec, folder) for spec in specs), ToolSet())


def _load(spec: str, folder: Path) -> ToolSet:
    module_name, colon, name = spec.partition(":")
    if not (module_name and colon and name):
        raise WrongUse(f"--tools {spec!r}: write module:name, such as my_tools:toolkit")
    module = _module(module_name, spec, folder)
    if not hasattr(module, name):
        public = [n for n in vars(module) if not n.startswith("_")]
        shown = ", ".join(public[-12:]) or "nothing"
        raise WrongUse(f"--tools {spec!r}: {module_name} has no {name!r}; has {shown}")
    return _as_tool_set(_made(getattr(module, name), spec), spec)


def _module(name: str, spec: str, folder: Path) -> Any:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        where = traceback.extract_tb(error.__traceback__)
        own = [each for each in where if "importlib" not in each.filename]
        place = f" ({own[-1].filename}, line {own[-1].lineno})" if own[1:] else ""
        raise WrongUse(
            f"--tools {spec!r}: module {name!r} does not import: "
            f"{type(error).__name__}: {error}{place}. Modules are looked for in "
            f"{folder} first."
        ) from error


def _made(found: Any, spec: str) -> Any:
    """Call a factory; a coroutine is awaited."""
    is_ready = isinstance(found, BaseTool | Toolkit | Mapping | list | tuple)
    if is_ready or not callable(found):
        return found
    return _called(found, spec)


def _called(factory: Callable[[], Any], spec: str) -> Any:
    try:
        inspect.signature(factory).bind()
    except TypeError as error:
        raise WrongUse(
            f"--tools {spec!r} needs arguments; name {SHAPES}. A single function "
            "becomes a tool when it is in a list."
        ) from error
    try:
        made = factory()
        return asyncio.run(_awaited(made)) if inspect.isawaitable(made) else made
    except Exception as error:
        raise WrongUse(
            f"--tools {spec!r} failed: {type(error).__name__}: {error}"
        ) from error


async def _awaited(made: Any) -> Any:
    return await made


def _as_tool_set(found: Any, spec: str) -> ToolSet:
    if isinstance(found, BaseTool):
        return ToolSet((found,))
    if isinstance(found, Toolkit):
        return ToolSet(found.tools, found.policies)
    if isinstance(found, list | tuple):
        return ToolSet(tuple(found))
    if isinstance(found, Mapping) and "tools" in found:
        return _from_mapping(found, spec)
    raise WrongUse(f"--tools {spec!r} is {type(found).__name__}; name {SHAPES}")


def _from_mapping(found: Mapping[str, Any], spec: str) -> ToolSet:
    allowed = set(inspect.signature(create_mend_agent).parameters) - OURS
    if refused := sorted(set(found) - allowed):
        raise WrongUse(f"--tools {spec!r} may not set {', '.join(refused)}")
    inner = _as_tool_set(_made(found["tools"], spec), spec)
    return inner + ToolSet(
        policies=found.get("policies") or {},
        authorise=tuple(found.get("authorise") or ()),
        interrupt_on=found.get("interrupt_on") or {},
        more={k: v for k, v in found.items() if k not in KEPT_APART},
    )
