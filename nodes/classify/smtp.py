"""SMTP by reply code: 4xx passes by itself, 5xx does not (the reverse of HTTP).

Sources: RFC 5321 section 4.2, RFC 3463 (enhanced codes).
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    DENIED,
    DOWN,
    EXHAUSTED,
    FULL_THERE,
    INCAPABLE,
    NETWORK,
    RATE,
    RECONNECT,
    Predicate,
    Rule,
    every,
    named,
    none_of,
    says,
    some,
)


def _smtp(*first: str) -> Predicate:
    return lambda seen: (
        seen.facts.family == "smtp" and (seen.facts.error_code or "").startswith(first)
    )


RULES: tuple[Rule, ...] = (
    Rule(
        "SMTP: a daily sending limit is used up",
        every(_smtp("5"), says(r"(?:daily|sending) .{0,20}(?:limit|quota)|5\.4\.5")),
        RATE,
        wait_s=3600.0,
    ),
    Rule(
        "SMTP: the rate is limited",
        every(
            _smtp("421", "450", "451", "452", "454"),
            says(r"rate|too (?:many|much)|throttl|4\.7\.28"),
        ),
        RATE,
        wait_s=60.0,
    ),
    Rule(
        "SMTP: the mailbox or disk there is full",
        every(_smtp("552"), says(r"mailbox|quota|5\.2\.2|storage")),
        FULL_THERE,
    ),
    Rule(
        "SMTP: the message is too large",
        every(_smtp("552", "523"), none_of(says(r"5\.7\."))),
        EXHAUSTED,
    ),
    Rule(
        "SMTP: the message is refused as spam",
        every(
            _smtp("5"),
            says(
                r"spam|blocked|blacklist|block list|spamhaus|dmarc|spf|dkim"
                r"|reputation|policy"
            ),
        ),
        DENIED,
    ),
    Rule(
        "SMTP: the login is refused or needed",
        _smtp("530", "534", "535", "538"),
        DENIED,
    ),
    Rule(
        "SMTP: the sender may not do that",
        every(
            _smtp("550", "551", "553", "554"),
            says(
                r"5\.7\.|relay|denied|not permitted"
                r"|not allowed|authenticat"
            ),
        ),
        DENIED,
    ),
    Rule(
        "SMTP: the address is wrong", _smtp("550", "551", "553", "501", "511"), BAD_ARGS
    ),
    Rule("SMTP: the command is not known there", _smtp("502", "504", "500"), INCAPABLE),
    Rule("SMTP: the commands came in the wrong order", _smtp("503"), BAD_ARGS),
    Rule("SMTP: the server is busy or closing", _smtp("421"), DOWN),
    Rule("SMTP: greylisted or out of resources for now", _smtp("4"), DOWN),
    Rule("SMTP: refused for good", _smtp("5"), BAD_ARGS, 0.7),
    Rule(
        "SMTP: the login is refused",
        named("SMTPAuthenticationError"),
        DENIED,
    ),
    Rule(
        "SMTP: the server closed the connection",
        some(named("SMTPServerDisconnected"), says(r"please run connect\(\) first")),
        RECONNECT,
    ),
    Rule(
        "SMTP: the addresses are refused",
        named("SMTPRecipientsRefused", "SMTPSenderRefused", "SMTPDataError"),
        BAD_ARGS,
        0.7,
    ),
    Rule(
        "SMTP: the server lacks an extension", named("SMTPNotSupportedError"), INCAPABLE
    ),
    Rule("SMTP: the server was not reached", named("SMTPConnectError"), NETWORK),
    Rule("SMTP: the greeting was refused", named("SMTPHeloError"), DENIED, 0.7),
)
