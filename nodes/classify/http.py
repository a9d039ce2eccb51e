"""HTTP by status first, then by what the message says about that status.

Source: RFC 9110, RFC 6585, the IANA registry, Cloudflare's 52x, GitHub's and Stripe's
documentation of their errors.
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    BLOCKED,
    BROKEN_SERVICE,
    CHANGED,
    CONFLICT,
    DENIED,
    DOWN,
    EXHAUSTED,
    FINE,
    FULL_THERE,
    INCAPABLE,
    NETWORK,
    PENDING,
    PROBE_ARGS,
    QUOTA,
    RATE,
    RECONNECT,
    STALE,
    STOPPED,
    UNTRUSTED,
    Predicate,
    Rule,
    Verdict,
    code,
    every,
    named,
    none_of,
    says,
    some,
    status,
)
from mendgraph.nodes.classify.words import (
    BAD_LOGIN,
    HTML,
    KNOWN_REGION,
    LIMITED,
    MONEY,
    PER_DAY,
    PER_MINUTE,
    WALL,
    speaks_of_a_wait,
    window_used_up,
)


def _of_class(first_digit: int) -> Predicate:
    return lambda seen: (seen.facts.http_status or 0) // 100 == first_digit


FORBIDDEN_RULES: tuple[Rule, ...] = (
    Rule(
        "403 or 429 for exceeding a rate, not for a missing right",
        every(status(403, 401, 400), some(LIMITED, window_used_up), none_of(MONEY)),
        RATE,
        wait_s=60.0,
    ),
    Rule(
        "a rate per day is used up",
        every(status(429), LIMITED, PER_DAY, none_of(PER_MINUTE)),
        RATE,
        0.75,
        wait_s=3600.0,
    ),
    Rule(
        "the account is out of money or quota",
        some(
            status(402),
            every(
                status(429, 403, 400),
                some(
                    MONEY,
                    code(
                        "insufficient_quota",
                        "billing_hard_limit_reached",
                        "billing_not_active",
                        "quota_exceeded",
                    ),
                ),
                none_of(PER_MINUTE, speaks_of_a_wait),
            ),
        ),
        QUOTA,
        0.92,
    ),
    Rule(
        "a rate per minute is exceeded",
        every(status(429), PER_MINUTE),
        RATE,
        0.95,
        60.0,
    ),
    Rule("a rate is exceeded", status(429), RATE, 0.95),
    Rule("the region is not served", every(status(403, 451), KNOWN_REGION), DENIED),
    Rule(
        "a bot wall stands before the page",
        every(status(403, 401, 503, 406), WALL, HTML),
        BLOCKED,
    ),
    Rule("the credentials are refused", status(401, 407, 511), DENIED, 0.95),
    Rule("the key is refused", every(status(400, 404, 422), BAD_LOGIN), DENIED, 0.85),
    Rule("the right is missing", status(403), DENIED),
    Rule("not available for legal reasons", status(451), BLOCKED),
)

_SPECIAL: tuple[Rule, ...] = (
    Rule(
        "accepted, and still being worked on",
        some(
            status(202),
            says(
                r"^\W*\{[^{}]*[\"'](?:status|state)[\"']\s*:\s*[\"'](?:processing"
                r"|pending"
                r"|queued|accepted|in_progress|running|submitted)[\"']"
            ),
        ),
        PENDING,
        0.85,
    ),
    Rule(
        "the request is still being worked on",
        every(
            status(409),
            says(
                r"in progress|currently in use|being processed|another request"
                r"|lock_timeout|idempotency_key_in_use"
            ),
        ),
        CONFLICT,
    ),
    Rule(
        "the object changed since it was read",
        every(
            status(409),
            says(
                r"has been modified|latest version|try again|conflict.*retry"
                r"|version.*conflict|concurrent|stale"
            ),
        ),
        CONFLICT,
    ),
    Rule(
        "it exists already",
        every(
            status(409, 400, 422),
            says(
                r"already (?:exists|in use|taken|been taken|used)"
                r"|duplicate"
            ),
        ),
        PROBE_ARGS,
    ),
    Rule("the state there is not as expected", status(409, 412), STALE, 0.75),
    Rule(
        "an API version was switched off",
        every(
            status(404, 410, 400),
            says(
                r"deprecat|sunset|no longer (?:available|supported)"
                r"|has been (?:removed|retired|shut ?down|decommission)"
                r"|discontinued|end of life"
            ),
        ),
        CHANGED,
        0.8,
    ),
    Rule(
        "the request is too large",
        every(
            status(400),
            says(r"too large|payload size exceeds|request entity|body exceeded"),
        ),
        EXHAUSTED,
        0.8,
    ),
    Rule("the server gave up waiting", status(408), NETWORK),
    Rule("the client went away", status(499), STOPPED, 0.6),
)

_CODES: tuple[tuple[str, tuple[int, ...], Verdict], ...] = (
    ("nothing changed since", (304,), FINE),
    ("the address has moved", (300, 301, 302, 303, 305, 306, 307, 308), BAD_ARGS),
    ("the request is wrong", (400, 405, 406, 415, 416, 417, 418, 422, 428), BAD_ARGS),
    ("there is nothing at this address", (404,), BAD_ARGS),
    ("the thing is gone for good", (410,), CHANGED),
    ("a length is needed", (411,), BAD_ARGS),
    ("the request is too large", (413, 414, 431), EXHAUSTED),
    ("the request went to the wrong server", (421,), RECONNECT),
    ("the thing is locked", (423, 424, 425), DOWN),
    ("a newer protocol is asked for", (426, 505, 510, 506), INCAPABLE),
    ("the login ran out", (419, 440, 498), DENIED),
    ("the server does not offer that", (501,), INCAPABLE),
    ("the disk there is full", (507,), FULL_THERE),
    ("the server found an endless loop", (508,), BROKEN_SERVICE),
    ("the certificate there is not valid", (495, 496, 525, 526), UNTRUSTED),
    ("the server behind was not reached", (521, 522, 523, 524, 530, 598, 599), DOWN),
    ("a gateway got no answer", (504,), DOWN),
    ("the server is overloaded or being worked on", (503, 529), DOWN),
    ("the server failed", (500, 502, 520, 527, 509), DOWN),
)

STATUS_RULES: tuple[Rule, ...] = (
    *_SPECIAL,
    *(
        Rule(f"HTTP: {name}", status(*codes), verdict)
        for name, codes, verdict in _CODES
    ),
    Rule(
        "HTTP: the server failed",
        _of_class(5),
        DOWN,
        0.7,
    ),
    Rule(
        "HTTP: the request is wrong",
        _of_class(4),
        BAD_ARGS,
        0.65,
    ),
    Rule(
        "too many redirects",
        some(
            named("TooManyRedirects"),
            says(r"too many redirects|exceeded \d+ redirects|redirect loop"),
        ),
        BAD_ARGS,
        0.8,
    ),
)
