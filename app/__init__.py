"""mendgraph."""
