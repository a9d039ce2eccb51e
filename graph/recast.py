"""A compiled graph as a subclass of ours, with all that LangGraph compiled."""

from typing import Any, TypeVar

from langgraph.graph.state import CompiledStateGraph

Graph = TypeVar("Graph", bound=CompiledStateGraph[Any, Any, Any, Any])


def recast(
    kind: type[Graph], compiled: CompiledStateGraph[Any, Any, Any, Any], **more: Any
) -> Graph:
    """Return a compiled graph as another class of compiled graph.

    Args:
        kind: The class wanted.
        compiled: The graph.
        more: Further arguments of the class.
    """
    parts = {k: v for k, v in compiled.__dict__.items() if k != "__orig_class__"}
    return kind(**more, **parts)
