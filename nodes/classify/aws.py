"""AWS by the error code boto3 reports, whatever the service.

Source: AWS common error types and the retry lists of botocore.
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    CONFLICT,
    DENIED,
    DOWN,
    EXHAUSTED,
    NETWORK,
    PROBE_ARGS,
    QUOTA,
    RATE,
    STALE,
    Rule,
    Seen,
    Verdict,
    code,
    every,
    named,
    says,
    some,
)

_BOTO_CODES: tuple[tuple[str, str, Verdict], ...] = (
    (
        "throttled",
        (
            "Throttling ThrottlingException ThrottledException RequestThrottled "
            "RequestThrottledException TooManyRequestsException RequestLimitExceeded "
            "ProvisionedThroughputExceededException BandwidthLimitExceeded SlowDown "
            "PriorRequestNotComplete EC2ThrottledException RequestRateTooLarge "
            "TransactionInProgressException LimitExceededException "
            "ConcurrentInvocationLimitExceeded"
        ),
        RATE,
    ),
    (
        "a quota is used up",
        (
            "ServiceQuotaExceededException QuotaExceededException VcpuLimitExceeded "
            "InstanceLimitExceeded BucketLimitExceeded TooManyBuckets"
        ),
        QUOTA,
    ),
    (
        "credentials expired",
        (
            "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired "
            "RequestTimeTooSkewed"
        ),
        DENIED,
    ),
    (
        "access is denied",
        (
            "AccessDenied AccessDeniedException UnauthorizedOperation AuthFailure "
            "InvalidClientTokenId UnrecognizedClientException SignatureDoesNotMatch "
            "InvalidAccessKeyId MissingAuthenticationToken OptInRequired "
            "AccountProblem "
            "InvalidSignatureException IncompleteSignature NotAuthorized Forbidden "
            "403 401 "
            "KMSAccessDeniedException AllAccessDisabled InvalidToken "
            "MissingAuthentication"
        ),
        DENIED,
    ),
    (
        "the service is not available",
        (
            "ServiceUnavailable ServiceUnavailableException InternalError "
            "InternalFailure "
            "InternalServerError InternalServerException InternalServiceError 500 502 "
            "503 "
            "504 "
            "ModelNotReadyException ModelStreamErrorException "
            "InsufficientInstanceCapacity "
            "InsufficientCapacity 529 ServiceException"
        ),
        DOWN,
    ),
    (
        "the request timed out",
        "RequestTimeout RequestTimeoutException ModelTimeoutException",
        NETWORK,
    ),
    (
        "the state changed or collides",
        (
            "OperationAborted ConflictException ResourceInUseException "
            "TransactionConflictException TransactionCanceledException "
            "ConcurrentModificationException IncorrectState ResourceInUse"
        ),
        CONFLICT,
    ),
    (
        "a condition on the stored state failed",
        "ConditionalCheckFailedException PreconditionFailed 412 InvalidObjectState",
        STALE,
    ),
    (
        "it exists already",
        (
            "BucketAlreadyExists BucketAlreadyOwnedByYou "
            "ResourceAlreadyExistsException "
            "EntityAlreadyExists EntityAlreadyExistsException AlreadyExistsException "
            "InvalidKeyPair.Duplicate InvalidGroup.Duplicate QueueAlreadyExists "
            "DBInstanceAlreadyExists IdempotentParameterMismatch "
            "IdempotentParameterMismatchException"
        ),
        PROBE_ARGS,
    ),
    (
        "the thing is not there",
        (
            "NoSuchKey NoSuchBucket NoSuchEntity NoSuchUpload NoSuchVersion 404 "
            "NotFound "
            "ResourceNotFoundException InvalidInstanceID.NotFound "
            "EntityNotFoundException "
            "StackNotFoundException FunctionNotFound QueueDoesNotExist "
            "NotFoundException"
        ),
        BAD_ARGS,
    ),
    (
        "the request is too large",
        (
            "EntityTooLarge RequestEntityTooLarge RequestEntityTooLargeException "
            "PayloadTooLargeException ItemCollectionSizeLimitExceededException "
            "RequestTooLargeException MaxMessageLengthExceeded"
        ),
        EXHAUSTED,
    ),
)


def _in_client_error(seen: Seen) -> bool:
    return seen.facts.family == "boto3"


_SAYS_RETRIES_USED = says(r"reached max retries: [1-9]")

RULES: tuple[Rule, ...] = (
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
