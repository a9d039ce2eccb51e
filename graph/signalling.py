"""Leaving a message for a running task; it is read at the next step boundary (F63).

A message is one entry in the store, so any process with the same store can leave one:
namespace `("mendgraph", "threads", <thread>, "signals")`, value `{"text": …}`.
"""

from mendgraph.graph.agent import MendGraph
from mendgraph.graph.bind import BACKGROUND
from mendgraph.tools.errors import TaskInputError
from mendgraph.tools.vault import Vault


def signal(agent: MendGraph, thread_id: str, text: str) -> str:
    """Leave a message for a thread; return the key it is kept under.

    Args:
        agent: A graph with the store of the run, not necessarily the one that runs.
        thread_id: The thread of the task.
        text: An addition, or another goal, in the user's words.

    Raises:
        TaskInputError: The message is empty.
    """
    return BACKGROUND.run(asignal(agent, thread_id, text))


async def asignal(agent: MendGraph, thread_id: str, text: str) -> str:
    """Leave a message from a coroutine; as `signal`."""
    if not text.strip():
        raise TaskInputError("the message is empty; say what should change")
    deps = agent.held.deps
    now = deps.clock()
    key = f"{now:017.6f}-{deps.new_id()}"
    message = {"text": text.strip(), "at": now, "read": False}
    await Vault(deps.store, thread_id).put_signal(key, message)
    return key
