"""Map every foreign exception of a model call to one of ours.

Error bodies lie: 401, 402, context overflow and content filter all say
`invalid_request_error`. So the status decides first, then the message, then the
exception's type. Exceptions are read by shape, so no provider's package is imported.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from mendgraph.state.failure import FailureFacts
from mendgraph.state.waits import stated_wait
from mendgraph.tools.models.capabilities import missing_feature
from mendgraph.tools.models.errors import (
    ModelAuthError,
    ModelCapabilityMissing,
    ModelContentFiltered,
    ModelContextOverflow,
    ModelError,
    ModelOutOfMoney,
    ModelRateLimited,
    ModelRequestRefused,
    ModelSetupError,
    ModelTruncated,
    ModelUnavailable,
)
from mendgraph.tools.models.usage import completion_usage

ErrorType = type[ModelError]

BY_STATUS: dict[int, ErrorType] = {
    401: ModelAuthError,
    402: ModelOutOfMoney,
    403: ModelAuthError,
    404: ModelSetupError,
    407: ModelUnavailable,
    408: ModelUnavailable,
    409: ModelUnavailable,
    413: ModelContextOverflow,
    425: ModelUnavailable,
    429: ModelRateLimited,
}

MONEY = (
    r"insufficient[ _](?:balance|quota|funds|credit)|exceeded your current quota"
    r"|credit balance|billing|余额不足|欠费"
)
FILTERED = (
    r"content[ _]?exists[ _]?risk|content[ _-]?(?:filter|management|policy)"
    r"|data_inspection_failed|inappropriate content|safety (?:system|reasons)"
    r"|内容安全|敏感"
)
OVERFLOW = (
    r"context[ _]?(?:length|window)|maximum context|prompt is too long"
    r"|input tokens exceed|input (?:is )?too long|too many (?:input )?tokens"
    r"|reduce the length|exceeds? the (?:model'?s? )?(?:maximum|context|limit of)"
)
NO_MODEL = (
    r"model[ _]?(?:[`'\"\w./-]+ )?(?:not[ _]?(?:exist|found)|does not exist)"
    r"|unknown model|no such model"
)
BY_MESSAGE: tuple[tuple[str, ErrorType], ...] = (
    (MONEY, ModelOutOfMoney),
    (FILTERED, ModelContentFiltered),
    (OVERFLOW, ModelContextOverflow),
    (r"(?:invalid|incorrect|no|missing)[^.]{0,20} api[ _-]?key", ModelAuthError),
    (r"authentication fails|unauthori[sz]ed", ModelAuthError),
    (NO_MODEL, ModelSetupError),
    (r"length limit was reached", ModelTruncated),
    (r"rate[ _-]?limit|too many requests|请求过于频繁", ModelRateLimited),
    (r"overloaded|server is busy|service (?:is )?unavailable", ModelUnavailable),
)
"""What the words say where the status does not decide."""

SPENT_QUOTA = re.compile(MONEY, re.IGNORECASE)

BY_TYPE: dict[str, ErrorType] = {
    "AuthenticationError": ModelAuthError,
    "PermissionDeniedError": ModelAuthError,
    "ModelAuthenticationError": ModelAuthError,
    "ModelPermissionDeniedError": ModelAuthError,
    "NotFoundError": ModelSetupError,
    "ModelNotFoundError": ModelSetupError,
    "RateLimitError": ModelRateLimited,
    "ModelRateLimitError": ModelRateLimited,
    "LengthFinishReasonError": ModelTruncated,
    "ContentFilterFinishReasonError": ModelContentFiltered,
    "ModelRefusalError": ModelContentFiltered,
    "ContextOverflowError": ModelContextOverflow,
    "BadRequestError": ModelRequestRefused,
    "ModelInvalidRequestError": ModelRequestRefused,
    "NotImplementedError": ModelSetupError,
    "ImportError": ModelSetupError,
}
"""Class name anywhere among the bases → ours; everything else is unavailable."""

NUMBER = re.compile(r"(\d[\d,]{3,})")
LIMIT_FIRST = re.compile(r"maximum|limit|at most|up to|window", re.IGNORECASE)


def translate(error: Exception, *, model: str, now: float) -> ModelError:
    """Return our error for anything a model call raised.

    Args:
        error: What was raised; one of ours comes back as it is.
        model: Name of the model, for the message.
        now: Seconds since the epoch, to measure Retry-After dates from.
    """
    if isinstance(error, ModelError):
        return error
    status, message = status_of(error), message_of(error)
    kind = _kind(error, status, message)
    build = BUILDERS.get(kind)
    ours = build(error, message) if build else kind(message)
    ours.model, ours.http_status = model, status
    facts = FailureFacts(message=message, headers=headers_of(error))
    ours.retry_after_s = 0.0 if _left_over(error) else stated_wait(facts, now)
    ours.__cause__ = error
    return ours


def _left_over(error: BaseException | None) -> bool:
    """Say whether a pooled connection of a finished event loop is to blame."""
    while error is not None:
        if isinstance(error, RuntimeError) and "Event loop is closed" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _kind(error: Exception, status: int | None, message: str) -> ErrorType:
    if status == 429 and SPENT_QUOTA.search(message):  # noqa: PLR2004  RFC 6585
        return ModelOutOfMoney
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status is not None and status >= 500:  # noqa: PLR2004  RFC 9110, 15.6
        return ModelUnavailable
    if found := _by_message(message):
        return found
    if status is not None:
        return ModelRequestRefused
    names = (base.__name__ for base in type(error).__mro__)
    return next((BY_TYPE[name] for name in names if name in BY_TYPE), ModelUnavailable)


def _by_message(message: str) -> ErrorType | None:
    if missing_feature(message):
        return ModelCapabilityMissing
    for pattern, kind in BY_MESSAGE:
        if re.search(pattern, message, re.IGNORECASE):
            return kind
    return None


def _capability(_error: Exception, message: str) -> ModelError:
    missing = missing_feature(message)
    if missing is None:
        return ModelRequestRefused(message)
    return ModelCapabilityMissing(message, feature=missing.feature, value=missing.value)


def _truncated(error: Exception, message: str) -> ModelError:
    """Read the answer that the SDK refused to give, which it keeps in its error."""
    completion = getattr(error, "completion", None)
    choices = getattr(completion, "choices", None) or ()
    said = getattr(choices[0], "message", None) if choices else None
    thought = bool(getattr(said, "reasoning_content", None))
    silent = not (getattr(said, "content", None) or "").strip()
    ours = ModelTruncated(message, told=True, by_reasoning=thought and silent)
    ours.usage = completion_usage(completion)
    return ours


def _overflow(_error: Exception, message: str) -> ModelError:
    """Read limit and size: the smaller of the first two large numbers is the limit."""
    numbers = [int(text.replace(",", "")) for text in NUMBER.findall(message)][:2]
    limit = min(numbers) if numbers and LIMIT_FIRST.search(message) else None
    asked = max(numbers) if len(numbers) > 1 else None
    return ModelContextOverflow(message, limit=limit, asked=asked)


BUILDERS: dict[ErrorType, Callable[[Exception, str], ModelError]] = {
    ModelTruncated: _truncated,
    ModelCapabilityMissing: _capability,
    ModelContextOverflow: _overflow,
}


def status_of(error: Exception) -> int | None:
    """Return the HTTP status an exception carries in any of the usual places."""
    response = getattr(error, "response", None)
    body = _body(error)
    places = (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "code", None),
        body.get("status"),
        body.get("code"),
    )
    codes = (_http_status(value) for value in places)
    return next((code for code in codes if code is not None), None)


def _http_status(value: Any) -> int | None:
    text = str(value)
    return int(text) if re.fullmatch(r"[45]\d\d", text) else None


def message_of(error: Exception) -> str:
    """Return the provider's own words, bounded, without the client's wrapping."""
    told = _body(error).get("message") or getattr(error, "message", None)
    words = str(told or error) or type(error).__name__
    if not told:
        words = f"{type(error).__name__}: {error}"
    return words[:1_000]


def _body(error: Exception) -> Mapping[str, Any]:
    """Return the error object of the body; a `ValueError` may hold it itself."""
    first = error.args[0] if error.args else None
    body = getattr(error, "body", None) or first
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error")
    return inner if isinstance(inner, Mapping) else body


def headers_of(error: Exception) -> dict[str, str]:
    """Return the response headers an exception carries."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return {str(name): str(value) for name, value in dict(headers).items()}
