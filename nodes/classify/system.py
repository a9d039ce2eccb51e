"""Operating system: error numbers, and exit codes read per command.

Sources: POSIX errno, the bash manual (exit status), the manuals of the commands.
"""

import errno

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    BLOCKED,
    BROKEN_SERVICE,
    CHANGED,
    CRASHED,
    CROWDED,
    DENIED,
    DOWN,
    EXHAUSTED,
    FAULTY,
    FINE,
    FULL_HERE,
    NETWORK,
    OTHER_FORM,
    PROBE_ARGS,
    RECONNECT,
    SLOW,
    STOPPED,
    UNMET,
    UNSURE,
    UNTRUSTED,
    Predicate,
    Rule,
    Seen,
    Verdict,
    errno_in,
    every,
    exits,
    named,
    none_of,
    says,
    some,
)

_ERRNOS: tuple[tuple[str, str, Verdict], ...] = (
    ("no space is left", "ENOSPC EDQUOT", FULL_HERE),
    ("the descriptor limit is reached", "EMFILE ENFILE", CROWDED),
    ("no process or thread can be made", "EAGAIN", CROWDED),
    ("memory is used up", "ENOMEM", EXHAUSTED),
    ("the argument or file is too large", "E2BIG EFBIG EMSGSIZE EOVERFLOW", EXHAUSTED),
    ("no buffer space", "ENOBUFS", CROWDED),
    ("the right is missing", "EACCES EPERM EROFS", DENIED),
    ("the file or directory is not there", "ENOENT ENOTDIR ENXIO ENODEV", UNMET),
    ("the file exists already", "EEXIST ENOTEMPTY", PROBE_ARGS),
    ("the path is of the wrong kind", "EISDIR EINVAL ENAMETOOLONG ELOOP", BAD_ARGS),
    (
        "the operation is not possible there",
        "EXDEV EOPNOTSUPP ENOTSUP ENOSYS",
        OTHER_FORM,
    ),
    (
        "no such format",
        "ENOEXEC EILSEQ EDOM ERANGE EBADF ESPIPE EDESTADDRREQ",
        BAD_ARGS,
    ),
    ("the address is taken", "EADDRINUSE", DOWN),
    ("the address is not ours", "EADDRNOTAVAIL EAFNOSUPPORT", BAD_ARGS),
    (
        "the file or device is busy",
        "EBUSY ETXTBSY EDEADLK ENOLCK EINTR EINPROGRESS",
        DOWN,
    ),
    ("the connection is refused", "ECONNREFUSED", NETWORK),
    (
        "the connection broke",
        "ECONNRESET ECONNABORTED EPIPE ENOTCONN ESHUTDOWN",
        RECONNECT,
    ),
    ("the host was not reached in time", "ETIMEDOUT", NETWORK),
    ("the network or host is not reachable", "EHOSTUNREACH ENETUNREACH", NETWORK),
    ("the network is down", "ENETDOWN ENETRESET EHOSTDOWN", NETWORK),
    ("the device failed", "EIO EUCLEAN", BROKEN_SERVICE),
    ("the file handle is stale", "ESTALE EREMOTEIO", CHANGED),
    ("the child or process is gone", "ECHILD ESRCH", UNMET),
)


def _numbers(names: str) -> tuple[int, ...]:
    return tuple(getattr(errno, n) for n in names.split() if hasattr(errno, n))


QUIET_ONE = [
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "diff",
    "cmp",
    "comm",
    "pgrep",
    "pidof",
    "test",
    "[",
    "expr",
    "which",
    "type",
    "locate",
    "cmp",
    "git-grep",
    "bzgrep",
]
"""Commands whose exit code 1 says no (no match, a difference), not that they failed."""

_NO_MATCH: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("systemctl", (1, 3)),
    ("pytest", (5,)),
    ("robocopy", (1, 2, 3, 4, 5, 6, 7)),
    ("terraform", (2,)),
    ("rsync", (24,)),
)

_BY_COMMAND: tuple[tuple[str, tuple[int, ...], Verdict], ...] = (
    ("curl", (5, 6), BAD_ARGS),
    ("curl", (7,), NETWORK),
    ("curl", (28,), NETWORK),
    ("curl", (35, 52, 55, 56, 16, 18, 92), RECONNECT),
    ("curl", (51, 58, 60, 77, 83), UNTRUSTED),
    ("curl", (67, 9), DENIED),
    ("curl", (1, 2, 3, 4), BAD_ARGS),
    ("curl", (23,), FULL_HERE),
    ("wget", (4,), NETWORK),
    ("wget", (5,), UNTRUSTED),
    ("wget", (6,), DENIED),
    ("wget", (8,), UNSURE),
    ("wget", (3,), FULL_HERE),
    ("rsync", (10, 12, 30, 35), NETWORK),
    ("rsync", (11,), FULL_HERE),
    ("rsync", (1, 2, 4), BAD_ARGS),
    ("ssh", (255,), NETWORK),
    ("scp", (255,), NETWORK),
    ("docker", (125,), BAD_ARGS),
    ("psql", (2,), NETWORK),
    ("psql", (3,), BAD_ARGS),
    ("pytest", (1,), FAULTY),
    ("pytest", (2, 3, 4), BAD_ARGS),
)


def _command(seen: Seen) -> str:
    return (seen.facts.command or "").strip("'\"").rsplit("/", 1)[-1]


_ASKS_GIT = says(r"--exit-code|git grep|--quiet|merge-base --is-ancestor")


