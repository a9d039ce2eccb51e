"""Exit codes: what a script learns from how a command ended."""

from enum import IntEnum


class Code(IntEnum):
    """Every code a command ends with."""

    DONE = 0
    UNFINISHED = 1
    WRONG_USE = 2
    CANCELLED = 3
    WAITING = 5
    FAULT = 70
    INTERRUPTED = 130


MEANINGS: dict[Code, str] = {
    Code.DONE: "done",
    Code.UNFINISHED: "partly done or failed",
    Code.WRONG_USE: "wrong use or unusable input, nothing was run",
    Code.CANCELLED: "a person stopped the task",
    Code.WAITING: "a question is open: answer with `mendgraph resume`",
    Code.FAULT: "a fault inside mendgraph or a tools module",
    Code.INTERRUPTED: "stopped with Ctrl-C: go on with `mendgraph resume`",
}

EPILOG = "Exit codes: " + "; ".join(f"{c.value} {m}" for c, m in MEANINGS.items()) + "."

BY_STATUS: dict[str, Code] = {
    "done": Code.DONE,
    "partial": Code.UNFINISHED,
    "failed": Code.UNFINISHED,
    "running": Code.UNFINISHED,
    "cancelled": Code.CANCELLED,
}
"""Status of the task → exit code."""
