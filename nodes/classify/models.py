"""Model providers: limits, refusals and missing capabilities, whatever `code` claims.

Sources: the error pages of OpenAI, DeepSeek, Anthropic, Google and Azure; error bodies
of these vendors often say `invalid_request_error` for anything.
"""

import re

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    CHANGED,
    DOWN,
    EXHAUSTED,
    INCAPABLE,
    NETWORK,
    PROBE_ARGS,
    Rule,
    Seen,
    code,
    every,
    named,
    none_of,
    says,
    some,
    status,
)

_AMOUNTS = re.compile(
    r"limit:?\s*([\d,]+)(?:(?!requested).)*requested:?\s*([\d,]+)",
    re.IGNORECASE | re.DOTALL,
)


def _alone_too_large(seen: Seen) -> bool:
    """Tell whether one request asks for more than a whole window holds."""
    match = _AMOUNTS.search(seen.text)
    if not match:
        return False
    limit, requested = (int(part.replace(",", "")) for part in match.groups())
    return requested > limit


CONTEXT_FULL = some(
    code("context_length_exceeded", "request_too_large", "string_above_max_length"),
    named("ContextWindowExceededError", "ContextOverflowError"),
    says(
        r"maximum (?:context|model|prompt|sequence) length|context[ _](?:length|window)"
        r"|prompt is too long|input is too long|reduce (?:the|your) (?:length|prompt"
        r"|input"
        r"|message)|(?:input )?token count.{0,40}exceed|exceeds? .{0,40}token(?:s"
        r"| limit)"
        r"|too many (?:input )?tokens|request too large|tokens? must be reduced"
        r"|max_tokens.{0,40}(?:too (?:large|big)|exceed)|string too long"
        r"|上下文长度|超[过出].{0,10}(?:长度|tokens?)"
    ),
)
_REFUSED_CONTENT = some(
    code(
        "content_filter",
        "content_policy_violation",
        "ResponsibleAIPolicyViolation",
        "moderation_blocked",
        "data_inspection_failed",
    ),
    named("ContentFilterFinishReasonError", "ContentPolicyViolationError"),
    says(
        r"content exists risk|content[ _](?:management )?(?:policy|filter)"
        r"|flagged (?:as|by|for)|safety (?:system|filter|settings|reasons)"
        r"|inappropriate"
        r"|blocked by .{0,30}(?:filter|policy)|usage polic(?:y|ies)|prohibited_content"
        r"|(?:finish|block)[_ ]?reason\W{1,4}(?:SAFETY|PROHIBITED|BLOCKLIST|RECITATION)"
        r"|敏感|违规|不合规"
    ),
)
_NO_MODEL = some(
    code("model_not_found", "DeploymentNotFound", "model_not_available"),
    says(
        r"model[ _]not[ _](?:exist|found|available|supported)|model .{0,80}(?:does not "
        r"exist|not found|is not (?:available|found|a valid)|has been (?:deprecated"
        r"|retired)"
        r")|unknown model|no such model|invalid model|(?:resource"
        r"|deployment).{0,40}does "
        r"not exist|not found for api version|模型不存在"
    ),
)
_UNSUPPORTED = some(
    code("unsupported_parameter", "unsupported_value", "unsupported_country"),
    says(
        r"(?:does not|doesn't|do not|don't|is not|isn't|not|are not"
        r"|cannot) (?:currently )?"
        r"(?:support(?:ed)?|available)\b(?!.{0,20}(?:region|country))|unsupported"
        r"(?: parameter| value|_parameter)|not supported|unrecognized request argument"
        r"|is unavailable now|only (?:supports|the default)|不支持"
    ),
)
_SUCCESSIVE = says(r"successive user or assistant|roles must alternate")

LIMIT_RULES: tuple[Rule, ...] = (
    Rule(
        "one request is larger than the whole window", _alone_too_large, EXHAUSTED, 0.95
    ),
    Rule(
        "the idempotency key was used with other parameters",
        some(
            code("idempotency_error"),
            says(
                r"idempoten\w+.{0,80}(?:same parameters|different|mismatch|reused"
                r"|another)"
                r"|different (?:parameters|payload|body).{0,60}idempoten"
            ),
        ),
        PROBE_ARGS,
    ),
)

RULES: tuple[Rule, ...] = (
    Rule(
        "the context is full",
        every(CONTEXT_FULL, none_of(status(429, 500, 502, 503), says(r"rate limit"))),
        EXHAUSTED,
    ),
    Rule(
        "the content is refused by a filter",
        every(_REFUSED_CONTENT, none_of(status(401, 402, 429, 500, 503))),
        BAD_ARGS,
        0.85,
    ),
    Rule(
        "the model is not there",
        every(_NO_MODEL, none_of(status(401, 402, 429, 500, 503))),
        BAD_ARGS,
        0.88,
    ),
    Rule(
        "messages of one role follow each other",
        _SUCCESSIVE,
        BAD_ARGS,
    ),
    Rule(
        "the model or service lacks the capability",
        every(
            _UNSUPPORTED,
            some(
                status(400, 404, 422),
                named("BadRequestError", "NotFoundError"),
                says(r"\bmodel\b|tool_choice|response_format|deepseek|thinking"),
            ),
        ),
        INCAPABLE,
        0.85,
    ),
    Rule(
        "the prompt or the history breaks the model's rules",
        says(
            r"must contain the word|reasoning_content|tool_call_id"
            r"|must be followed by tool"
            r"|tool messages|role 'tool'|must be a response to a preceding"
            r"|failed to deserialize the json body|unknown variant"
            r"|`?tool_use`? (?:ids? )?"
            r"|invalid schema for function|invalid 'messages|messages\[\d+\]"
            r"|max_tokens .{0,40}(?:must|range|invalid)|invalid value: '"
            r"|final assistant content|at least one message is required"
            r"|ToolMessage\(content=\["
        ),
        BAD_ARGS,
        0.85,
    ),
    Rule(
        "the stream broke off",
        says(
            r"stream (?:ended|closed|interrupted) (?:before|without|unexpectedly)"
            r"|no (?:chunks|generations?) (?:were )?(?:found|returned) in stream"
            r"|no generation chunks"
        ),
        NETWORK,
        0.75,
    ),
    Rule(
        "the provider sent an answer without choices",
        says(
            r"null value for 'choices'|response (?:has|with) no choices"
            r"|'NoneType' object is not (?:iterable|subscriptable).{0,40}choices"
        ),
        DOWN,
        0.7,
    ),
    Rule(
        "an API the client relies on has changed",
        says(
            r"you tried to access openai\.\w+, but this is no longer supported"
            r"|has been deprecated and|model .{0,60}(?:retired|decommissioned)"
        ),
        CHANGED,
        0.7,
    ),
)
