"""Redis, Kafka and AMQP by their own words and codes.

Sources: Redis error prefixes, Kafka protocol error codes, AMQP 0-9-1.
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    CONFLICT,
    DENIED,
    DOWN,
    EXHAUSTED,
    FULL_THERE,
    INCAPABLE,
    NETWORK,
    PROBE_ARGS,
    RATE,
    RECONNECT,
    REDIRECTED,
    STALE,
    STOPPED,
    UNMET,
    UNREACHED,
    Predicate,
    Rule,
    Seen,
    Verdict,
    every,
    family,
    named,
    package,
    says,
    some,
)

_REDIS_WORDS: tuple[tuple[str, str, Verdict], ...] = (
    ("memory is used up", r"OOM command not allowed", FULL_THERE),
    ("it is loading its data", r"\bLOADING\b.*(?:loading|memory)|BusyLoading", DOWN),
    ("a script is running", r"\bBUSY (?:Redis|script)", DOWN),
    ("the consumer group exists", r"\bBUSYGROUP\b", PROBE_ARGS),
    ("the cluster is moving keys", r"\b(?:MOVED|ASK) \d+|\bTRYAGAIN\b", REDIRECTED),
    ("the cluster is down", r"\bCLUSTERDOWN\b|\bMASTERDOWN\b|NOREPLICAS", DOWN),
    ("the replica takes no writes", r"(?:\bREADONLY )?You can't write", REDIRECTED),
    ("it cannot save to disk", r"\bMISCONF\b", FULL_THERE),
    (
        "the login is refused",
        (
            r"\bNOAUTH\b|\bWRONGPASS\b|invalid (?:username-)?password"
            r"|AUTH <password>|client sent AUTH"
        ),
        DENIED,
    ),
    ("the right is missing", r"\bNOPERM\b", DENIED),
    ("the key has another type", r"\bWRONGTYPE\b", BAD_ARGS),
    ("keys of one command lie apart", r"\bCROSSSLOT\b", BAD_ARGS),
    ("the script is not loaded", r"\bNOSCRIPT\b", UNMET),
    ("the group is not there", r"\bNOGROUP\b", UNMET),
    ("the instance is unblocked", r"\bUNBLOCKED\b|\bUNKILLABLE\b", DOWN),
    ("the transaction was dropped", r"\bEXECABORT\b", BAD_ARGS),
    ("too many clients", r"max number of clients reached", DOWN),
    ("the command is unknown", r"ERR unknown (?:sub)?command", INCAPABLE),
    (
        "the arguments are wrong",
        (
            r"ERR (?:wrong number of arguments|value is not|syntax"
            r"|invalid|index out of range|no such key|increment)|\bERR\b"
        ),
        BAD_ARGS,
    ),
    ("protected mode", r"\bDENIED Redis is running in protected mode", DENIED),
)
_REDIS: Predicate = some(
    family("redis"),
    package("redis", "aioredis"),
    says(
        r"\bredis\b|(?:^|: )(?:MOVED|ASK) \d+ \S+:\d+|(?:^|: )(?:CROSSSLOT|CLUSTERDOWN"
        r"|WRONGTYPE|NOAUTH|WRONGPASS|MISCONF|NOSCRIPT|MASTERDOWN|BUSYGROUP|EXECABORT"
        r"|NOPERM|TRYAGAIN|READONLY|LOADING|OOM command)\b"
    ),
)

_KAFKA_NAMES: tuple[tuple[str, str, Verdict], ...] = (
    (
        "metadata did not come: broker or topic",
        r"failed to update metadata|topic .{0,60} not present in metadata",
        UNREACHED,
    ),
    (
        "no broker is reached",
        (
            r"NoBrokersAvailable|_ALL_BROKERS_DOWN|_TRANSPORT|broker transport failure"
            r"|NodeNotReady|BrokerConnectionError|KafkaConnectionError|_RESOLVE"
            r"|Bootstrap broker .* disconnected|NETWORK_EXCEPTION"
        ),
        NETWORK,
    ),
    (
        "the leader is being chosen",
        (
            r"LEADER_NOT_AVAILABLE|NOT_LEADER|NotLeaderFor|LeaderNotAvailable"
            r"|COORDINATOR_(?:NOT_AVAILABLE|LOAD_IN_PROGRESS)|NOT_COORDINATOR"
            r"|NOT_ENOUGH_REPLICAS"
            r"|Coordinator(?:NotAvailable|LoadInProgress)|NotCoordinator"
            r"|NotEnoughReplicas"
            r"|BROKER_NOT_AVAILABLE|NOT_CONTROLLER|REPLICA_NOT_AVAILABLE"
            r"|KAFKA_STORAGE_ERROR"
        ),
        DOWN,
    ),
    (
        "the group is rebalancing",
        (
            r"REBALANCE_IN_PROGRESS|RebalanceInProgress|CommitFailedError"
            r"|ILLEGAL_GENERATION"
            r"|IllegalGeneration|UNKNOWN_MEMBER_ID|UnknownMemberId|MEMBER_ID_REQUIRED"
            r"|FENCED_INSTANCE_ID|partitions revoked"
        ),
        CONFLICT,
    ),
    (
        "another producer took over",
        r"PRODUCER_FENCED|ProducerFenced|INVALID_PRODUCER_EPOCH",
        STALE,
    ),
    (
        "the topic is not there",
        r"UNKNOWN_TOPIC_OR_PART|UnknownTopicOrPartition|Unknown topic",
        UNMET,
    ),
    ("the topic exists", r"TOPIC_ALREADY_EXISTS|TopicAlreadyExists", PROBE_ARGS),
    (
        "the right is missing",
        (
            r"(?:TOPIC|GROUP|CLUSTER|TRANSACTIONAL_ID)_AUTHORIZATION_FAILED"
            r"|AuthorizationFailed"
            r"|SASL_AUTHENTICATION_FAILED|_AUTHENTICATION|SaslAuthentication"
            r"|AuthenticationFailed"
        ),
        DENIED,
    ),
    (
        "the message is too large",
        (
            r"MSG_SIZE_TOO_LARGE|MessageSizeTooLarge|MESSAGE_TOO_LARGE"
            r"|RECORD_LIST_TOO_LARGE"
            r"|RecordListTooLarge|RecordTooLarge"
        ),
        EXHAUSTED,
    ),
    ("the send buffer is full", r"_QUEUE_FULL|BufferError|Queue full", DOWN),
    ("the offset is gone", r"OFFSET_OUT_OF_RANGE|OffsetOutOfRange", STALE),
    ("the offset is gone", r"_NO_OFFSET|NoOffsetForPartition", STALE),
    ("the quota slows us", r"THROTTLING_QUOTA_EXCEEDED|QuotaViolation", RATE),
    ("the message is damaged", r"CORRUPT_MESSAGE|CorruptRecord|CorruptMessage", DOWN),
    (
        "the version does not fit",
        (
            r"UNSUPPORTED_VERSION|UnsupportedVersion"
            r"|IncompatibleBrokerVersion|UnrecognizedBrokerVersion|UnsupportedCodec"
        ),
        INCAPABLE,
    ),
    (
        "the request is wrong",
        (
            r"INVALID_(?:REQUEST|CONFIG|TOPIC|PARTITIONS|REPLICATION"
            r"|RECORD|TIMESTAMP)|Invalid(?:Topic|Partitions|ReplicationFactor|Config)"
        ),
        BAD_ARGS,
    ),
    (
        "a request timed out",
        (
            r"KafkaTimeoutError|REQUEST_TIMED_OUT|_TIMED_OUT|_MSG_TIMED_OUT"
            r"|RequestTimedOut|local: timed out"
        ),
        NETWORK,
    ),
)
_KAFKA: Predicate = some(
    family("kafka"),
    package("kafka", "aiokafka", "confluent_kafka"),
    says(
        r"kafka|AuthorizationFailedError|\b(?:local|broker): |NoBrokersAvailable"
        r"|_ALL_BROKERS_DOWN|UNKNOWN_TOPIC_OR_PART"
        r"|LEADER_NOT_AVAILABLE|NOT_LEADER_(?:FOR|OR)|REBALANCE_IN_PROGRESS"
        r"|COORDINATOR_NOT_AVAILABLE|OFFSET_OUT_OF_RANGE|_AUTHORIZATION_FAILED"
        r"|MSG_SIZE_TOO_LARGE|MessageSizeTooLarge|CommitFailedError"
    ),
)


def _cancelled_consumer(seen: Seen) -> bool:
    return "ConsumerStoppedError" in seen.names or "KafkaConsumerClosed" in seen.names


RULES: tuple[Rule, ...] = (
    *(
        Rule(f"Redis: {name}", every(_REDIS, says(words)), verdict)
        for name, words, verdict in _REDIS_WORDS
    ),
    Rule("Redis: a watched key changed", named("WatchError"), CONFLICT),
    Rule("Redis: a lock is held", named("LockError", "LockNotOwnedError"), DOWN, 0.75),
    Rule(
        "Redis: the client's pool is used up", named("MaxConnectionsError"), DOWN, 0.8
    ),
    Rule("Kafka: the consumer was stopped", _cancelled_consumer, STOPPED),
    *(
        Rule(f"Kafka: {name}", every(_KAFKA, says(words)), verdict)
        for name, words, verdict in _KAFKA_NAMES
    ),
    Rule(
        "AMQP: the broker refuses access",
        says(r"ACCESS_REFUSED"),
        DENIED,
    ),
    Rule(
        "AMQP: the queue is not there",
        says(r"NOT_FOUND - no (?:queue|exchange)"),
        UNMET,
    ),
    Rule(
        "AMQP: declared otherwise",
        says(r"PRECONDITION_FAILED - inequivalent"),
        BAD_ARGS,
    ),
    Rule("AMQP: the queue is in use", says(r"RESOURCE_LOCKED"), DOWN),
    Rule(
        "AMQP: the connection broke",
        named(
            "AMQPConnectionError",
            "StreamLostError",
            "ConnectionClosedByBroker",
            "ChannelWrongStateError",
            "ConnectionWrongStateError",
        ),
        RECONNECT,
    ),
)
