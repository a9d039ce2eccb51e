"""The tools an agent has, each with its policy and its argument schema.

Tools are LangChain tools or plain callables. What nobody annotated counts as a
non-idempotent write.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

from jsonschema import Draft202012Validator
from langchain_core.tools import BaseTool, StructuredTool

from mendgraph.state.policy import ASSUMED_READ, UNKNOWN_TOOL, ToolPolicy
from mendgraph.tools.bindings import templates
from mendgraph.tools.errors import ConfigError, UnknownTool

ToolLike = BaseTool | Callable[..., Any]


class Entry:
    """One registered tool."""

    def __init__(self, tool: BaseTool, policy: ToolPolicy) -> None:
        self.tool = tool
        self.policy = policy
        self.name = tool.name

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, without injected ones."""
        schema: Any = self.tool.tool_call_schema
        return schema if isinstance(schema, dict) else dict(schema.model_json_schema())

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Arguments that have a default, with it."""
        known = self.schema.get("properties") or {}
        return {
            name: each["default"] for name, each in known.items() if "default" in each
        }

    @cached_property
    def _validator(self) -> Draft202012Validator:
        closed = {"additionalProperties": False, **self.schema}
        return Draft202012Validator(closed)

    @property
    def tool_class(self) -> str | None:
        """The class lessons generalise to."""
        return self.policy.tool_class

    def problems(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with rendered arguments, a sentence each."""
        given = {k: v for k, v in arguments.items() if k != self.policy.idempotency_arg}
        return [
            _sentence(self.name, error)
            for error in self._validator.iter_errors(given)
            if not self._is_own_key(error)
        ]

    def template_problems(self, inputs: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with input templates; bound values are not judged."""
        return [
            _sentence(self.name, error)
            for error in self._validator.iter_errors(dict(inputs))
            if not self._is_own_key(error) and not _is_bound(error.instance)
        ]

    def _is_own_key(self, error: Any) -> bool:
        missing = error.validator == "required"
        return missing and f"'{self.policy.idempotency_arg}'" in error.message


def _is_bound(value: Any) -> bool:
    return isinstance(value, str) and next(templates(value), None) is not None


def _sentence(tool: str, error: Any) -> str:
    path = ".".join(str(part) for part in error.absolute_path)
    where = f"argument {path!r} of tool {tool!r}" if path else f"tool {tool!r}"
    return f"{where}: {str(error.message)[:200]}"


SUBTASK = "subtask"
"""Reserved name of the tool a step with a sub-task stands for."""


def _not_called(goal: str, tools: list[str] | None = None) -> None:
    """Carry out a task of its own with fewer tools and a slice of every budget."""
    raise NotImplementedError("sub-tasks are run by the executor")


SUBTASK_ENTRY = Entry(
    StructuredTool.from_function(_not_called, name=SUBTASK),
    ASSUMED_READ.model_copy(
        update={"annotated": True, "may_be_empty": True, "timeout_s": 3_600.0}
    ),
)


class Registry:
    """Tools by name; narrowing gives a registry with fewer, never more."""

    def __init__(self, entries: Iterable[Entry], helpers: Iterable[Entry] = ()) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._helpers = {entry.name: entry for entry in helpers}
        """Tools only policies may lead to: confirming, undoing, falling back."""

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __iter__(self) -> Any:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tools."""
        return tuple(self._entries)

    def get(self, name: str) -> Entry:
        """Return a tool.

        Raises:
            UnknownTool: No tool has this name.
        """
        if name == SUBTASK:
            return SUBTASK_ENTRY
        if name not in self._entries and name in self._helpers:
            return self._helpers[name]
        if name not in self._entries:
            known = ", ".join(sorted(self._entries)) or "none"
            raise UnknownTool(f"no tool is called {name!r}; there are: {known}")
        return self._entries[name]

    def narrowed(self, names: Iterable[str]) -> "Registry":
        """Return a registry of those tools, of these, that are named.

        What their policies name stays at hand for the policies, not for plans.
        """
        wanted = set(names)
        return Registry(
            (entry for entry in self if entry.name in wanted),
            (*self._helpers.values(), *self),
        )

    def unannotated(self) -> tuple[str, ...]:
        """Names of tools whose policy is only an assumption."""
        return tuple(entry.name for entry in self if not entry.policy.annotated)


def make_registry(
    tools: Iterable[ToolLike],
    policies: Mapping[str, ToolPolicy | Mapping[str, Any]] | None = None,
    assume: Literal["write", "read"] = "write",
) -> Registry:
    """Register tools with their policies.

    Args:
        tools: LangChain tools or callables with a docstring and type hints.
        policies: Tool name → policy, or its fields.
        assume: What a tool without a policy is taken for.

    Raises:
        ConfigError: Two tools share a name, a policy is for no tool or names no tool,
            a callable cannot be a tool.
    """
    default = ASSUMED_READ if assume == "read" else UNKNOWN_TOOL
    given = {name: _policy(name, value) for name, value in (policies or {}).items()}
    entries: dict[str, Entry] = {}
    for tool in map(_as_tool, tools):
        if tool.name == SUBTASK:
            raise ConfigError(f"the tool name {SUBTASK!r} is reserved; rename it")
        if tool.name in entries:
            raise ConfigError(f"two tools are called {tool.name!r}; rename one")
        entries[tool.name] = Entry(tool, given.get(tool.name, default))
    _check_policies(given, entries)
    return Registry(entries.values())


def _policy(name: str, value: ToolPolicy | Mapping[str, Any]) -> ToolPolicy:
    if isinstance(value, ToolPolicy):
        return value
    try:
        return ToolPolicy.model_validate(dict(value))
    except ValueError as error:
        raise ConfigError(f"policy of tool {name!r}: {error}") from error


def _check_policies(
    policies: Mapping[str, ToolPolicy], known: Mapping[str, Any]
) -> None:
    for name, policy in policies.items():
        if name not in known:
            raise ConfigError(f"a policy is given for {name!r}, which is no tool here")
        for role, call in (
            ("confirm_with", policy.confirm_with),
            ("compensate_with", policy.compensate_with),
        ):
            if call and call.tool not in known:
                raise ConfigError(f"{role} of {name!r} names no tool: {call.tool!r}")
        if policy.fallback and policy.fallback not in known:
            raise ConfigError(
                f"fallback of {name!r} names no tool: {policy.fallback!r}"
            )


def _as_tool(tool: Any) -> BaseTool:
    if isinstance(tool, BaseTool):
        return tool
    if not callable(tool):
        raise ConfigError(f"{tool!r} is neither a LangChain tool nor a callable")
    name = getattr(tool, "__name__", type(tool).__name__)
    description = inspect.getdoc(tool) or f"The function {name}."
    try:
        if inspect.iscoroutinefunction(tool):
            return StructuredTool.from_function(
                coroutine=tool, name=name, description=description
            )
        return StructuredTool.from_function(tool, name=name, description=description)
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(f"{name!r} cannot be made a tool: {error}") from error
