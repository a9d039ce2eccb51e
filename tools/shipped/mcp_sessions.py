"""MCP servers kept open: one session for all calls, for servers that have a state.

The sessions live in one task on a loop of their own, because a session may be used on
the loop that opened it only; calls come from any thread and any loop.
"""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager, suppress
from threading import Thread
from typing import Any

from mendgraph.tools.shipped.mcp import (
    adapters,
    full_connection,
    leaf,
    listed,
    toolkit_of,
    unreachable,
)
from mendgraph.tools.shipped.toolkit import Toolkit


@contextmanager
def mcp_sessions(
    connections: Mapping[str, Mapping[str, Any]],
    *,
    prefixed: bool = False,
    connect_timeout_s: float = 30.0,
) -> Iterator[Toolkit]:
    """Open servers, give their tools, and stop the servers at the end of the block.

    A call costs milliseconds, where a session of its own costs a program's start.

    Args:
        connections: As for `load_mcp`.
        prefixed: Name the tools `server_tool`.
        connect_timeout_s: How long a server may take to answer, in seconds.

    Raises:
        ConnectionError: A server cannot be started or reached; the message names it.
    """
    host = _Host(connections, prefixed=prefixed, timeout_s=connect_timeout_s)
    thread = Thread(target=lambda: asyncio.run(host.serve()), daemon=True)
    thread.start()
    try:
        yield host.ready.result()
    finally:
        host.close()
        thread.join()


class _Host:
    """The task that owns the sessions."""

    def __init__(
        self,
        connections: Mapping[str, Mapping[str, Any]],
        *,
        prefixed: bool,
        timeout_s: float,
    ) -> None:
        self.ready: Future[Toolkit] = Future()
        self._connections = connections
        self._prefixed = prefixed
        self._timeout_s = timeout_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None

    async def serve(self) -> None:
        """Hold the sessions open until `close`."""
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                self.ready.set_result(await self._open_all(stack))
                await self._end.wait()
        except Exception as error:  # noqa: BLE001 - it belongs to the opener
            if not self.ready.done():
                self.ready.set_exception(leaf(error))

    def close(self) -> None:
        """End `serve`, from any thread; when it has ended already, do nothing."""
        if self._loop and self._end:
            # A loop that closed by itself refuses the call, and then all is done.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._end.set)

    async def _open_all(self, stack: AsyncExitStack) -> Toolkit:
        toolkit = Toolkit()
        for name, connection in self._connections.items():
            toolkit += await self._open(stack, name, full_connection(connection))
        return toolkit

    async def _open(
        self, stack: AsyncExitStack, name: str, connection: dict[str, Any]
    ) -> Toolkit:
        client = adapters().client.MultiServerMCPClient({name: connection})
        try:
            async with asyncio.timeout(self._timeout_s):
                session = await stack.enter_async_context(client.session(name))
                found = await listed(session)
        except Exception as error:  # noqa: BLE001 - a server may fail in any way
            said = unreachable(name, connection, error, self._timeout_s)
            raise said from leaf(error)
        return toolkit_of(
            name, found, prefixed=self._prefixed, session=session, go=self._go
        )

    async def _go(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a call on the sessions' loop; cancelling here cancels it there."""
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise ConnectionError("the MCP sessions are closed; open them again")
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(work, self._loop)
        )
