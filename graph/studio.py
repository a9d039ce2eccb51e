"""The graph that `langgraph dev`, LangGraph Studio and Server load; see docs/STUDIO.md.

The server brings checkpointer and store. The environment says the rest:

- `MENDGRAPH_MODEL`: `provider:model`. Without it DeepSeek, when its key is set; else no
  model, and given plans are run.
- `MENDGRAPH_TOOLS`: `module:name` of your own tools: a list, a `Toolkit`, or a mapping
  with arguments of `create_mend_agent` (`tools`, `policies`, `interrupt_on`, …), or a
  function that returns one of these.
- `MENDGRAPH_FILES`, `MENDGRAPH_SQLITE`: the folder and the database the default tools
  read. Without `MENDGRAPH_TOOLS` nothing can be written.
"""

import importlib
import os
from collections.abc import Mapping
from typing import Any

from mendgraph.graph.agent import MendGraph
from mendgraph.graph.build import create_mend_agent
from mendgraph.tools.errors import ConfigError
from mendgraph.tools.shipped.files import file_tools
from mendgraph.tools.shipped.sql_sqlite import sqlite_tools
from mendgraph.tools.shipped.toolkit import Toolkit

DEEPSEEK = "deepseek:deepseek-flash"
FILES = "examples"
"""Folder the default tools read, from where the server was started."""
READERS = ("csv_reader", "file_reader")
SQL_READERS = ("ping", "tables", "describe", "query", "batch_query")
OURS = frozenset({"checkpointer", "store", "persist", "name"})
"""Arguments that are the server's."""


def studio_graph(environment: Mapping[str, str]) -> MendGraph:
    """Build the graph an environment describes.

    Raises:
        ConfigError: `MENDGRAPH_TOOLS` cannot be used.
        ModelSetupError: `MENDGRAPH_MODEL` cannot be opened.
    """
    spec = environment.get("MENDGRAPH_TOOLS")
    given = own_tools(spec) if spec else _shipped(environment)
    keyed = DEEPSEEK if environment.get("DEEPSEEK_API_KEY") else None
    model = environment.get("MENDGRAPH_MODEL") or given.pop("model", None) or keyed
    return create_mend_agent(model, **given)


def _shipped(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return readers only: whoever opens Studio can do no harm."""
    kit = file_tools(environment.get("MENDGRAPH_FILES") or FILES).only(*READERS)
    database = environment.get("MENDGRAPH_SQLITE")
    if database:
        names = [f"sqlite_{name}" for name in SQL_READERS]
        kit += sqlite_tools(database).only(*names)
    return _of_kit(kit)


def own_tools(spec: str) -> dict[str, Any]:
    """Return the arguments of `create_mend_agent` that `module:name` stands for.

    Raises:
        ConfigError: There is no such thing, or it is of no use here.
    """
    module, _, name = spec.partition(":")
    if not module or not name:
        raise ConfigError(f"MENDGRAPH_TOOLS={spec!r}: write module:name")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"MENDGRAPH_TOOLS={spec!r}: {error}") from error
    return _arguments(found() if callable(found) else found, spec)


def _arguments(made: Any, spec: str) -> dict[str, Any]:
    if isinstance(made, Toolkit):
        return _of_kit(made)
    if isinstance(made, Mapping):
        return _of_mapping(made, spec)
    if isinstance(made, list | tuple):
        return {"tools": list(made)}
    raise ConfigError(
        f"MENDGRAPH_TOOLS={spec!r} is a {type(made).__name__}; it must be a list of "
        "tools, a Toolkit, or a mapping with `tools`"
    )


def _of_kit(kit: Toolkit) -> dict[str, Any]:
    return {"tools": kit.tools, "policies": kit.policies}


def _of_mapping(made: Mapping[str, Any], spec: str) -> dict[str, Any]:
    refused = sorted(OURS & made.keys())
    if refused or "tools" not in made:
        why = f"may not set {', '.join(refused)}" if refused else "has no `tools`"
        raise ConfigError(f"MENDGRAPH_TOOLS={spec!r} {why}")
    tools = _arguments(made["tools"], spec)
    policies = {**tools.get("policies", {}), **(made.get("policies") or {})}
    return {**made, **tools, "policies": policies}


graph = studio_graph(os.environ)
