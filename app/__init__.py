"""mendgraph: a LangGraph agent that plans, executes, watches, mends and learns.

The model proposes; code checks, executes, counts and remembers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mendgraph.graph.build import create_mend_agent
    from mendgraph.graph.compensation import acompensate, compensate
    from mendgraph.graph.rollback import arollback, plan_rollback, rollback
    from mendgraph.graph.signalling import asignal, signal
    from mendgraph.state.algebra import PlanError
    from mendgraph.state.interrupts import AnswerError
    from mendgraph.state.limits import Limits
    from mendgraph.state.plan import Plan, Step
    from mendgraph.state.policy import AuthRule, Compensation, ConfirmCall, ToolPolicy
    from mendgraph.tools.errors import (
        ConfigError,
        MendError,
        TaskInputError,
        ThreadError,
        UnknownTool,
    )
    from mendgraph.tools.lease import ThreadBusy

HOMES = {
    "create_mend_agent": "mendgraph.graph.build",
    "compensate": "mendgraph.graph.compensation",
    "acompensate": "mendgraph.graph.compensation",
    "rollback": "mendgraph.graph.rollback",
    "arollback": "mendgraph.graph.rollback",
    "plan_rollback": "mendgraph.graph.rollback",
    "signal": "mendgraph.graph.signalling",
    "asignal": "mendgraph.graph.signalling",
    "PlanError": "mendgraph.state.algebra",
    "AnswerError": "mendgraph.state.interrupts",
    "Limits": "mendgraph.state.limits",
    "Plan": "mendgraph.state.plan",
    "Step": "mendgraph.state.plan",
    "AuthRule": "mendgraph.state.policy",
    "Compensation": "mendgraph.state.policy",
    "ConfirmCall": "mendgraph.state.policy",
    "ToolPolicy": "mendgraph.state.policy",
    "ConfigError": "mendgraph.tools.errors",
    "MendError": "mendgraph.tools.errors",
    "TaskInputError": "mendgraph.tools.errors",
    "ThreadError": "mendgraph.tools.errors",
    "UnknownTool": "mendgraph.tools.errors",
    "ThreadBusy": "mendgraph.tools.lease",
}
"""Public name → module; loaded when first used, so `import mendgraph` is quick."""

__version__ = "0.1.0"
__all__ = [
    "AnswerError",
    "AuthRule",
    "Compensation",
    "ConfigError",
    "ConfirmCall",
    "Limits",
    "MendError",
    "Plan",
    "PlanError",
    "Step",
    "TaskInputError",
    "ThreadBusy",
    "ThreadError",
    "ToolPolicy",
    "UnknownTool",
    "acompensate",
    "arollback",
    "asignal",
    "compensate",
    "create_mend_agent",
    "plan_rollback",
    "rollback",
    "signal",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its room."""
    if name not in HOMES:
        raise AttributeError(f"module 'mendgraph' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
