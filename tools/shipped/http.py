"""HTTP tools for a list of allowed hosts; an error answer is raised whole."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from mendgraph.state.policy import Effect, ToolPolicy
from mendgraph.tools.shipped.toolkit import Toolkit, make_tool

Method = Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]

KEPT_HEADERS = (
    "api-version",
    "deprecation",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "sunset",
    "warning",
    "x-api-version",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-request-id",
)
"""Headers an output keeps: signs of change (RFC 9745, RFC 8594), waiting, place."""


@dataclass(frozen=True)
class HttpTools:
    """The tools' functions over one list of hosts."""

    base_url: str
    allow: frozenset[str]
    headers: dict[str, str] = field(repr=False)
    timeout_s: float
    max_bytes: int
    transport: Callable[[], httpx.BaseTransport]

    def get(
        self,
        url: str,
        params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Read a web address with GET.

        Returns `status`, `headers` (the telling ones), `content_type` and `body`: JSON
        when the answer says so, else text. A status of 400 or more is raised.
        """
        return self._send("GET", url, params, None, headers or {}, timeout_s)

    def request(
        self,
        method: Method,
        url: str,
        params: dict[str, Any] | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
        idempotency_key: str | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Send one HTTP request that may change something; it is never repeated here.

        `body` is sent as JSON, `idempotency_key` as the `Idempotency-Key` header.
        Returns `status`, `headers`, `content_type` and `body`. A status of 400 or more
        is raised.
        """
        sent = dict(headers or {})
        if idempotency_key:
            sent["Idempotency-Key"] = idempotency_key
        return self._send(method, url, params, body, sent, timeout_s)

    def _send(
        self,
        method: str,
        url: str,
        params: dict[str, Any] | None,
        body: Any,
        headers: dict[str, str],
        timeout_s: float | None,
    ) -> dict[str, Any]:
        target = self._allowed(url)
        with httpx.Client(
            transport=self.transport(), timeout=timeout_s or self.timeout_s
        ) as client:
            request = client.build_request(
                method,
                target,
                params=params,
                json=body,
                headers={**self.headers, **headers},
            )
            response, truncated = _read(client, request, self.max_bytes)
        if response.is_error:
            response.raise_for_status()
        return {
            "status": response.status_code,
            "headers": _telling(response.headers),
            "content_type": response.headers.get("content-type", ""),
            "body": _body(response, truncated=truncated),
            "truncated": truncated,
        }

    def _allowed(self, url: str) -> httpx.URL:
        """Return the full address, or refuse its host.

        Raises:
            PermissionError: The host is not on the list.
            ValueError: There is no host, or the scheme is not HTTP.
        """
        target = httpx.URL(self.base_url).join(url) if self.base_url else httpx.URL(url)
        if target.scheme not in ("http", "https") or not target.host:
            raise ValueError(f"{url!r} is no http(s) address; give a full one")
        if not self.allow & {target.host, target.netloc.decode()}:
            known = ", ".join(sorted(self.allow)) or "none"
            raise PermissionError(
                f"host {target.host!r} is not allowed; allowed: {known}"
            )
        return target


def http_tools(
    base_url: str = "",
    *,
    allow: Sequence[str] = (),
    headers: dict[str, str] | None = None,
    prefix: str = "http",
    timeout_s: float = 30.0,
    max_bytes: int = 1_000_000,
    transport: Callable[[], httpx.BaseTransport] = lambda: httpx.HTTPTransport(
        retries=0
    ),
) -> Toolkit:
    """Return `http_get` (reads) and `http_request` (writes, with idempotency key).

    Args:
        base_url: Start of relative addresses; its host is allowed.
        allow: Further hosts, as `host` or `host:port`. Redirects are not followed.
        headers: Sent with every request, for example an authorisation.
        prefix: Start of the tools' names.
        timeout_s: Limit of connecting and of each read, in seconds.
        max_bytes: A longer body is cut, and the output says so.
        transport: Makes the transport of one call.
    """
    own = {httpx.URL(base_url).netloc.decode()} if base_url else set()
    hosts = frozenset(own | set(allow))
    tools = HttpTools(
        base_url, hosts, dict(headers or {}), timeout_s, max_bytes, transport
    )
    service = httpx.URL(base_url).host if base_url else prefix
    policies = {
        f"{prefix}_{name}": policy.but(service=service, timeout_s=timeout_s + 30)
        for name, policy in POLICIES.items()
    }
    made = tuple(
        make_tool(getattr(tools, name), f"{prefix}_{name}") for name in POLICIES
    )
    return Toolkit(made, policies)


POLICIES: dict[str, ToolPolicy] = {
    "get": ToolPolicy(
        effect=Effect.READ,
        idempotent=True,
        tool_class="http_read",
        required_fields=("status",),
    ),
    "request": ToolPolicy(
        effect=Effect.WRITE,
        idempotency_arg="idempotency_key",
        tool_class="http_write",
        required_fields=("status",),
        secret_args=("headers",),
    ),
}


def _read(
    client: httpx.Client, request: httpx.Request, limit: int
) -> tuple[httpx.Response, bool]:
    """Return the response, its body cut at `limit` bytes, and whether it was cut."""
    response = client.send(request, stream=True)
    body = bytearray()
    try:
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > limit:
                break
    finally:
        response.close()
    headers = [
        (name, value)
        for name, value in response.headers.multi_items()
        # The body is decoded here, so it is no longer what these describe.
        if name.lower() not in ("content-encoding", "content-length")
    ]
    whole = httpx.Response(
        response.status_code,
        headers=headers,
        content=bytes(body[:limit]),
        request=request,
    )
    return whole, len(body) > limit


def _telling(headers: httpx.Headers) -> dict[str, str]:
    return {name: headers[name] for name in KEPT_HEADERS if name in headers}


def _body(response: httpx.Response, *, truncated: bool) -> Any:
    """Return parsed JSON when the answer is JSON, else its text.

    Raises:
        ValueError: The answer says JSON and is none; the message shows its start.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    is_json = kind == "application/json" or kind.endswith("+json")
    if not is_json or truncated or not response.content:
        return response.text
    try:
        return response.json()
    except json.JSONDecodeError as error:
        raise ValueError(
            f"the answer says {kind} and is no JSON: {response.text[:200]!r}"
        ) from error
