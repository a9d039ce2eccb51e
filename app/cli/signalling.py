"""`mendgraph signal`: a message to a running task."""

from typing import Annotated

import typer

from mendgraph.cli.faults import WrongUse
from mendgraph.cli.options import PERSIST, Persist, ThreadArgument
from mendgraph.cli.output import say


def signal(
    thread: ThreadArgument,
    text: Annotated[str, typer.Argument(help="An addition, or another goal.")],
    persist: Persist = PERSIST,
) -> None:
    """Leave a message for a task; it is read at the next step boundary."""
    from mendgraph.cli.opening import reading, snapshot_of
    from mendgraph.graph.signalling import signal as leave

    if not text.strip():
        raise WrongUse("the message is empty")
    with reading(persist) as agent:
        snapshot = snapshot_of(agent, thread)
        if not snapshot.next:
            raise WrongUse(
                f"thread {thread} has ended; give it a new task with "
                f"`mendgraph run … --thread {thread}`"
            )
        leave(agent, thread, text)
    say(f"Left for thread {thread}; it is read at the next step boundary.")
