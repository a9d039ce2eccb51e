"""An exploring step: a bounded reason-and-act loop used like a tool (B2, F09).

LangChain's `create_agent` runs the loop. It may only read, only with the tools the step
names, and every call passes the same rules and budgets as any other.
"""

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool

from mendgraph.nodes.permit import ruling
from mendgraph.state.limits import Spent
from mendgraph.state.outcome import TaskStatus
from mendgraph.state.policy import Effect
from mendgraph.tools.call import call_tool
from mendgraph.tools.registry import Entry
from mendgraph.tools.run import Deps, Run

TURNS = 12
"""Model calls one exploring step may make at most."""


async def explore(goal: str, child: Deps, run: Run) -> dict[str, Any]:
    """Explore until the model answers or its slice is used up.

    Raises:
        RuntimeError: There is no model, or LangChain is not installed.
    """
    if child.reasoner is None:
        raise RuntimeError("an exploring step needs a model")
    try:
        from langchain.agents import create_agent
        from langchain.agents.middleware import ModelCallLimitMiddleware
    except ImportError as error:
        raise RuntimeError(
            "an exploring step needs an extra: pip install 'mendgraph[explore]'"
        ) from error
    turns = max(1, min(TURNS, child.limits.model_calls))
    agent: Any = create_agent(
        child.reasoner.models[0],
        tools=[_guarded(entry, child, run) for entry in child.registry],
        middleware=[ModelCallLimitMiddleware(run_limit=turns, exit_behavior="end")],
    )
    state = await agent.ainvoke({"messages": [("user", goal)]})
    return _outcome(state["messages"], turns)


def _guarded(entry: Entry, child: Deps, run: Run) -> BaseTool:
    """Return the tool as the loop may use it: reads the rules allow, counted."""

    async def call(**arguments: Any) -> Any:
        rule = ruling(entry, arguments, child.authorise)
        allowed = rule is None or rule.decision == "allow"
        if entry.policy.effect is not Effect.READ or not allowed:
            return (
                f"{entry.name} may not be called here: only reads that need no approval"
            )
        if run.reserve("executions", "seconds"):
            return "no budget is left; answer with what is known"
        run.spend(executions=1)
        called = await call_tool(
            entry, arguments, timeout_s=entry.policy.timeout_s, clock=child.clock
        )
        return called.facts.message if called.facts else called.value

    return StructuredTool(
        name=entry.name,
        description=entry.tool.description,
        args_schema=entry.schema,
        coroutine=call,
    )


def _outcome(messages: list[Any], turns: int) -> dict[str, Any]:
    asked = [message for message in messages if isinstance(message, AIMessage)]
    last = asked[-1] if asked else AIMessage("")
    used_up = bool(last.tool_calls) or "limits exceeded" in str(last.text)
    usage: list[Any] = [message.usage_metadata or {} for message in asked]
    read = sum(int(each.get("input_tokens", 0)) for each in usage)
    written = sum(int(each.get("output_tokens", 0)) for each in usage)
    calls = len(asked) - (1 if used_up and not last.usage_metadata else 0)
    spent = Spent(
        model_calls=calls,
        prompt_tokens=read,
        completion_tokens=written,
        budgeted_tokens=written,
    )
    return {
        "status": (TaskStatus.PARTIAL if used_up else TaskStatus.DONE).value,
        "answer": str(last.text) or f"no answer within {turns} model calls",
        "done": [],
        "not_done": [],
        "spent": spent.plain(),
    }
