"""The demo's tools: shipped SQL and CSV tools, and the template SQL generator."""

from pathlib import Path

from mendgraph.demo.codegen import sql_codegen
from mendgraph.state.policy import Effect, ToolKind, ToolPolicy
from mendgraph.tools.shipped.files import file_tools
from mendgraph.tools.shipped.sql_postgres import postgres_tools
from mendgraph.tools.shipped.toolkit import Toolkit, make_tool

SQL_TOOLS = (
    "postgres_ping",
    "postgres_describe",
    "postgres_query",
    "postgres_batch_query",
)

CODEGEN = Toolkit(
    (make_tool(sql_codegen, "sql_codegen"),),
    {
        "sql_codegen": ToolPolicy(
            effect=Effect.READ,
            idempotent=True,
            kind=ToolKind.GENERATIVE,
            tool_class="code_generation",
            required_fields=("sql",),
            simulatable=True,
        )
    },
)


def demo_toolkit(uri: str, out_dir: str | Path) -> Toolkit:
    """Return the tools of the PV/UV plan.

    Args:
        uri: The database with the log table.
        out_dir: The folder the CSV file is written to.
    """
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    sql = postgres_tools(uri, root=folder).only(*SQL_TOOLS)
    return sql + CODEGEN + file_tools(folder).only("csv_writer")
