"""Classify failures by tables of rules, without a model."""

from mendgraph.nodes.classify.decide import SURE, classify

__all__ = ["SURE", "classify"]