def _says_no(seen: Seen) -> bool:
    ended, command = seen.facts.exit_code, _command(seen)
    if command == "git" and _ASKS_GIT(seen):
        return ended == 1
    if command in QUIET_ONE:
        return ended == 1
    return any(command == name and ended in codes for name, codes in _NO_MATCH)


def _ran(command: str, codes: tuple[int, ...]) -> Predicate:
    return lambda seen: _command(seen) == command and seen.facts.exit_code in codes


def _died(*signals: int) -> Predicate:
    """Tell whether the process died of a signal, in the shell's or Python's count."""
    return exits(*(128 + s for s in signals), *(-s for s in signals))


_FAILED = says(
    r"\b(?:error|fatal|failed|failure|exception|traceback|denied|not found)\b"
    r"(?![\"']?\s*[:=]\s*(?:null|none|false|\"\"|''))"
)
_SILENT = every(
    says(r"[\"'](?:output|stdout|result)[\"']\s*:\s*[\"']{2}"), none_of(_FAILED)
)


def _no_command(seen: Seen) -> bool:
    return seen.facts.command is None


EXIT_RULES: tuple[Rule, ...] = (
    Rule("the command says no, and did not fail", _says_no, FINE),
    Rule("the command succeeded", every(exits(0), none_of(_FAILED)), FINE, 0.8),
    Rule(
        "nothing was printed, no error named: no match",
        every(exits(1), _no_command, _SILENT),
        FINE,
        0.7,
    ),
    *(
        Rule(f"{name} ended with {codes[0]}", _ran(name, codes), verdict)
        for name, codes, verdict in _BY_COMMAND
    ),
    Rule("the command is not installed", exits(127, 9009), UNMET),
    Rule(
        "the command may not be run",
        exits(126),
        Verdict(DENIED.category, DENIED.subclass, UNMET.reaction),
    ),
    Rule("the process was killed, most likely for its memory", _died(9), EXHAUSTED),
    Rule("the process was stopped by the keyboard", _died(2), STOPPED),
    Rule("the process was told to end", _died(15, 1), DOWN, 0.65),
    Rule("the processor limit is reached", _died(24, 25), EXHAUSTED),
    Rule("a pipe was closed early", _died(13), FINE, 0.65),
    Rule("the process crashed", _died(4, 6, 7, 8, 11, 31), CRASHED),
    Rule("the process crashed", exits(-1073741819, 3221225477, 3221226505), CRASHED),
    Rule("the process ran out of time", exits(124), SLOW),
)

LAST_EXIT_RULES: tuple[Rule, ...] = (
    Rule("the command was called wrongly", exits(2, 64), BAD_ARGS, 0.65),
    Rule("the input of the command is wrong", exits(65, 66), BAD_ARGS, 0.7),
    Rule("a service is not available", exits(69, 75), DOWN, 0.7),
    Rule("the right is missing", exits(77), DENIED, 0.7),
    Rule("the host or user is unknown", exits(67, 68), BAD_ARGS, 0.7),
    Rule(
        "the command failed",
        lambda seen: bool(seen.facts.exit_code),
        FAULTY,
        0.6,
    ),
)

_NOT_MINE = says(r"for schema|for table|for relation|for sequence|for database")

ERRNO_RULES: tuple[Rule, ...] = (
    Rule(
        "memory is used up",
        some(
            named("MemoryError", "OutOfMemoryError"),
            says(
                r"unable to allocate \d|out of memory|cannot allocate memory"
                r"|OutOfMemoryError|heap out of memory|CUDA out of memory"
                r"|java heap space"
                r"|OOM[- ]?kill|exit(?:ed)?.{0,20}OOM"
            ),
        ),
        EXHAUSTED,
    ),
    *(
        Rule(name, errno_in(*_numbers(names)), verdict)
        for name, names, verdict in _ERRNOS
    ),
    Rule("the right is missing", named("PermissionError"), DENIED),
    Rule(
        "the file is not there", named("FileNotFoundError", "NotADirectoryError"), UNMET
    ),
    Rule("the file exists already", named("FileExistsError"), PROBE_ARGS),
    Rule("the path is of the wrong kind", named("IsADirectoryError"), BAD_ARGS),
    Rule(
        "a module is not installed", named("ModuleNotFoundError", "ImportError"), UNMET
    ),
    Rule(
        "a module or program is not installed",
        says(
            r"no module named|command not found|executable file not found"
            r"|cannot find module|is not recognized as an internal or external"
            r"|executable doesn't exist|driver not found|no such program"
            r"|(?:needs|requires?) .{0,40} to be installed|is not installed|ENOENT"
        ),
        UNMET,
        0.8,
    ),
    Rule(
        "no thread or process can be made",
        says(r"can't start new thread|unable to create new native thread|cannot fork"),
        CROWDED,
    ),
    Rule("the recursion is too deep", named("RecursionError"), EXHAUSTED, 0.75),
    Rule(
        "the right is missing",
        every(
            says(
                r"permission denied|access (?:is )?denied|operation not permitted"
                r"|not authorized|unauthorized|not allowed to|forbidden|拒绝访问|权限"
            ),
            none_of(_NOT_MINE),
        ),
        DENIED,
        0.75,
    ),
    Rule(
        "a bot wall or a filter stands before the page",
        says(r"captcha|are you (?:a )?human|cloudflare|unusual traffic|access denied"),
        BLOCKED,
        0.7,
    ),
)
