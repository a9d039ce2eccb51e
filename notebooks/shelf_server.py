"""A small MCP server over stdio for the fourth notebook: a shelf with items."""

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

server = FastMCP("shelf")
COUNTS = {"kettle": 2, "teapot": 1}


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def stock(item: str) -> dict[str, str | int]:
    """Count an item."""
    return {"item": item, "count": COUNTS.get(item, 0)}


@server.tool(
    annotations=ToolAnnotations(
        readOnlyHint=False, destructiveHint=False, idempotentHint=True
    )
)
def put(item: str, count: int) -> dict[str, str | int]:
    """Set how many there are."""
    COUNTS[item] = count
    return {"item": item, "count": count}


@server.tool(annotations=ToolAnnotations(destructiveHint=True))
def erase(item: str) -> dict[str, str]:
    """Take an item off the shelf for good."""
    COUNTS.pop(item, None)
    return {"erased": item}


if __name__ == "__main__":
    server.run("stdio")
