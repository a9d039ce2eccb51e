"""Errors a caller meets, named after the remedy.

    MendError
    ├── ConfigError         wrong arguments of create_mend_agent, raised at once
    │   └── UnknownTool     a name that is not registered
    ├── TaskInputError      an empty task, an unreadable plan
    ├── ThreadError         an unknown thread or one of another schema version
    └── NoOneToAsk          a question arose and the graph has no checkpointer

Faults of tools and models are never raised: they become `FailureFacts`.
"""


class MendError(Exception):
    """Base of the errors raised to callers."""


class ConfigError(MendError, ValueError):
    """The agent was put together wrongly."""


class UnknownTool(ConfigError):
    """A tool name that is not registered."""


class TaskInputError(MendError, ValueError):
    """The input of a run cannot be used."""


class ThreadError(MendError, LookupError):
    """The thread does not exist or cannot be read by this version."""


class NoOneToAsk(MendError):
    """A question to a person came up where nobody can be asked."""
