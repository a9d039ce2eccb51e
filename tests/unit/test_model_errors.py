import asyncio

import httpx
import pytest
from langgraph.errors import GraphInterrupt
from pydantic import BaseModel

from mendgraph.state.failure import Layer
from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.models import errors
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
from mendgraph.tools.models.reasoner import Reasoner
from mendgraph.tools.models.translate import translate


class Reply(BaseModel):
    ok: bool


class HttpError(Exception):
    """The shape of a provider's status error."""

    def __init__(self, status, message, headers=None):
        super().__init__(f"Error code: {status} - {message}")
        self.response = httpx.Response(status, headers=headers or {})
        self.status_code = status
        self.body = {"message": message, "type": "invalid_request_error"}


class RateLimitError(Exception):
    """A provider's error that only its name gives away."""


OVERFLOW = (
    "This model's maximum context length is 131072 tokens. However, you requested "
    "135,000 tokens (130000 in the messages, 5000 in the completion)."
)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HttpError(401, "Authentication Fails"), ModelAuthError),
        (HttpError(403, "Forbidden"), ModelAuthError),
        (HttpError(402, "Insufficient Balance"), ModelOutOfMoney),
        (HttpError(429, "Rate limit reached"), ModelRateLimited),
        (HttpError(429, "You exceeded your current quota"), ModelOutOfMoney),
        (HttpError(503, "Service is too busy"), ModelUnavailable),
        (HttpError(500, "maximum context length"), ModelUnavailable),
        (HttpError(529, "Overloaded"), ModelUnavailable),
        (HttpError(400, OVERFLOW), ModelContextOverflow),
        (HttpError(413, "Payload too large"), ModelContextOverflow),
        (HttpError(400, "Content Exists Risk"), ModelContentFiltered),
        (HttpError(400, "Model Not Exist"), ModelSetupError),
        (HttpError(404, "The model `gpt-9` does not exist"), ModelSetupError),
        (HttpError(400, "Insufficient Balance"), ModelOutOfMoney),
        (HttpError(400, "Incorrect API key provided"), ModelAuthError),
        (HttpError(400, "messages must alternate"), ModelRequestRefused),
        (HttpError(422, "invalid type: sequence"), ModelRequestRefused),
        (
            HttpError(400, "Thinking mode does not support this tool_choice"),
            ModelCapabilityMissing,
        ),
        (httpx.ReadTimeout("read timed out"), ModelUnavailable),
        (httpx.ConnectError("getaddrinfo failed"), ModelUnavailable),
        (TimeoutError(), ModelUnavailable),
        (ConnectionResetError(104, "reset by peer"), ModelUnavailable),
        (RateLimitError("slow down"), ModelRateLimited),
        (ValueError({"message": "Insufficient Balance", "code": 402}), ModelOutOfMoney),
        (ValueError({"message": "Rate limit reached"}), ModelRateLimited),
        (
            TypeError("Received response with null value for 'choices'"),
            ModelUnavailable,
        ),
        (ImportError("no module named x"), ModelSetupError),
        (NotImplementedError("no async"), ModelSetupError),
    ],
)
def test_foreign_exceptions_become_ours(error, kind):
    """Status decides first, then the words, then the type of the exception."""
    ours = translate(error, model="m", now=0.0)
    assert kind is type(ours)
    assert error is ours.__cause__
    assert ours.model == "m"


@pytest.mark.parametrize(
    ("headers", "message", "expected"),
    [
        ({"Retry-After": "7"}, "slow down", 7.0),
        ({"retry-after-ms": "1500"}, "slow down", 1.5),
        ({"Retry-After": "Thu, 01 Jan 1970 00:01:40 GMT"}, "slow down", 40.0),
        ({}, "Please try again in 20s.", 20.0),
        ({}, "slow down", None),
    ],
)
def test_retry_after_is_read(headers, message, expected):
    """The wait a provider asks for is kept, in whatever form it came."""
    error = translate(HttpError(429, message, headers), model="m", now=60.0)
    assert error.retry_after_s == expected


def test_overflow_has_its_numbers():
    """Limit and size of a prompt that is too long are read from the message."""
    error = translate(HttpError(400, OVERFLOW), model="m", now=0.0)
    assert (error.limit, error.asked) == (131_072, 135_000)


def test_length_error_of_the_sdk_is_truncation():
    """The SDK's parse helper raises without a status; it is truncation all the same."""
    from openai import LengthFinishReasonError

    error = LengthFinishReasonError.__new__(LengthFinishReasonError)
    Exception.__init__(error, "Could not parse response content as the length limit")
    assert type(translate(error, model="m", now=0.0)) is ModelTruncated


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), KeyError("choices"), RuntimeError("boom"), OSError(5, "io")],
)
def test_nothing_foreign_leaves_the_reasoner(error):
    """Whatever a model raises, callers meet one of our errors only."""

    async def nap(seconds):
        assert seconds >= 0

    def fail(_messages):
        raise error

    reasoner = Reasoner([ScriptedModel(script=fail)], clock=lambda: 0.0, sleep=nap)
    with pytest.raises(ModelUnavailable) as caught:
        asyncio.run(reasoner.ask("planner", [("user", "x")], Reply))
    assert caught.value.usage.model_calls == 3
    assert type(error).__name__ in caught.value.reasons[0]


def test_interrupts_go_through():
    """An interrupt inside a model call is not an error of the model."""

    async def nap(_seconds):
        raise AssertionError("no retry")

    def ask(_messages):
        raise GraphInterrupt([])

    reasoner = Reasoner([ScriptedModel(script=ask)], clock=lambda: 0.0, sleep=nap)
    with pytest.raises(GraphInterrupt):
        asyncio.run(reasoner.ask("planner", [("user", "x")], Reply))


def test_every_error_names_a_remedy():
    """Each class of the tree says what helps, in words of its own."""
    tree = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, ModelError)
    ]
    assert len(tree) == len({kind.remedy for kind in tree}) == 13


def test_error_as_facts():
    """An error can be had as failure facts for classification."""
    facts = translate(HttpError(402, "Insufficient Balance"), model="m", now=0).facts()
    assert (facts.layer, facts.http_status, facts.service) == (Layer.MODEL, 402, "m")
    assert "ModelError" in facts.bases
