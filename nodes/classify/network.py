"""The way to a service: names, connections, TLS and proxies, whoever reports them.

Sources: getaddrinfo(3), RFC 8446 alerts, and the exceptions of requests, urllib3,
httpx, aiohttp and websockets.
"""

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    DENIED,
    NETWORK,
    RECONNECT,
    UNTRUSTED,
    Rule,
    errno_in,
    every,
    named,
    none_of,
    says,
    some,
)

_HTTP_ERROR = named("HTTPStatusError")
_NO_TIMEOUT = none_of(
    named("ReadTimeout", "WriteTimeout", "APITimeoutError", "PoolTimeout")
)

RULES: tuple[Rule, ...] = (
    Rule(
        "the name server did not answer",
        some(
            errno_in(-3, 11002),
            says(
                r"temporary failure in name resolution|EAI_AGAIN|try again.*name"
                r"|name resolution (?:timed out|failure)|server misbehaving"
                r"|SERVFAIL|DNS (?:operation timed out|timeout)|LifetimeTimeout"
                r"|NoNameservers|no servers could be reached"
            ),
        ),
        NETWORK,
    ),
    Rule(
        "the host name is unknown",
        some(
            errno_in(-2, -5, 11001),
            every(named("gaierror"), errno_in(8)),
            says(
                r"name or service not known|nodename nor servname|\bENOTFOUND\b"
                r"|no address associated with hostname|could not resolve host"
                r"|getaddrinfo failed|no such host|NXDOMAIN|unknown host"
                r"|ERR_NAME_NOT_RESOLVED|name does not resolve|could not translate host"
                r"|failed to resolve|host not found|hostname could not be resolved"
            ),
        ),
        BAD_ARGS,
        0.7,
    ),
    Rule(
        "the URL or address is wrong",
        some(
            named(
                "InvalidURL",
                "MissingSchema",
                "InvalidSchema",
                "UnsupportedProtocol",
                "LocationParseError",
                "LocationValueError",
                "InvalidUrlClientError",
                "NonHttpUrlClientError",
                "URLSchemeUnknown",
                "InvalidProxyURL",
                "InvalidURI",
                "InvalidHeader",
                "LocalProtocolError",
            ),
            says(
                r"invalid URL|no scheme supplied|unknown url type"
                r"|no connection adapters"
                r"|unsupported protocol|ERR_INVALID_URL|missing an? 'https?://'"
                r"|connect(?:ion)? to (?:host )?0\.0\.0\.0|failed to parse"
                r"|no host supplied|relative URL"
            ),
        ),
        BAD_ARGS,
        0.8,
    ),
    Rule(
        "the TLS port speaks another protocol",
        says(
            r"WRONG_VERSION_NUMBER|unknown protocol|http request to an? https"
            r"|plain HTTP request was sent to HTTPS|packet length too long"
            r"|record layer failure"
        ),
        BAD_ARGS,
        0.75,
    ),
    Rule(
        "the certificate is not trusted",
        some(
            named("SSLCertVerificationError", "ClientConnectorCertificateError"),
            says(
                r"CERTIFICATE_VERIFY_FAILED|certificate verify failed"
                r"|self[- ]signed cert"
                r"|unable to get (?:local )?issuer|certificate has expired"
                r"|hostname mismatch|doesn't match .*certificate|ERR_CERT_|x509:"
                r"|UNABLE_TO_VERIFY|DEPTH_ZERO_SELF|unknown ca\b|tlsv1 alert unknown ca"
                r"|certificate is not trusted|CERT_HAS_EXPIRED|bad certificate"
                r"|certificate required"
            ),
        ),
        UNTRUSTED,
    ),
    Rule(
        "TLS versions or ciphers do not fit",
        says(
            r"TLSV1_ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_CIPHERS|DH_KEY_TOO"
            r"|SSLV3_ALERT_HANDSHAKE_FAILURE|sslv3 alert handshake|UNSAFE_LEGACY"
            r"|no shared cipher|EE_KEY_TOO_SMALL|inappropriate fallback"
        ),
        UNTRUSTED,
    ),
    Rule(
        "the proxy wants a login",
        says(r"proxy authentication required|tunnel connection failed: 407"),
        DENIED,
    ),
    Rule(
        "the proxy was not reached",
        some(
            named("ProxyError", "ClientProxyConnectionError", "ProxyConnectionError"),
            says(
                r"cannot connect to proxy|ERR_PROXY_CONNECTION|tunnel connection failed"
            ),
        ),
        NETWORK,
    ),
    Rule(
        "the answer broke off in its middle",
        some(
            named(
                "IncompleteRead",
                "ChunkedEncodingError",
                "ClientPayloadError",
                "ContentLengthError",
                "IncompleteReadError",
            ),
            says(
                r"incomplete (?:chunked )?(?:read|message)"
                r"|peer closed connection without"
                r"|not all data was received|payload is not completed"
                r"|invalidchunklength"
                r"|premature(?:ly)? (?:close|end)|ERR_INCOMPLETE_CHUNKED"
            ),
        ),
        NETWORK,
        0.85,
    ),
    Rule(
        "the connection broke",
        some(
            named(
                "RemoteProtocolError",
                "ProtocolError",
                "RemoteDisconnected",
                "ServerDisconnectedError",
                "ReadError",
                "WriteError",
                "CloseError",
                "ConnectionResetError",
                "BrokenPipeError",
                "ConnectionAbortedError",
                "ConnectionClosedError",
                "ConnectionClosedOK",
                "ConnectionClosed",
                "EndOfStream",
                "BrokenResourceError",
                "ClosedResourceError",
                "ServerClosedError",
                "SSLEOFError",
                "SSLZeroReturnError",
                "StreamError",
                "ClientOSError",
                "BadStatusLine",
                "StreamReset",
            ),
            says(
                r"peer closed connection|incomplete (?:chunked )?(?:read|message)"
                r"|connection (?:was )?(?:reset|aborted|closed|broken|dropped|lost)"
                r"|remote end closed|server disconnected|socket hang up|EOF occurred"
                r"|broken pipe|ECONNRESET|EPIPE|unexpected EOF|unexpected_eof"
                r"|premature(?:ly)? (?:close|end)|invalidchunklength|IncompleteRead"
                r"|stream (?:was )?(?:reset|closed)|not all data was received"
                r"|ERR_(?:CONNECTION_(?:RESET|CLOSED|ABORTED)|EMPTY_RESPONSE"
                r"|NETWORK_CHANGED"
                r"|INCOMPLETE_CHUNKED|HTTP2_PROTOCOL|SOCKET_NOT_CONNECTED)"
                r"|no close frame received|keepalive ping timeout|terminated connection"
                r"|transport endpoint is not connected|early EOF|hung up unexpectedly"
                r"|cannot operate on a closed (?:database|cursor|connection)|GOAWAY"
                r"|empty reply from server|connection interrupted"
            ),
        ),
        RECONNECT,
        0.85,
    ),
    Rule(
        "the connection could not be made",
        every(
            _NO_TIMEOUT,
            some(
                named(
                    "ConnectError",
                    "ConnectionRefusedError",
                    "NewConnectionError",
                    "ConnectTimeout",
                    "ClientConnectorError",
                    "APIConnectionError",
                    "ConnectionTimeoutError",
                    "MaxRetryError",
                    "ClientConnectionError",
                    "ServerConnectionError",
                    "NetworkError",
                    "EndpointConnectionError",
                    "NoValidConnectionsError",
                    "ConnectionError",
                    "TransportError",
                    "ServerSelectionTimeoutError",
                    "AutoReconnect",
                    "ClientConnectorDNSError",
                ),
                says(
                    r"connection refused|ECONNREFUSED"
                    r"|failed to establish a new connection"
                    r"|(?:cannot|could not|couldn't|failed to|unable to) (?:connect"
                    r"|reach)"
                    r"|network (?:is )?unreachable|no route to host|host is (?:down"
                    r"|unreach)"
                    r"|actively refused|max retries exceeded|EHOSTUNREACH|ENETUNREACH"
                    r"|ERR_(?:CONNECTION_(?:REFUSED|TIMED_OUT|FAILED)"
                    r"|INTERNET_DISCONNECTED"
                    r"|ADDRESS_UNREACHABLE|NETWORK|TIMED_OUT)|connection error"
                    r"|all connection attempts failed|fetch failed|network ?error"
                    r"|is the docker daemon running|TLS handshake timeout"
                    r"|connect timeout"
                    r"|连接(?:失败|被拒绝|超时|错误)|网络(?:错误|异常|不可达)"
                ),
            ),
        ),
        NETWORK,
        0.8,
    ),
    Rule("TLS failed", every(named("SSLError"), none_of(_HTTP_ERROR)), UNTRUSTED, 0.65),
)
