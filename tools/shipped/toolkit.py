"""A set of LangChain tools together with the policies that make them safe to call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from mendgraph.state.policy import ToolPolicy


@dataclass(frozen=True)
class Toolkit:
    """Tools and, for each tool name, its policy."""

    tools: tuple[BaseTool, ...] = ()
    policies: Mapping[str, ToolPolicy] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse names that are used twice and policies without a tool."""
        names = [tool.name for tool in self.tools]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"tool names used twice: {', '.join(twice)}")
        lost = sorted(set(self.policies) - set(names))
        if lost:
            raise ValueError(f"policies without a tool: {', '.join(lost)}")

    def __add__(self, other: "Toolkit") -> "Toolkit":
        """Return both sets together; a name in both is refused."""
        return Toolkit(self.tools + other.tools, {**self.policies, **other.policies})

    def __getitem__(self, name: str) -> BaseTool:
        """Return the tool of that name, or raise `KeyError` with the known names."""
        known = {tool.name: tool for tool in self.tools}
        if name not in known:
            raise KeyError(f"no tool {name!r}; there are {', '.join(sorted(known))}")
        return known[name]

    def only(self, *names: str) -> "Toolkit":
        """Return the tools of these names, in this order, with their policies."""
        policies = {name: self.policies[name] for name in names}
        return Toolkit(tuple(self[name] for name in names), policies)


def make_tool(function: Callable[..., Any], name: str) -> StructuredTool:
    """Wrap a function as a tool: its docstring describes it, its annotations check it.

    A synchronous function is run in a worker thread by `ainvoke`, so a slow call never
    blocks an event loop.
    """
    return StructuredTool.from_function(function, name=name)
