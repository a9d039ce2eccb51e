"""DeepSeek's failures over real HTTP: the real client against the fake server."""

import asyncio

import pytest
from openai import LengthFinishReasonError
from pydantic import BaseModel

from mendgraph.tools.doubles.deepseek_answers import (
    BLANK,
    BUSY,
    OUT_OF_MONEY,
    RISKY,
    TOO_LONG,
    Served,
    cut_off,
    rate_limited,
)
from mendgraph.tools.doubles.fake_deepseek import KEY, FakeDeepSeek
from mendgraph.tools.models.capabilities import CapabilityBook
from mendgraph.tools.models.errors import (
    ModelContentFiltered,
    ModelContextOverflow,
    ModelTruncated,
    ModelUnavailable,
)
from mendgraph.tools.models.factory import open_model
from mendgraph.tools.models.probe import probe, table
from mendgraph.tools.models.reasoner import Reasoner
from mendgraph.tools.models.translate import translate

pytestmark = pytest.mark.enable_socket


class Plan(BaseModel):
    title: str
    steps: list[str] = []


GOOD = Served(content='{"title": "T", "steps": ["a"]}', reasoning="because")
PROMPT = [("user", "Plan it.")]


def flash(server, **options):
    options.setdefault("api_key", KEY)
    return open_model("deepseek:deepseek-flash", base_url=server.base_url, **options)


def question(*servers, waits=None, **options):
    async def nap(seconds):
        if waits is not None:
            waits.append(seconds)

    models = [flash(server) for server in servers]
    reasoner = Reasoner(models, clock=lambda: 0.0, sleep=nap, book=CapabilityBook())
    return asyncio.run(reasoner.ask("planner", PROMPT, Plan, **options))


def test_unknown_model():
    """A name the API does not know is a setup fault and not retried."""
    with FakeDeepSeek() as server:
        model = open_model("deepseek:deepseek-x", base_url=server.base_url, api_key=KEY)
        report = asyncio.run(probe(model, clock=lambda: 0.0))
    assert "Model Not Exist" in report["errors"]["plain"]
    assert "Check the model's name" in report["errors"]["plain"]
    assert len(server.requests) == 1


def test_blanks():
    """Blank answers are asked for again, the third time in plain text (B11)."""
    with FakeDeepSeek(BLANK, BLANK, GOOD) as server:
        answer = question(server)
    assert [each.outcome for each in answer.trail] == ["ModelBlank"] * 2 + ["answered"]
    assert server.requests[2]["thinking"] == {"type": "disabled"}


def test_reasoning_ate_the_cap():
    """All tokens spent on reasoning: a larger cap and no thinking (B12, B32)."""
    with FakeDeepSeek(cut_off("", "hm " * 200), GOOD) as server:
        assert question(server, max_tokens=300).value.title == "T"
    assert [each["max_tokens"] for each in server.requests] == [300, 600]
    assert server.requests[1]["thinking"] == {"type": "disabled"}


def test_truncated_json_is_never_accepted():
    """JSON that a repairer could close is refused when it was cut off (B13)."""
    cut = cut_off('{"title":"Ana","steps":["lechuga","zanahoria"')
    with (
        FakeDeepSeek(cut, cut, GOOD) as server,
        pytest.raises(ModelTruncated) as caught,
    ):
        question(server, max_tokens=300)
    assert len(server.requests) == caught.value.usage.model_calls == 2
    assert caught.value.usage.completion_tokens > 0
    assert not caught.value.usage.estimated


def test_length_error_of_the_sdk():
    """The SDK's own length error is truncation, with cost and culprit kept (B14)."""
    mode = {"response_format": {"type": "json_object"}}
    refused = pytest.raises(LengthFinishReasonError)
    with FakeDeepSeek(cut_off("", "hm " * 50)) as server, refused as caught:
        flash(server).invoke("json please", **mode)
    ours = translate(caught.value, model="deepseek-flash", now=0.0)
    assert isinstance(ours, ModelTruncated)
    assert (ours.told, ours.by_reasoning) == (True, True)
    assert ours.usage.reasoning_tokens > 0


