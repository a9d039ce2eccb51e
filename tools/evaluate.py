"""Evaluate the CEL of rules with the functions they may call."""

from collections.abc import Mapping
from typing import Any

from mendgraph.tools.cel import compile_rule
from mendgraph.tools.cel_functions import FUNCTIONS


def evaluate(source: str, variables: Mapping[str, Any]) -> Any:
    """Return the value of an expression.

    Raises:
        RuleError: It does not compile or cannot be evaluated.
    """
    return compile_rule(source).evaluate({**FUNCTIONS, **variables})


def holds(source: str, variables: Mapping[str, Any]) -> bool:
    """Tell whether a condition is true.

    Raises:
        RuleError: It has no boolean value.
    """
    return compile_rule(source).holds({**FUNCTIONS, **variables})
