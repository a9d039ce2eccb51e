"""Every agent that is compared, behind one call; each adapter is thin."""

from peers.bare import bare_langgraph, null_agent
from peers.base import Agent, Setup
from peers.compiler import llm_compiler
from peers.deep import deep_agent
from peers.mend import mend_agent
from peers.plan_execute import plan_and_execute
from peers.react import react_best, react_default

PEERS: dict[str, Agent] = {
    "mendgraph": mend_agent,
    "create_agent best": react_best,
    "create_agent default": react_default,
    "deepagents": deep_agent,
    "plan-and-execute": plan_and_execute,
    "LLMCompiler-style": llm_compiler,
    "bare LangGraph": bare_langgraph,
    "null": null_agent,
}
"""Name → how it carries out a task; mendgraph first, the null agent last."""

__all__ = ["PEERS", "Agent", "Setup"]
