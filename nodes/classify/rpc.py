"""Remote calls with codes of their own: gRPC, AWS (boto3) and MCP.

Sources: grpc.io status codes, AWS common errors, JSON-RPC 2.0 and the MCP specification.
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    BROKEN_SERVICE,
    CHANGED,
    CONFLICT,
    DENIED,
    DOWN,
    EXHAUSTED,
    FAULTY,
    INCAPABLE,
    NETWORK,
    PROBE_ARGS,
    QUOTA,
    RATE,
    RECONNECT,
    RENEW,
    STALE,
    STOPPED,
    UNMET,
    UNTRUSTED,
    Predicate,
    Rule,
    Seen,
    Verdict,
    code,
    every,
    family,
    named,
    none_of,
    package,
    says,
    some,
)

_GRPC: Predicate = some(family("grpc"), package("google.api_core", "grpc"))
_TOO_LARGE = says(
    r"message (?:is )?larger than max|received message larger|max(?:imum)? "
    r"(?:message )?size|exceeds .{0,20}(?:size|limit)"
)
_REACH = says(
    r"failed to connect|connection refused|name resolution|dns|connect(?:ion)? (?:timed"
    r" out|reset|error)|socket closed|goaway|unreachable|no connection|keepalive"
    r"|all addresses|broken pipe|transport is closing|stream removed|channel is"
)

_GRPC_RULES: tuple[tuple[str, Predicate, Verdict], ...] = (
    (
        "the message is too large",
        every(code("RESOURCE_EXHAUSTED", "OUT_OF_RANGE"), _TOO_LARGE),
        EXHAUSTED,
    ),
    (
        "TLS or credentials",
        every(code("UNAVAILABLE"), says(r"certificate|handshake failed|ssl_error")),
        UNTRUSTED,
    ),
    ("the server was not reached", every(code("UNAVAILABLE"), _REACH), NETWORK),
    ("the service is not available", code("UNAVAILABLE"), DOWN),
    ("a rate or quota is used up", code("RESOURCE_EXHAUSTED"), RATE),
    ("the deadline passed", code("DEADLINE_EXCEEDED"), NETWORK),
    ("the call was cancelled", code("CANCELLED"), STOPPED),
    ("an argument is wrong", code("INVALID_ARGUMENT", "OUT_OF_RANGE"), BAD_ARGS),
    ("the thing is not there", code("NOT_FOUND"), BAD_ARGS),
    ("the thing exists already", code("ALREADY_EXISTS"), PROBE_ARGS),
    ("the right is missing", code("PERMISSION_DENIED", "UNAUTHENTICATED"), DENIED),
    ("the state does not allow it", code("FAILED_PRECONDITION"), UNMET),
    ("the call collided with another", code("ABORTED"), CONFLICT),
    ("the method is not there", code("UNIMPLEMENTED"), INCAPABLE),
    ("the service has an internal fault", code("INTERNAL", "UNKNOWN"), DOWN),
    ("data was lost", code("DATA_LOSS"), BROKEN_SERVICE),
)

_BOTO_CODES: tuple[tuple[str, str, Verdict], ...] = (
    (
        "throttled",
        "Throttling ThrottlingException ThrottledException RequestThrottled "
        "RequestThrottledException TooManyRequestsException RequestLimitExceeded "
        "ProvisionedThroughputExceededException BandwidthLimitExceeded SlowDown "
        "PriorRequestNotComplete EC2ThrottledException RequestRateTooLarge "
        "TransactionInProgressException LimitExceededException "
        "ConcurrentInvocationLimitExceeded",
        RATE,
    ),
    (
        "a quota is used up",
        "ServiceQuotaExceededException QuotaExceededException VcpuLimitExceeded "
        "InstanceLimitExceeded BucketLimitExceeded TooManyBuckets",
        QUOTA,
    ),
    (
        "credentials expired",
        "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired "
        "RequestTimeTooSkewed",
        DENIED,
    ),
    (
        "access is denied",
        "AccessDenied AccessDeniedException UnauthorizedOperation AuthFailure "
        "InvalidClientTokenId UnrecognizedClientException SignatureDoesNotMatch "
        "InvalidAccessKeyId MissingAuthenticationToken OptInRequired AccountProblem "
        "InvalidSignatureException IncompleteSignature NotAuthorized Forbidden 403 401 "
        "KMSAccessDeniedException AllAccessDisabled InvalidToken MissingAuthentication",
        DENIED,
    ),
    (
        "the service is not available",
        "ServiceUnavailable ServiceUnavailableException InternalError InternalFailure "
        "InternalServerError InternalServerException InternalServiceError 500 502 503 504 "
        "ModelNotReadyException ModelStreamErrorException InsufficientInstanceCapacity "
        "InsufficientCapacity 529 ServiceException",
        DOWN,
    ),
    (
        "the request timed out",
        "RequestTimeout RequestTimeoutException ModelTimeoutException",
        NETWORK,
    ),
    (
        "the state changed or collides",
        "OperationAborted ConflictException ResourceInUseException "
        "TransactionConflictException TransactionCanceledException "
        "ConcurrentModificationException IncorrectState ResourceInUse",
        CONFLICT,
    ),
    (
        "a condition on the stored state failed",
        "ConditionalCheckFailedException PreconditionFailed 412 InvalidObjectState",
        STALE,
    ),
    (
        "it exists already",
        "BucketAlreadyExists BucketAlreadyOwnedByYou ResourceAlreadyExistsException "
        "EntityAlreadyExists EntityAlreadyExistsException AlreadyExistsException "
        "InvalidKeyPair.Duplicate InvalidGroup.Duplicate QueueAlreadyExists "
        "DBInstanceAlreadyExists IdempotentParameterMismatch "
        "IdempotentParameterMismatchException",
        PROBE_ARGS,
    ),
    (
        "the thing is not there",
        "NoSuchKey NoSuchBucket NoSuchEntity NoSuchUpload NoSuchVersion 404 NotFound "
        "ResourceNotFoundException InvalidInstanceID.NotFound EntityNotFoundException "
        "StackNotFoundException FunctionNotFound QueueDoesNotExist NotFoundException",
        BAD_ARGS,
    ),
    (
        "the request is too large",
        "EntityTooLarge RequestEntityTooLarge RequestEntityTooLargeException "
        "PayloadTooLargeException ItemCollectionSizeLimitExceededException "
        "RequestTooLargeException MaxMessageLengthExceeded",
        EXHAUSTED,
    ),
)

_MCP_RULES: tuple[tuple[str, Predicate, Verdict], ...] = (
    ("the request timed out", code("-32001"), NETWORK),
    ("the connection closed", code("-32000"), RECONNECT),
    ("the message was no JSON", code("-32700"), BAD_ARGS),
    ("the request is not valid", code("-32600"), BAD_ARGS),
    ("the method or tool is not there", code("-32601"), INCAPABLE),
    ("the arguments do not fit", code("-32602"), BAD_ARGS),
    ("the resource is not there", code("-32002"), BAD_ARGS),
    ("the user must act first", code("-32042"), DENIED),
)
_MCP_WRONG = says(
    r"exceeds?|invalid|must (?:be|have|not)|required|missing|not (?:found|valid|allowed)"
    r"|unknown|too (?:long|large|many)|unexpected|cannot|does not|no such|malformed"
    r"|out of range|expected|unsupported"
)
_MCP_ERROR = says(r"error|fail|exception|denied|refused")


def _is_result(seen: Seen) -> bool:
    return seen.facts.family == "mcp" and "isError" in seen.text


def _in_client_error(seen: Seen) -> bool:
    return seen.facts.family == "boto3"


_SAYS_RETRIES_USED = says(r"reached max retries: [1-9]")

GRPC_RULES: tuple[Rule, ...] = tuple(
    Rule(f"gRPC: {name}", every(_GRPC, when), verdict)
    for name, when, verdict in _GRPC_RULES
)

BOTO_RULES: tuple[Rule, ...] = (
    Rule(
        "AWS: throttled, and the client's own short waits are used up",
        every(_in_client_error, _SAYS_RETRIES_USED, code(*_BOTO_CODES[0][1].split())),
        RATE,
        wait_s=60.0,
    ),
    Rule(
        "AWS: the input is too long",
        every(_in_client_error, says(r"input is too long|too many (?:input )?tokens")),
        EXHAUSTED,
    ),
    Rule(
        "AWS: a rate is exceeded",
        every(_in_client_error, says(r"rate exceeded|throttl|too many requests")),
        RATE,
    ),
    Rule(
        "AWS: the role may not do that",
        every(_in_client_error, says(r"is not authorized to perform|explicit deny")),
        DENIED,
    ),
    *(
        Rule(f"AWS: {name}", every(_in_client_error, code(*codes.split())), verdict)
        for name, codes, verdict in _BOTO_CODES
    ),
    Rule(
        "AWS: no credentials",
        some(
            named(
                "NoCredentialsError",
                "PartialCredentialsError",
                "ProfileNotFound",
                "CredentialRetrievalError",
                "TokenRetrievalError",
                "UnauthorizedSSOTokenError",
                "SSOTokenLoadError",
            ),
            says(r"unable to locate credentials"),
        ),
        DENIED,
    ),
    Rule(
        "AWS: the endpoint was not reached",
        named(
            "EndpointConnectionError",
            "ConnectTimeoutError",
            "ReadTimeoutError",
            "ConnectionClosedError",
        ),
        NETWORK,
    ),
    Rule(
        "AWS: the parameters do not fit",
        named(
            "ParamValidationError",
            "NoRegionError",
            "InvalidRegionError",
            "UnknownServiceError",
            "DataNotFoundError",
        ),
        BAD_ARGS,
    ),
    Rule("AWS: the waiter gave up", named("WaiterError"), DOWN, 0.7),
    Rule("AWS: the request is refused", _in_client_error, BAD_ARGS, 0.7),
)

MCP_RULES: tuple[Rule, ...] = (
    Rule(
        "MCP: the session is gone",
        every(family("mcp"), says(r"session (?:not found|terminated|expired)")),
        RECONNECT,
    ),
    *(
        Rule(f"MCP: {name}", every(family("mcp"), when), verdict)
        for name, when, verdict in _MCP_RULES
    ),
    Rule(
        "MCP: the arguments are refused in the result",
        every(_is_result, _MCP_WRONG, none_of(says(r"permission|unauthor|forbidden"))),
        BAD_ARGS,
        0.8,
    ),
    Rule(
        "MCP: access is denied in the result",
        every(_is_result, says(r"permission|unauthor|forbidden|access denied")),
        DENIED,
        0.8,
    ),
    Rule(
        "MCP: the request timed out",
        every(_is_result, says(r"timed? ?out")),
        NETWORK,
        0.8,
    ),
    Rule("MCP: the tool reports an error", every(_is_result, _MCP_ERROR), FAULTY, 0.65),
    Rule(
        "MCP: the server has an internal fault",
        every(family("mcp"), code("-32603")),
        FAULTY,
        0.7,
    ),
    Rule(
        "MCP: credentials must be renewed",
        every(family("mcp"), says(r"token (?:has )?expired")),
        RENEW,
        0.7,
    ),
    Rule(
        "MCP: the tool list changed",
        every(family("mcp"), says(r"unknown tool|tool .* not found")),
        CHANGED,
        0.7,
    ),
)
