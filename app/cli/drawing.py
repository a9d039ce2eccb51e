"""`mendgraph graph`: the two loops as a Mermaid diagram."""

import sys


def graph() -> None:
    """Print both loops as Mermaid text."""
    from mendgraph.graph.build import create_mend_agent

    drawn = create_mend_agent().get_graph(xray=True).draw_mermaid()
    sys.stdout.write(drawn if drawn.endswith("\n") else drawn + "\n")
