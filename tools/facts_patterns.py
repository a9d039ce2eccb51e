"""The patterns by which statuses, codes, names and bodies are found in a text."""

import errno
import os
import re
from http import HTTPStatus

SUFFIX = (
    r"Error|Exception|Timeout|TimedOut|Interrupt|Exit|Expired|Fault|Violation|Failure"
    r"|BadZipFile|Disconnected|Shutdown|Detected|Transaction|Refused|Denied|NotFound"
    r"|Unavailable|Available|Exceeded|Exhausted|Overflow|Read|Closed|Locked"
)
DOTTED = re.compile(r"(?<![\w/.'-])((?:[a-z_]\w*\.)+_?[A-Z]\w+)(?=[:()\s,]|$)")
NAMED = re.compile(
    rf"(?<![\w.'`-])((?:[A-Za-z_]\w*\.)*_?[A-Z]\w*(?:{SUFFIX}))(?=:|\(|\)|\s*$|\n)"
)
PHRASES = "|".join(
    re.escape(s.phrase)
    for s in HTTPStatus
    if s is HTTPStatus.ACCEPTED or s >= HTTPStatus.MULTIPLE_CHOICES
)
STATUS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"Error code:\s*(\d{3})\b",
        (
            r"HTTP(?:S)?(?:/\d(?:\.\d)?)?(?:[ _-]?(?:status|error|code|response))*"
            r"[\"']?\s*[:=(]*\s*(\d{3})\b"
        ),
        (
            r"(?<!exit )(?<!exit_)\bstatus(?:[ _-]?code)?[\"']?\s*(?:[:=]|is|was"
            r"|of)?\s*"
            r"[\"'(\[]?(\d{3})\b"
        ),
        r"\b(\d{3})\s+(?:Client|Server) Error",
        r"(?:Client|Server|Redirect)\s+(?:error|response)\s+'(\d{3})",
        r"\b(\d{3}),\s*message=",
        rf"\b(\d{{3}})[\s:(-]+(?:{PHRASES})\b",
        (
            r"(?:=>|->|→|returned|returns|got|received|responded(?: with)?|response"
            r"|answer\w*"
            r"|returned error|failed with"
            r"|server said)\s*:?\s*(?:an?\s+)?([345]\d\d)\b(?!\s*(?:ms|s"
            r"|rows))"
        ),
        r"\(([45]\d\d)\)(?!\s*,\s*b)",
        r"^\W*([345]\d\d)\b(?!\s*[-. ]\d\.\d)(?=\s*[:,-]?\s*[A-Za-z{\"'<`])",
        r":\s([345]\d\d)\s+(?=[A-Z{])",
        r"[\"'](?:code|status)[\"']\s*:\s*([345]\d\d)\b",
    )
)
EXIT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            r"exit(?:ed|s)?\b(?:[ _-]?(?:with|code|status|value|non-?zero|error))*"
            r"[\"']?\s*[:=]?\s*\(?(-?\d{1,10})\b"
        ),
        r"exit_?code[\"']?\s*[:=]\s*[\"']?(-?\d{1,10})\b",
        r"(?:non-?zero )?exit (?:status|code)[\"']?\s*[:=]?\s*(-?\d{1,10})\b",
        r"return(?:ed)?[ _]?code[\"']?\s*(?:[:=]|of|is)?\s*(-?\d{1,10})\b",
        r"(?:terminated|killed) (?:by|with) (?:signal|exit code)\s*(\d{1,3})\b",
        r"\bcurl: \((\d{1,2})\)",
        r"\brc\s*=\s*(-?\d{1,3})\b",
        r"\bcode (\d{1,3}) \(?(?:exit|process)",
    )
)
SIGNAL = re.compile(r"Signals\.SIG\w+: (\d+)>")
DEATHS: tuple[tuple[str, int], ...] = (
    (r"\bOOMKilled\b|\bsignal: killed\b|\bKilled(?:: 9)?\s*$|\bSIGKILL\b", 137),
    (r"segmentation fault|\bSIGSEGV\b", 139),
    (r"\bSIGABRT\b|Aborted \(core dumped\)", 134),
    (r"\bSIGTERM\b", 143),
    (r"command not found|is not recognized as an internal or external", 127),
)
COMMAND = tuple(
    re.compile(pattern)
    for pattern in (
        r"Command '\[?'?\"?([^\s'\",]+)",
        r"[\"'](?:command|cmd)[\"']\s*:\s*[\"'\[]+([^\s\"',]+)",
        r"\b(curl): \(\d",
        r"(?:^|\n)\s*[$>]\s+(\S+)",
        r"`(\w[\w.-]*)[^`]*`.{0,40}(?:exit|return|status)",
        (
            r"(?:^|[\s(\"'])(grep|egrep|fgrep|rg|ag|diff|cmp|comm|pgrep|git|curl|wget"
            r"|rsync"
            r"|ssh|scp|docker|pytest|robocopy|systemctl|timeout|test|expr|which|make"
            r"|npm"
            r"|npx|pip|python3?|node|bash|sh|kubectl|terraform|psql|ffmpeg|tar|xargs)\b"
            r"(?=[^{}]*(?:exit|status|return|code|rc=))"
        ),
    )
)
GRPC = tuple(
    re.compile(pattern)
    for pattern in (
        r"StatusCode\.([A-Z_]+)",
        r"rpc error: code = (\w+)",
        r"\bgrpc[-_ ]?status[\"']?\s*[:=]\s*[\"']?(\w+)",
        r"(?:^|Error:?\s*)\d{1,2} ([A-Z]{2,}(?:_[A-Z]+)*):",
    )
)
GRPC_CODES = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
]
"""Names by number, 0 to 16."""

