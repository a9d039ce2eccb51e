"""The report of a run: one self-contained HTML page made from plain state (F66)."""

from mendgraph.report.html import render
from mendgraph.report.model import view
from mendgraph.report.records import RunView

__all__ = ["RunView", "render", "view"]
