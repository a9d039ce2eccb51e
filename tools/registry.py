"""The tools an agent has, each with its policy and its argument schema.

Tools are LangChain tools or plain callables. What nobody annotated counts as a
non-idempotent write.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any, Literal

from jsonschema import Draft202012Validator
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ValidationError

from mendgraph.state.policy import ASSUMED_READ, UNKNOWN_TOOL, ToolPolicy
from mendgraph.tools.bindings import templates
from mendgraph.tools.contained import contained
from mendgraph.tools.errors import ConfigError, UnknownTool
from mendgraph.tools.policy_check import policy_problems, readable

ToolLike = BaseTool | Callable[..., Any]


class Entry:
    """One registered tool."""

    def __init__(self, tool: BaseTool, policy: ToolPolicy) -> None:
        self.tool = contained(tool)
        self.policy = policy
        self.name = tool.name

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, without injected ones."""
        schema: Any = self.tool.tool_call_schema
        return schema if isinstance(schema, dict) else dict(schema.model_json_schema())

    @property
    def arguments(self) -> frozenset[str] | None:
        """Names of all arguments, injected ones too; None when any name may be."""
        if self.schema.get("additionalProperties"):
            return None
        return frozenset((*self.schema.get("properties", ()), *self._fields))

    def not_given(self) -> tuple[str, ...]:
        """Names of arguments that neither a plan nor the policy can fill."""
        shown = (*self.schema.get("properties", ()), self.policy.idempotency_arg)
        return tuple(
            name
            for name, field in self._fields.items()
            if field.is_required() and name not in shown
        )

    @cached_property
    def _fields(self) -> Mapping[str, Any]:
        known: Any = self.tool.args_schema
        is_model = isinstance(known, type) and issubclass(known, BaseModel)
        return known.model_fields if is_model else {}

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
    _check(given, entries)
    return Registry(entries.values())


def _policy(name: str, value: ToolPolicy | Mapping[str, Any]) -> ToolPolicy:
    if isinstance(value, ToolPolicy):
        return value
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"policy of tool {name!r} is {type(value).__name__}; give a ToolPolicy or "
            'its fields, such as {"effect": "read"}'
        )
    try:
        return ToolPolicy.model_validate(dict(value))
    except ValidationError as error:
        why = readable(error, ToolPolicy)
        raise ConfigError(f"policy of tool {name!r}: {why}") from error


def _check(policies: Mapping[str, ToolPolicy], known: Mapping[str, Entry]) -> None:
    for name in policies:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise ConfigError(
                f"a policy is given for {name!r}, which is no tool here; there are: "
                f"{listed}"
            )
    problems = [
        f"policy of tool {entry.name!r}: {problem}"
        for entry in known.values()
        for problem in policy_problems(entry, known)
    ]
    problems += [
        INJECTED.format(e.name, a) for e in known.values() for a in e.not_given()
    ]
    if problems:
        raise ConfigError("\n".join(problems))


INJECTED = (
    "tool {!r} wants {!r} injected as LangGraph's ToolNode does, which does not run "
    "here; give it a default, or take `config: RunnableConfig` and use get_store and "
    "get_config of langgraph.config in the tool"
)


def _as_tool(tool: Any) -> BaseTool:
    if isinstance(tool, BaseTool):
        return tool
    if not callable(tool):
        raise ConfigError(f"{tool!r} is neither a LangChain tool nor a callable")
    name = getattr(tool, "__name__", type(tool).__name__)
    description = inspect.getdoc(tool) or f"The function {name}."
    routine = tool if inspect.isroutine(tool) or isinstance(tool, type) else _call(tool)
    is_async = inspect.iscoroutinefunction(routine)
    try:
        return StructuredTool.from_function(
            func=None if is_async else routine,
            coroutine=routine if is_async else None,
            name=name,
            description=description,
        )
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(f"{name!r} cannot be made a tool: {error}") from error


def _call(tool: Any) -> Any:
    """Return what calling an object calls; a partial has no types to read."""
    if isinstance(tool, partial):
        raise ConfigError(
            f"{tool!r} has no signature of its own; write a function that calls it"
        )
    return tool.__call__
