"""The HTTP tools: allowed hosts only, errors raised whole, nothing repeated."""

import asyncio
import gzip

import httpx
import pytest

from mendgraph.state.policy import Effect
from mendgraph.tools.registry import make_registry
from mendgraph.tools.shipped.http import http_tools

SHOP = "https://shop.example/api/"


def tools(answer, **options):
    """Return the tools over a transport that answers by a function."""
    seen = []

    def handle(request):
        seen.append(request)
        return answer(request)

    kit = http_tools(SHOP, transport=lambda: httpx.MockTransport(handle), **options)
    return kit, seen


def test_json_comes_back_with_the_telling_headers():
    """Status, JSON body and the headers that tell of change and waiting."""
    kit, seen = tools(
        lambda _: httpx.Response(
            200,
            json={"id": 7},
            headers={"Deprecation": "@1688169599", "Sunset": "soon", "X-Secret": "s"},
        )
    )
    found = kit["http_get"].invoke({"url": "orders/7", "params": {"full": 1}})
    assert str(seen[0].url) == "https://shop.example/api/orders/7?full=1"
    assert (found["status"], found["body"]) == (200, {"id": 7})
    assert found["headers"] == {"deprecation": "@1688169599", "sunset": "soon"}


def test_text_comes_back_as_text_by_ainvoke():
    """Anything but JSON is text."""
    kit, _ = tools(lambda _: httpx.Response(200, text="hello"))
    found = asyncio.run(kit["http_get"].ainvoke({"url": "x"}))
    assert (found["body"], found["content_type"]) == (
        "hello",
        "text/plain; charset=utf-8",
    )


@pytest.mark.parametrize("status", [400, 404, 429, 503])
def test_an_error_status_is_raised_with_all_it_says(status):
    """Status, headers and body stay readable on the exception; one request is sent."""
    kit, seen = tools(
        lambda _: httpx.Response(
            status, json={"error": "no"}, headers={"Retry-After": "7"}
        )
    )
    with pytest.raises(httpx.HTTPStatusError) as caught:
        kit["http_get"].invoke({"url": "x"})
    response = caught.value.response
    assert (response.status_code, response.json()) == (status, {"error": "no"})
    assert response.headers["retry-after"] == "7"
    assert len(seen) == 1


def test_a_lost_connection_is_not_repeated():
    """Retries have one owner, and it is not the transport."""

    def lose(request):
        raise httpx.ConnectError("refused", request=request)

    kit, seen = tools(lose)
    with pytest.raises(httpx.ConnectError):
        kit["http_request"].invoke({"method": "POST", "url": "pay", "body": {}})
    assert len(seen) == 1


def test_the_idempotency_key_is_a_header():
    """The executor fills the argument; the service sees the header."""
    kit, seen = tools(lambda _: httpx.Response(201, json={}))
    call = {"method": "POST", "url": "pay", "body": {"n": 1}, "idempotency_key": "k1"}
    kit["http_request"].invoke(call)
    assert seen[0].headers["Idempotency-Key"] == "k1"
    assert seen[0].content == b'{"n":1}'
    assert kit.policies["http_request"].idempotency_arg == "idempotency_key"


@pytest.mark.parametrize(
    "url", ["https://evil.example/", "//evil.example/x", "http://169.254.169.254/"]
)
def test_other_hosts_are_refused_before_any_request(url):
    """The list of hosts is closed."""
    kit, seen = tools(lambda _: httpx.Response(200))
    with pytest.raises(PermissionError, match="not allowed"):
        kit["http_get"].invoke({"url": url})
    assert seen == []


def test_further_hosts_can_be_allowed():
    """A host with or without its port."""
    kit, seen = tools(lambda _: httpx.Response(200), allow=["b.example:8443"])
    kit["http_get"].invoke({"url": "https://b.example:8443/x"})
    with pytest.raises(PermissionError, match=r"b\.example"):
        kit["http_get"].invoke({"url": "https://b.example/x"})
    assert len(seen) == 1


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://shop.example/x"])
def test_other_schemes_are_refused(url):
    """Only http and https."""
    kit, _ = tools(lambda _: httpx.Response(200))
    with pytest.raises(ValueError, match="no http"):
        kit["http_get"].invoke({"url": url})


def test_redirects_are_reported_and_not_followed():
    """Following could leave the allowed hosts."""
    kit, seen = tools(
        lambda _: httpx.Response(302, headers={"Location": "https://evil.example/"})
    )
    found = kit["http_get"].invoke({"url": "x"})
    assert found["status"] == 302
    assert found["headers"]["location"] == "https://evil.example/"
    assert len(seen) == 1


def test_a_long_body_is_cut_and_said_so():
    """Memory stays bounded whatever the service sends, packed or not."""
    packed = gzip.compress(b"a" * 500_000)
    kit, _ = tools(
        lambda _: httpx.Response(
            200,
            content=packed,
            headers={"Content-Encoding": "gzip", "Content-Type": "text/plain"},
        ),
        max_bytes=1_000,
    )
    found = kit["http_get"].invoke({"url": "x"})
    assert (len(found["body"]), found["truncated"]) == (1_000, True)


def test_json_that_is_none_is_an_error():
    """A page behind a JSON content type is not passed on as an answer."""
    kit, _ = tools(
        lambda _: httpx.Response(
            200, text="<html>", headers={"Content-Type": "application/json"}
        )
    )
    with pytest.raises(ValueError, match="is no JSON: '<html>'"):
        kit["http_get"].invoke({"url": "x"})


def test_policies_tell_reading_from_writing():
    """Reading may be repeated, requests may not without their key."""
    kit, _ = tools(lambda _: httpx.Response(200))
    assert make_registry(kit.tools, kit.policies).unannotated() == ()
    get, request = kit.policies["http_get"], kit.policies["http_request"]
    assert (get.effect, get.safe_to_repeat) == (Effect.READ, True)
    assert (request.effect, request.safe_to_repeat) == (Effect.WRITE, False)
    assert get.service == request.service == "shop.example"
