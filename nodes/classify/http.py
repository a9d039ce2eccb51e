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
    PROBE_ARGS,
    QUOTA,
    RATE,
    RECONNECT,
    STALE,
    STOPPED,
    UNTRUSTED,
    Rule,
    Seen,
    Verdict,
    code,
    every,
    named,
    none_of,
    says,
    some,
    status,
)
from mendgraph.state.waits import sentence_wait

LIMITED = says(
    r"rate[ _-]?limit|too many requests|abuse detection|throttl|slow ?down"
    r"|quota exceeded for .{0,60}per (?:minute|second)|requests per (?:minute|second)"
    r"|submitted too quickly|请求过于频繁|频率|限流|速率"
)

MONEY = says(
    r"insufficient[ _](?:quota|balance|funds|credit)|exceeded your current quota"
    r"|billing|credit balance|payment required|out of credits|no credits|recharge"
    r"|(?:monthly|daily|usage|spend\w*|free[- ]tier|plan) (?:\w+ )?(?:limit|quota|cap)"
    r"|(?:quota|limit) (?:has been )?(?:exhausted|used up)|余额不足|欠费|额度"
    r"|quota_exceeded|hard limit|subscription|exceeded .{0,20}(?:monthly|daily)"
)
PER_MINUTE = says(r"per[ _-]?minute|\bTPM\b|\bRPM\b|/min\b|每分钟")
_PER_DAY = says(r"per day|\bRPD\b|\bTPD\b|daily|/day\b")
_WALL = says(
    r"cloudflare|captcha|are you (?:a )?(?:human|robot)|access denied|attention required"
    r"|bot (?:detection|management)|incapsula|akamai|ddos|just a moment|perimeterx"
    r"|datadome|request blocked|unusual traffic"
)
HTML = some(
    says(r"<!doctype html|<html|<head>|<title>"),
    lambda seen: (seen.facts.content_type or "").startswith("text/html"),
)
_KNOWN_REGION = says(
    r"(?:country|region|territory|location).{0,40}(?:not |un)supported"
)


_BAD_LOGIN = says(
    r"(?:invalid|incorrect|wrong|bad|expired|missing) (?:api[ _-]?key|token"
    r"|credentials|username or password|access token|password)"
    r"|authentication (?:fails|failed|error|required)|could not read username"
    r"|login (?:required|failed)|token (?:has |is )?(?:expired|wrong|invalid)"
    r"|session (?:has )?expired|invalid_grant|not logged in|api[ _]key.{0,40}(?:invalid|not valid|incorrect|not found)"
    r"|access token wrong|bad credentials|publickey"
)


def _window_used_up(seen: Seen) -> bool:
    headers = seen.facts.headers
    return any("remaining" in name and headers[name] == "0" for name in headers)


def _named_wait(seen: Seen) -> bool:
    return bool(seen.facts.headers.keys() & {"retry-after", "retry-after-ms"})


def _speaks_of_a_wait(seen: Seen) -> bool:
    return sentence_wait(seen.text) is not None


FORBIDDEN_RULES: tuple[Rule, ...] = (
    Rule(
        "403 or 429 for exceeding a rate, not for a missing right",
        every(status(403, 401, 400), some(LIMITED, _window_used_up), none_of(MONEY)),
        RATE,
        wait_s=60.0,
    ),
    Rule(
        "a rate per day is used up",
        every(status(429), LIMITED, _PER_DAY, none_of(PER_MINUTE)),
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
                none_of(PER_MINUTE, _speaks_of_a_wait),
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
    Rule("the region is not served", every(status(403, 451), _KNOWN_REGION), DENIED),
    Rule(
        "a bot wall stands before the page",
        every(status(403, 401, 503, 406), _WALL, HTML),
        BLOCKED,
    ),
    Rule("the credentials are refused", status(401, 407, 511), DENIED, 0.95),
    Rule("the key is refused", every(status(400, 404, 422), _BAD_LOGIN), DENIED, 0.85),
    Rule("the right is missing", status(403), DENIED),
    Rule("not available for legal reasons", status(451), BLOCKED),
)

_SPECIAL: tuple[Rule, ...] = (
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
        lambda seen: (seen.facts.http_status or 0) // 100 == 5,
        DOWN,
        0.7,
    ),  # noqa: PLR2004
    Rule(
        "HTTP: the request is wrong",
        lambda seen: (seen.facts.http_status or 0) // 100 == 4,
        BAD_ARGS,
        0.65,
    ),  # noqa: PLR2004
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

WORD_RULES: tuple[Rule, ...] = (
    Rule(
        "the account is out of money or quota",
        every(
            some(MONEY, code("insufficient_quota")),
            none_of(PER_MINUTE, _speaks_of_a_wait),
        ),
        QUOTA,
        0.8,
    ),
    Rule(
        "a rate per minute is exceeded",
        every(PER_MINUTE, says(r"limit|exceed|quota")),
        RATE,
        0.8,
        60.0,
    ),
    Rule(
        "a rate is exceeded",
        some(LIMITED, named("RateLimitError", "TooManyRequests"), _named_wait),
        RATE,
        0.85,
    ),
    Rule("a wait is named", _speaks_of_a_wait, RATE, 0.7),
    Rule(
        "the credentials are refused",
        some(
            named(
                "AuthenticationError",
                "PermissionDeniedError",
                "Unauthorized",
                "Forbidden",
            ),
            code(
                "invalid_api_key",
                "authentication_error",
                "invalid_grant",
                "invalid_client",
                "unauthorized_client",
                "access_denied",
                "permission_error",
                "invalid_token",
                "PERMISSION_DENIED",
                "UNAUTHENTICATED",
            ),
            _BAD_LOGIN,
        ),
        DENIED,
        0.85,
    ),
    Rule(
        "the server is overloaded",
        some(
            code(
                "overloaded_error", "server_error", "UNAVAILABLE", "engine_overloaded"
            ),
            named("InternalServerError", "ServiceUnavailableError", "OverloadedError"),
            says(
                r"overloaded|service (?:is )?(?:temporarily )?unavailable|server (?:is )?busy"
                r"|temporarily unavailable|bad gateway|gateway time-?out|under maintenance"
                r"|internal server error|at capacity|currently unavailable|try again later"
                r"|服务(?:器)?(?:繁忙|不可用)|系统繁忙|稍后(?:再试|重试)"
            ),
        ),
        DOWN,
        0.8,
    ),
)
