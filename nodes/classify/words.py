"""The words services use for limits, money, logins and outages, status or none."""

from mendgraph.nodes.classify.rule import (
    DENIED,
    DOWN,
    QUOTA,
    RATE,
    Rule,
    Seen,
    code,
    every,
    named,
    none_of,
    says,
    some,
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
PER_DAY = says(r"per day|\bRPD\b|\bTPD\b|daily|/day\b")
WALL = says(
    r"cloudflare|captcha|are you (?:a )?(?:human|robot)|access denied"
    r"|attention required"
    r"|bot (?:detection|management)|incapsula|akamai|ddos|just a moment|perimeterx"
    r"|datadome|request blocked|unusual traffic"
)
HTML = some(
    says(r"<!doctype html|<html|<head>|<title>"),
    lambda seen: (seen.facts.content_type or "").startswith("text/html"),
)
KNOWN_REGION = says(r"(?:country|region|territory|location).{0,40}(?:not |un)supported")


BAD_LOGIN = says(
    r"(?:invalid|incorrect|wrong|bad|expired|missing) (?:api[ _-]?key|token"
    r"|credentials|username or password|access token|password)"
    r"|authentication (?:fails|failed|error|required)|could not read username"
    r"|login (?:required|failed)|token (?:has |is )?(?:expired|wrong|invalid)"
    r"|session (?:has )?expired|invalid_grant|not logged in"
    r"|api[ _]key.{0,40}(?:invalid|not valid|incorrect|not found)"
    r"|access token wrong|bad credentials|publickey"
)


def window_used_up(seen: Seen) -> bool:
    """Tell whether a header says that nothing is left of a window."""
    headers = seen.facts.headers
    return any("remaining" in name and headers[name] == "0" for name in headers)


def named_wait(seen: Seen) -> bool:
    """Tell whether a header names a wait."""
    return bool(seen.facts.headers.keys() & {"retry-after", "retry-after-ms"})


def speaks_of_a_wait(seen: Seen) -> bool:
    """Tell whether a sentence names a wait."""
    return sentence_wait(seen.text) is not None


RULES: tuple[Rule, ...] = (
    Rule(
        "the account is out of money or quota",
        every(
            some(MONEY, code("insufficient_quota")),
            none_of(PER_MINUTE, speaks_of_a_wait),
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
        some(LIMITED, named("RateLimitError", "TooManyRequests"), named_wait),
        RATE,
        0.85,
    ),
    Rule("a wait is named", speaks_of_a_wait, RATE, 0.7),
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
            BAD_LOGIN,
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
                r"overloaded|no healthy upstream|upstream connect error|before headers"
                r"|insufficient_system_resource"
                r"|service (?:is )?(?:temporarily )?unavailable"
                r"|server (?:is )?busy"
                r"|temporarily unavailable|bad gateway|gateway time-?out"
                r"|under maintenance"
                r"|internal server error|at capacity|currently unavailable"
                r"|try again later"
                r"|服务(?:器)?(?:繁忙|不可用)|系统繁忙|稍后(?:再试|重试)"
            ),
        ),
        DOWN,
        0.8,
    ),
)
