"""deepagents as it comes, with errors given to the model as text."""

from langchain.agents.middleware import ToolErrorMiddleware

from peers.base import Said, Setup
from peers.react import PROMPT, ask


async def deep_agent(setup: Setup) -> Said:
    """Carry out a task with a deep agent."""
    from deepagents import create_deep_agent  # the guard runs without it

    agent = create_deep_agent(
        model=setup.model,
        tools=setup.world.tools(),
        system_prompt=PROMPT,
        middleware=[ToolErrorMiddleware(lambda e, _: f"{type(e).__name__}: {e}")],
    )
    return await ask(agent, setup)
