"""LangChain's create_agent: as it comes, and with every middleware that helps."""

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AnyMessage
from simulated.model import tokens_of

from peers.base import Said, Setup

READS = ["fetch", "fetch_mirror", "derive", "derive_mirror", "published"]
MOST_CALLS = 250
SUMMARISE_AT, KEEP = 6_000, 20
PROMPT = "You carry out tasks with tools. Say DONE only for what is done."


def said_by(messages: list[AnyMessage]) -> Said:
    """Return the last message as the agent's answer."""
    text = str(messages[-1].text)
    return Said(text, claims=text.startswith("DONE"), extra={})


async def ask(agent: Any, setup: Setup) -> Said:
    """Give an agent of messages the task."""
    given = {"messages": [("user", setup.task.text)]}
    result = await agent.ainvoke(given, {"recursion_limit": 4 * MOST_CALLS})
    return said_by(result["messages"])


async def react_default(setup: Setup) -> Said:
    """Carry out a task with create_agent as it comes: a tool's error ends the run."""
    agent = create_agent(setup.model, tools=setup.world.tools(), system_prompt=PROMPT)
    return await ask(agent, setup)


def _error_text(error: Exception, _request: Any) -> str:
    return f"{type(error).__name__}: {error}"


def best_middleware(setup: Setup) -> list[Any]:
    """Return the best configuration: blind retries for reads only, errors as text."""
    return [
        ModelCallLimitMiddleware(run_limit=MOST_CALLS, exit_behavior="end"),
        ToolCallLimitMiddleware(run_limit=MOST_CALLS, exit_behavior="end"),
        ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False),
        SummarizationMiddleware(
            model=setup.model,
            trigger=("tokens", SUMMARISE_AT),
            keep=("messages", KEEP),
            trim_tokens_to_summarize=None,
            token_counter=lambda messages: tokens_of(list(messages), []),
        ),
        ToolErrorMiddleware(_error_text),
        ToolRetryMiddleware(
            max_retries=2,
            tools=READS,
            on_failure="error",
            initial_delay=0.0,
            jitter=False,
        ),
    ]


async def react_best(setup: Setup) -> Said:
    """Carry out a task with create_agent and every middleware that helps."""
    agent = create_agent(
        setup.model,
        tools=setup.world.tools(),
        system_prompt=PROMPT,
        middleware=best_middleware(setup),
    )
    return await ask(agent, setup)
