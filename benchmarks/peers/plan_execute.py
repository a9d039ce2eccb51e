"""Plan-and-execute after the LangGraph tutorial: plan, one agent a step, replan.

The replanner is asked after every step, as there; the agent of a step is create_agent
with errors as text.
"""

import json
import operator
from typing import Annotated, Any, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware
from langgraph.graph import END, START, StateGraph

from peers.base import Said, Setup
from peers.react import PROMPT

PLAN = (
    "For the given objective, come up with a simple step by step plan. This plan should"
    " involve individual tasks, that if executed correctly will yield the correct"
    " answer. Do not add any superfluous steps. The result of the final step should be"
    " the final answer. Make sure that each step has all the information needed - do"
    ' not skip steps. Answer as JSON: {"plan": [...]}.'
)
REPLAN = (
    "{rules}\n\nYour objective was this:\n{input}\n\n"
    "Your original plan was this:\n{plan}\n\nYou have currently done the follow steps:"
    "\n{past}\n\nUpdate your plan accordingly. If no more steps are needed and you can"
    " return to the user, then respond with that. Otherwise, fill out the plan. Only"
    " add steps to the plan that still NEED to be done. Do not return previously done"
    ' steps as part of the plan. Answer as JSON: {{"plan": [...]}} or'
    ' {{"response": ""}}.'
)
RULES = PLAN.replace("come up with", "make")
TOOLS_ERROR = ToolErrorMiddleware(lambda error, _: f"{type(error).__name__}: {error}")


class Planned(TypedDict, total=False):
    """The tutorial's channels."""

    input: str
    plan: list[str]
    past: Annotated[list[tuple[str, str]], operator.add]
    response: str


def plan_execute_graph(setup: Setup) -> Any:
    """Return the compiled graph."""
    step_agent = create_agent(
        setup.model,
        tools=setup.world.tools(),
        system_prompt=PROMPT,
        middleware=[TOOLS_ERROR],
    )

    async def plan(state: Planned) -> Planned:
        asked = [("system", PLAN), ("user", state["input"])]
        said = await setup.model.ainvoke(asked)
        return {"plan": json.loads(str(said.text))["plan"]}

    async def execute(state: Planned) -> Planned:
        steps, first = state["plan"], state["plan"][0]
        told = "\n".join(f"{i}. {s.lstrip('- ')}" for i, s in enumerate(steps, 1))
        ask = (
            f"For the following plan:\n{told}\n\nYou are tasked with executing step 1."
        )
        result = await step_agent.ainvoke({"messages": [("user", f"{ask}\n{first}")]})
        return {"past": [(first, str(result["messages"][-1].text))]}

    async def replan(state: Planned) -> Planned:
        past = "\n".join(f"({step} -> {told})" for step, told in state["past"])
        plan = "\n".join(state["plan"])
        text = REPLAN.format(rules=RULES, input=state["input"], plan=plan, past=past)
        said = json.loads(str((await setup.model.ainvoke([("user", text)])).text))
        return {"response": said["response"]} if "response" in said else said

    builder: Any = StateGraph(Planned)
    for name, node in (("plan", plan), ("execute", execute), ("replan", replan)):
        builder.add_node(name, node)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "execute")
    builder.add_edge("execute", "replan")
    builder.add_conditional_edges(
        "replan", lambda s: END if s.get("response") else "execute", ["execute", END]
    )
    return builder.compile()


async def plan_and_execute(setup: Setup) -> Said:
    """Carry out a task with plan-and-execute."""
    graph = plan_execute_graph(setup)
    given = {"input": setup.task.text}
    result = await graph.ainvoke(given, {"recursion_limit": 1_000})
    text = str(result["response"])
    return Said(text, claims=text.startswith("DONE"), extra={})
