"""Waits named in headers, bodies and sentences, and the defaults per class."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.state.failure import FailureFacts, Subclass
from mendgraph.state.waits import (
    LONGEST_S,
    backoff,
    header_wait,
    sentence_wait,
    stated_wait,
)

NOON = 1_445_412_000.0
"""Wed, 21 Oct 2015 07:20:00 GMT."""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 23.03s", 23.03),
        ("try again in 1m30s", 90.0),
        ("retry in 500ms", 0.5),
        ("Please try again in 6m0s.", 360.0),
        ("Please wait 2 minutes", 120.0),
        ("retry after 5 seconds", 5.0),
        ("Too Many Requests: retry after 35", 35.0),
        ("Please retry after 1 minute and 5 seconds", 65.0),
        ("Expected available in 42 seconds.", 42.0),
        ("rate limit resets in 45 minutes", 2700.0),
        ("Please wait a few minutes before you try again.", 60.0),
        ("'retryDelay': '12s'", 12.0),
        ('"retry_after": 0.5', 0.5),
        ("retry_after_ms: 250", 0.25),
        ("Retry-After: 7", 7.0),
        ("Retry after Wed, 21 Oct 2015 07:28:00 GMT", 480.0),
        ("try again at 2015-10-21T07:21:00Z", 60.0),
        ("请在 30 秒后重试", 30.0),
        ("请等待30秒后再试", 30.0),
        ("1分30秒后重试", 90.0),
    ],
)
def test_a_wait_in_a_sentence_is_read(text, seconds):
    """A wait is found in the words services really use."""
    assert seconds == pytest.approx(sentence_wait(text, NOON))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Retry failed after 3 attempts",
        "Timeout 30000ms exceeded.",
        "('Failed to update metadata after %s secs.', 60.0)",
        "Too many requests, please wait before trying again.",
        "请稍后重试",
        "took 12 seconds",
    ],
)
def test_other_numbers_are_no_wait(text):
    """A duration that is no invitation to wait is left alone."""
    assert sentence_wait(text, NOON) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 480.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:00:00 GMT"}, 0.0),
        ({"retry-after": "1445412030"}, 30.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1445412300"}, 300.0),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "1445412300"}, None),
        (
            {
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "88ms",
            },
            360.0,
        ),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2015-10-21T07:20:10Z",
            },
            10.0,
        ),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "999999999"}, LONGEST_S),
        ({}, None),
    ],
)
def test_a_wait_in_headers_is_read(headers, seconds):
    """Seconds, floats, dates, milliseconds and used-up windows are all understood."""
    assert seconds == header_wait(headers, NOON)


def test_a_moment_says_nothing_while_the_time_is_unknown():
    """Without `now` a date is not turned into a wait."""
    assert header_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0) is None


def test_the_header_beats_the_sentence():
    """A header is more exact than the words beside it."""
    facts = FailureFacts(message="try again in 9s", headers={"retry-after": "2"})
    assert stated_wait(facts, NOON) == 2.0


def test_the_body_is_read_when_the_message_is_silent():
    """RetryInfo stands in the body, not in the message."""
    facts = FailureFacts(message="quota", body_head='{"retryDelay": "12s"}')
    assert stated_wait(facts, NOON) == 12.0


@pytest.mark.parametrize(
    ("subclass", "status", "waits"),
    [
        (Subclass.RATE_LIMITED, 429, [5.0, 10.0, 15.0, 15.0]),
        (Subclass.RATE_LIMITED, 403, [5.0, 10.0, 15.0]),
        (Subclass.SERVICE_UNAVAILABLE, 503, [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]),
        (Subclass.NETWORK_ERROR, None, [1.0, 1.0, 2.0, 4.0, 4.0]),
        (Subclass.TOOL_EXCEPTION, 503, [1.0, 2.0, 4.0]),
    ],
)
def test_default_waits_follow_the_class(subclass, status, waits):
    """429 is linear, outages double up to 30 s, all else follows the tiers."""
    attempts = range(1, len(waits) + 1)
    assert waits == [backoff(subclass, status, attempt) for attempt in attempts]


@given(st.text(max_size=200), st.floats(0, 2e9))
def test_a_wait_is_never_absurd(text, now):
    """Whatever is said, a wait lies between nothing and one day."""
    wait = sentence_wait(text, now)
    assert wait is None or 0 <= wait <= LONGEST_S


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text()))
def test_strange_headers_never_break_the_reading(headers):
    """Any header text gives a sane wait or none."""
    wait = header_wait(headers, NOON)
    assert wait is None or 0 <= wait <= LONGEST_S


@given(st.sampled_from(Subclass), st.integers(-2, 10_000))
def test_backoff_is_bounded(subclass, attempt):
    """No default wait is longer than 30 s."""
    assert 0 < backoff(subclass, None, attempt) <= 30
