"""A small MCP server over stdio whose tools behave well and badly on purpose."""

import asyncio
import os
from pathlib import Path

from mcp.server.fastmcp import FastMCP
from mcp.types import CallToolResult, TextContent, ToolAnnotations

server = FastMCP("mendgraph-test")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def look(item: str) -> dict[str, str]:
    """Look something up."""
    return {"item": item, "state": "found"}


@server.tool(structured_output=False)
def unannotated(item: str) -> str:
    """Do something nobody described."""
    return f"did {item}"


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def fails(item: str) -> str:
    """Raise inside the server."""
    raise RuntimeError(f"disk of {item} is full")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
async def hangs(pid_file: str) -> str:
    """Never answer; tell the own process id in a file."""
    Path(pid_file).write_text(str(os.getpid()))  # noqa: ASYNC240 - this once
    await asyncio.sleep(3_600)
    return "too late"


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def is_error() -> CallToolResult:
    """Return a result that says it is an error."""
    text = TextContent(type="text", text="quota of the account is used up")
    return CallToolResult(content=[text], isError=True)


@server.tool(annotations=ToolAnnotations(readOnlyHint=True), structured_output=False)
def error_text() -> str:
    """Return an error's text in a result that says success."""
    return "Error: title exceeds max length of 512 bytes"


@server.tool(annotations=ToolAnnotations(destructiveHint=True))
def erase(item: str) -> dict[str, str]:
    """Delete for good."""
    return {"erased": item}


@server.tool(
    annotations=ToolAnnotations(
        readOnlyHint=False, destructiveHint=False, idempotentHint=True
    )
)
def put(item: str, count: int) -> dict[str, int | str]:
    """Set a value."""
    return {"item": item, "count": count}


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def process() -> dict[str, int]:
    """Tell the server's process id."""
    return {"pid": os.getpid()}


if __name__ == "__main__":
    server.run("stdio")
