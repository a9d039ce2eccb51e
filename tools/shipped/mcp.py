"""MCP servers as tools: annotations become policies, an error result becomes an error.

Source: Model Context Protocol 2025-06-18, server/tools and schema `ToolAnnotations`.
Annotations are the server's word about itself; for a server you do not trust give
`policies` of your own, which win.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from langchain_core.tools import BaseTool, StructuredTool

from mendgraph.state.policy import UNKNOWN_TOOL, Effect, ToolKind, ToolPolicy
from mendgraph.tools.shipped.mcp_output import plain_output
from mendgraph.tools.shipped.toolkit import Toolkit

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.types import Tool, ToolAnnotations

Made = TypeVar("Made")
Go = Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]
LISTING_PAGES = 1_000


async def load_mcp(
    connections: Mapping[str, Mapping[str, Any]],
    *,
    policies: Mapping[str, ToolPolicy] | None = None,
    prefixed: bool = False,
    connect_timeout_s: float = 30.0,
) -> Toolkit:
    """Load the tools of MCP servers, each call in a session of its own.

    Args:
        connections: Server name → `{"command": …, "args": […]}` for a program on this
            machine or `{"url": …}` for streamable HTTP, as in an `mcpServers` file;
            `transport` may name another kind of `langchain-mcp-adapters`.
        policies: Tool name → policy that replaces the one made from annotations.
        prefixed: Name the tools `server_tool`, for servers with equal tool names.
        connect_timeout_s: How long a server may take to answer, in seconds.

    Raises:
        ConnectionError: A server cannot be started or reached; the message names it.
    """
    loads = [
        _load_server(name, full_connection(connection), connect_timeout_s, prefixed)
        for name, connection in connections.items()
    ]
    toolkit = sum(await asyncio.gather(*loads), Toolkit())
    return Toolkit(toolkit.tools, {**toolkit.policies, **(policies or {})})


def load_mcp_sync(
    connections: Mapping[str, Mapping[str, Any]], **options: Any
) -> Toolkit:
    """Do what `load_mcp` does, from code that has no event loop (or must block it)."""
    return run_blocking(lambda: load_mcp(connections, **options))


def policy_of(tool: "Tool", service: str) -> ToolPolicy:
    """Return the policy a tool's annotations amount to.

    No annotations make a write that must not be repeated, marked as nobody's word.
    """
    hints = tool.annotations
    if hints is None or (hints.readOnlyHint is None and hints.destructiveHint is None):
        base = UNKNOWN_TOOL
        idempotent = bool(hints and hints.idempotentHint)
    else:
        base = ToolPolicy(effect=_effect(hints))
        idempotent = bool(hints.readOnlyHint or hints.idempotentHint)
    kind = ToolKind.QUERY if base.effect is Effect.READ else ToolKind.ACTION
    return base.but(
        idempotent=idempotent,
        service=service,
        kind=kind,
        tool_class="mcp",
        output_schema=tool.outputSchema,
    )


def _effect(hints: "ToolAnnotations") -> Effect:
    if hints.readOnlyHint:
        return Effect.READ
    return Effect.WRITE if hints.destructiveHint is False else Effect.IRREVERSIBLE


async def _load_server(
    name: str, connection: dict[str, Any], timeout_s: float, prefixed: bool
) -> Toolkit:
    client = adapters().client.MultiServerMCPClient({name: connection})
    try:
        async with asyncio.timeout(timeout_s), client.session(name) as session:
            found = await listed(session)
    except Exception as error:  # noqa: BLE001 - a server may fail in any way
        raise unreachable(name, connection, error, timeout_s) from leaf(error)
    return toolkit_of(name, found, prefixed=prefixed, connection=connection)


def unreachable(
    name: str, connection: Mapping[str, Any], error: BaseException, timeout_s: float
) -> ConnectionError:
    """Return one clear error for a server that could not be started or reached."""
    return ConnectionError(
        f"MCP server {name!r} ({_where(connection)}) did not answer: "
        f"{_said(leaf(error), timeout_s)}. Check that it starts on its own"
    )


def toolkit_of(
    name: str,
    found: Sequence["Tool"],
    *,
    prefixed: bool,
    session: "ClientSession | None" = None,
    connection: dict[str, Any] | None = None,
    go: Go | None = None,
) -> Toolkit:
    """Return a server's tools with their policies.

    Args:
        name: The server's name.
        found: Its tools as it lists them.
        prefixed: Put the server's name before each tool's.
        session: An open session for all calls, or
        connection: how to open one for each call.
        go: Runs a call's coroutine elsewhere, such as on the session's own loop.
    """
    convert = adapters().tools.convert_mcp_tool_to_langchain_tool
    options = {
        "connection": connection,
        "server_name": name,
        "tool_name_prefix": prefixed,
        "handle_tool_errors": False,
    }
    tools = [_plain_tool(convert(session, tool, **options), go) for tool in found]
    made = zip(tools, found, strict=True)
    policies = {tool.name: policy_of(source, name) for tool, source in made}
    return Toolkit(tuple(tools), policies)


async def listed(session: "ClientSession") -> list["Tool"]:
    """Return all tools of a server, page after page."""
    found: list[Tool] = []
    cursor: str | None = None
    for _page in range(LISTING_PAGES):
        answer = await session.list_tools(cursor=cursor)
        found += answer.tools
        cursor = answer.nextCursor
        if not cursor:
            return found
    raise ConnectionError(f"the tool list has no end after {LISTING_PAGES} pages")


def _plain_tool(inner: Any, go: Go | None) -> BaseTool:
    """Return the tool with plain data out and, beside `ainvoke`, a working `invoke`."""

    async def call(**arguments: Any) -> Any:
        try:
            work = inner.coroutine(**arguments)
            content, artifact = await (go(work) if go else work)
        except ExceptionGroup as group:
            raise leaf(group) from group
        return plain_output(content, artifact)

    def call_blocking(**arguments: Any) -> Any:
        return run_blocking(lambda: call(**arguments))

    return StructuredTool(
        name=inner.name,
        description=inner.description,
        args_schema=inner.args_schema,
        metadata=inner.metadata,
        func=call_blocking,
        coroutine=call,
    )


def run_blocking(start: Callable[[], Coroutine[Any, Any, Made]]) -> Made:
    """Run a coroutine to its end on a loop of its own thread."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(copy_context().run, lambda: asyncio.run(start())).result()


def leaf(error: BaseException) -> BaseException:
    """Return the first real exception inside nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _said(error: BaseException, timeout_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def full_connection(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the connection with its transport and the fields the adapter needs."""
    if "transport" in given:
        return dict(given)
    if "command" in given:
        return {"args": [], **given, "transport": "stdio"}
    if "url" in given:
        return {**given, "transport": "streamable_http"}
    raise ValueError("an MCP connection needs a 'command' or a 'url'")


def _where(connection: Mapping[str, Any]) -> str:
    """Name the server without arguments, paths or tokens."""
    if "url" in connection:
        return f"{connection['transport']}, {urlsplit(connection['url']).netloc}"
    return f"{connection['transport']}, {PurePath(connection['command']).name}"


def adapters() -> Any:
    """Import the adapter, or say which extra brings it."""
    try:
        import langchain_mcp_adapters.client
        import langchain_mcp_adapters.tools
    except ImportError as error:
        raise ImportError("MCP needs an extra: pip install 'mendgraph[mcp]'") from error
    return langchain_mcp_adapters