BOTO = re.compile(r"An error occurred \(([\w.]+)\) when calling the")
MCP = re.compile(r"MCP error (-?\d+)|[\"']code[\"']\s*:\s*(-32\d{3})\b|\((-32\d{3})\)")
SMTP = re.compile(
    r"\((\d{3}), b?['\"]|\b([245]\d\d)[ -]#?[245]\.\d{1,3}\.\d{1,3}\b"
    r"|SMTP\w*:?\D{0,20}?([45]\d\d)\b"
)
MYSQL = re.compile(
    r"\((\d{4}), ?[\"']|ERROR (\d{4})(?: \(\w{5}\))?|\b(\d{4}) \(\w{5}\):"
    r"|errno: (\d{4})"
    r"|SQLSTATE\[\w{5}\][^\n]{0,60}?\b([12]\d{3})\b"
)
SQLSTATE = re.compile(
    r"SQLSTATE\W{0,4}([0-9A-Z]{5})\b|ERROR:\s+([0-9A-Z]{5}):|\bpgcode\W+([0-9A-Z]{5})\b"
    r"|[\"']?code[\"']?\s*[:=]\s*[\"']((?=[0-9A-Z]*\d)[0-9A-Z]{5})[\"']"
)
ERRNO = re.compile(
    r"\[Errno (-?\d+)\]|\berrno\W{1,3}(-?\d+)|\(os error (\d+)\)", re.IGNORECASE
)
WINERROR = re.compile(r"\[?WinError (\d+)\]?")
WINDOWS: dict[int, int] = {
    2: errno.ENOENT,
    3: errno.ENOENT,
    5: errno.EACCES,
    8: errno.ENOMEM,
    32: errno.EBUSY,
    33: errno.EBUSY,
    112: errno.ENOSPC,
    183: errno.EEXIST,
    206: errno.ENAMETOOLONG,
    10013: errno.EACCES,
    10048: errno.EADDRINUSE,
    10051: errno.ENETUNREACH,
    10053: errno.ECONNABORTED,
    10054: errno.ECONNRESET,
    10060: errno.ETIMEDOUT,
    10061: errno.ECONNREFUSED,
    11001: -2,
    1225: errno.ECONNREFUSED,
}
SYMBOL = re.compile(r"\b(E[A-Z][A-Z0-9]{2,14})\b")
SPOKEN = [
    "ENOSPC",
    "EDQUOT",
    "EMFILE",
    "ENFILE",
    "ENOMEM",
    "EACCES",
    "EPERM",
    "EROFS",
    "ENOENT",
    "ENOTDIR",
    "EISDIR",
    "EEXIST",
    "ENOTEMPTY",
    "EBUSY",
    "ETXTBSY",
    "EAGAIN",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "EPIPE",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENETDOWN",
    "EHOSTDOWN",
    "ENOTCONN",
    "ENAMETOOLONG",
    "E2BIG",
    "EFBIG",
    "ELOOP",
    "EXDEV",
    "ENODEV",
    "EIO",
    "ESTALE",
    "ENOEXEC",
    "EOPNOTSUPP",
]
STRERROR = tuple(
    (os.strerror(getattr(errno, name)).lower(), getattr(errno, name))
    for name in SPOKEN
    if hasattr(errno, name)
)
FINISH = re.compile(r"(?:finish|stop)_?[rR]eason[\"']?\s*[:=]\s*[\"']?(\w+)")
BODY = re.compile(
    r"\[(?:[^\[\]]*?\b)?(?:body|page(?: says)?|response|content)[\s:='\"]+(.*?)'?\]",
    re.DOTALL,
)
CONTENT_TYPE = re.compile(
    r"content-?type[\"']?\s*[:=]\s*[\"']?([\w.+-]+/[\w.+-]+)", re.IGNORECASE
)
HEADERS = re.compile(
    r"\b((?:x-[\w-]*)?(?:retry-after(?:-ms)?|ratelimit-[\w-]+))[\"']?\s*[:=]\s*[\"']?"
    r"([^\s\"',;\])}]+(?:, \d\d \w{3} \d{4} [\d:]+ GMT)?)",
    re.IGNORECASE,
)