def test_withheld_answer():
    """An answer withheld by the content filter is neither read nor asked for again."""
    withheld = Served(content="", finish_reason="content_filter")
    with FakeDeepSeek(withheld, GOOD) as server, pytest.raises(ModelContentFiltered):
        question(server)
    assert len(server.requests) == 1


def test_one_owner_of_retries():
    """One 429 costs exactly one more request, after the wait the server asked for."""
    waits = []
    with FakeDeepSeek(rate_limited("3"), GOOD) as server:
        answer = question(server, waits=waits)
    assert (len(server.requests), answer.usage.model_calls) == (2, 2)
    assert waits == [3.0]


def test_client_itself_retries_nothing():
    """Without the reasoner a 429 is one request and one error."""
    with FakeDeepSeek(rate_limited("0")) as server:
        with pytest.raises(Exception, match="Rate limit reached"):
            flash(server).invoke("x")
        assert len(server.requests) == 1


def test_long_wait_goes_to_the_fallback():
    """A wait longer than the patience is spent on the next model instead."""
    waits = []
    with FakeDeepSeek(rate_limited("600")) as busy, FakeDeepSeek(GOOD) as spare:
        answer = question(busy, spare, waits=waits)
    assert (len(busy.requests), len(spare.requests)) == (1, 1)
    assert [each.outcome for each in answer.trail] == ["ModelRateLimited", "answered"]
    assert waits == []


@pytest.mark.parametrize(
    ("answers", "requests", "words"),
    [
        ((OUT_OF_MONEY,), 1, "Insufficient Balance"),
        ((BUSY, BUSY, BUSY), 3, "Service is too busy"),
        ((Served(raw="<html>bad gateway</html>", status=502),) * 3, 3, ""),
        ((Served(raw='{"choices": null}'),) * 3, 3, "TypeError"),
    ],
    ids=["402", "503", "html", "null-choices"],
)
def test_nobody_answers(answers, requests, words):
    """402 is not retried, 503 and nonsense a little; then the run can pause."""
    with FakeDeepSeek(*answers) as server, pytest.raises(ModelUnavailable) as caught:
        question(server)
    assert len(server.requests) == requests
    assert words in caught.value.reasons[0]


def test_wrong_key():
    """A wrong key is not retried and its remedy is named."""
    refused = pytest.raises(ModelUnavailable, match="Set a valid API key")
    with FakeDeepSeek(api_key="another") as server, refused:
        question(server)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(RISKY, ModelContentFiltered), (TOO_LONG, ModelContextOverflow)],
)
def test_faults_of_the_request(answer, kind):
    """Content filter and overflow are told apart by their words and not retried."""
    with FakeDeepSeek(answer) as server, pytest.raises(kind):
        question(server)
    assert len(server.requests) == 1


def test_dead_server():
    """A server that is gone is unavailable; the prompt is charged as an estimate."""
    with FakeDeepSeek() as server:
        pass
    with pytest.raises(ModelUnavailable) as caught:
        question(server)
    assert caught.value.usage.estimated


def test_probe_of_an_empty_account():
    """The probe of an account without money says so and tries nothing more."""
    with FakeDeepSeek(OUT_OF_MONEY) as server:
        report = asyncio.run(probe(flash(server), clock=lambda: 0.0))
    assert not report["reachable"]
    assert "402 Insufficient Balance" in report["errors"]["plain"]
    assert "Top up" in report["errors"]["plain"]
    assert len(server.requests) == 1


def test_probe():
    """The probe says what a live endpoint can do, and why not where it cannot."""
    with FakeDeepSeek() as server:
        report = asyncio.run(
            probe(
                "deepseek:deepseek-flash",
                base_url=server.base_url,
                api_key=KEY,
                clock=lambda: 0.0,
            )
        )
    assert report["reachable"]
    assert report["capabilities"] == {
        "plain": True,
        "json_mode": True,
        "json_schema": False,
        "forced_tool_choice": False,
        "thinking_on": True,
        "thinking_off": True,
        "forced_tool_choice_thinking_off": True,
    }
    assert "400 Thinking mode" in report["errors"]["forced_tool_choice"]
    assert table(report)[0] == ("plain", "yes", "")
