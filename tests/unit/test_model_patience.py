import asyncio
import json

import pytest
from pydantic import BaseModel

from mendgraph.tools.doubles.scripted import Line, ScriptedModel
from mendgraph.tools.models.capabilities import CapabilityBook
from mendgraph.tools.models.errors import (
    ModelContentFiltered,
    ModelContextOverflow,
    ModelOutOfMoney,
    ModelOutputInvalid,
    ModelRateLimited,
    ModelTruncated,
    ModelUnavailable,
)
from mendgraph.tools.models.reasoner import Reasoner


class Wish(BaseModel):
    title: str


GOOD = {"title": "T"}
PROMPT = [("system", "You plan."), ("user", "Plan it.")]


class Nap:
    """Waits nowhere and remembers how long it should have."""

    def __init__(self):
        self.waits = []

    async def __call__(self, seconds):
        self.waits.append(seconds)


def double(*script, name="deepseek-flash", **fields):
    return ScriptedModel(script=list(script), model_name=name, **fields)


def ask(*models, nap=None, prompt=PROMPT, **options):
    reasoner = Reasoner(
        models, clock=lambda: 0.0, sleep=nap or Nap(), book=CapabilityBook()
    )
    return asyncio.run(reasoner.ask("planner", prompt, Wish, **options))


def test_blanks_are_repeated_then_varied():
    """Blanks are repeated once as they are, then without JSON mode and thinking."""
    model = double(Line(text=" \n"), Line(text=""), GOOD)
    assert ask(model).value.title == "T"
    first, second, third = model.options
    assert first == second
    assert "response_format" not in third
    assert third["extra_body"] == {"thinking": {"type": "disabled"}}


def test_blanks_end_with_the_fallback():
    """A model that stays blank is given up for the next one (B11)."""
    answer = ask(double("", "", ""), double(GOOD, name="other"))
    assert (answer.model, answer.attempts) == ("other", 4)


def test_length_doubles_the_cap_once():
    """An answer cut off at the cap is asked for again with twice the cap (B13)."""
    model = double(Line(text='{"title":"T"}', finish_reason="length"), {"title": "U"})
    assert ask(model, max_tokens=500).value.title == "U"
    assert [each["max_tokens"] for each in model.options] == [500, 1000]


def test_length_by_reasoning_turns_thinking_off():
    """When reasoning ate the cap, the repeat does without thinking (B12, B32)."""
    eaten = Line(text="", reasoning="hm " * 50, finish_reason="length")
    model = double(eaten, GOOD)
    ask(model, max_tokens=100)
    assert model.options[1]["extra_body"] == {"thinking": {"type": "disabled"}}


def test_length_again_is_truncation():
    """A second cut is an error of the budget; no fallback is asked for the same."""
    cut = Line(text='{"title":"T"}', finish_reason="length")
    other = double(GOOD, name="other")
    with pytest.raises(ModelTruncated) as caught:
        ask(double(cut, cut), other, max_tokens=500)
    assert caught.value.usage.model_calls == 2
    assert other.prompts == []


def test_output_cap_of_the_model_is_kept():
    """The cap sent never exceeds what the model gives."""
    model = double(Line(text="", finish_reason="length"), name="gpt-4.1")
    with pytest.raises(ModelTruncated):
        ask(model, max_tokens=50_000)
    assert [each["max_tokens"] for each in model.options] == [16_384]


def test_missing_feature_is_learned_for_the_process():
    """An error about JSON mode corrects the book; later questions do without (B05)."""
    book = CapabilityBook()
    refusal = Exception("deepseek-reasoner does not support Json Output.")
    model = double(refusal, GOOD, GOOD)
    reasoner = Reasoner([model], clock=lambda: 0.0, sleep=Nap(), book=book)
    first = asyncio.run(reasoner.ask("planner", PROMPT, Wish))
    second = asyncio.run(reasoner.ask("planner", PROMPT, Wish))
    assert (first.attempts, second.attempts) == (2, 1)
    assert ["response_format" in each for each in model.options] == [True, False, False]


def test_cap_of_the_endpoint_is_learned():
    """An error that names the largest cap is obeyed at once."""
    refusal = Exception("the valid range of max_tokens is [1, 8192]")
    model = double(refusal, GOOD)
    ask(model, max_tokens=20_000)
    assert [each["max_tokens"] for each in model.options] == [20_000, 8192]


def test_an_unjust_complaint_is_not_learned():
    """A complaint about a feature that was not used ends the tries with the model."""
    refusal = Exception("Thinking mode does not support this tool_choice")
    model = double(refusal)
    with pytest.raises(Exception, match="tool_choice"):
        ask(model)
    assert len(model.prompts) == 1


@pytest.mark.parametrize(
    ("error", "waits", "calls"),
    [
        (ModelRateLimited("slow", retry_after_s=3.0), [3.0, 3.0], 3),
        (ModelRateLimited("slow", retry_after_s=600.0), [], 1),
        (ModelUnavailable("down"), [1.0, 1.0], 3),
        (ModelOutOfMoney("no balance"), [], 1),
    ],
)
def test_waits_are_short_and_few(error, waits, calls):
    """Transient faults wait as asked, a few times; others go on at once."""
    nap = Nap()
    broken = ScriptedModel(script=lambda _: error, model_name="deepseek-flash")
    answer = ask(broken, double(GOOD, name="other"), nap=nap)
    assert (answer.model, nap.waits) == ("other", waits)
    assert len(broken.prompts) == calls


def test_nobody_answers():
    """When no model answers, the error has each reason, the cost and the wait."""
    one = ScriptedModel(script=lambda _: ModelOutOfMoney("no balance"), model_name="a")
    two = ScriptedModel(
        script=lambda _: ModelRateLimited("slow", retry_after_s=60.0), model_name="b"
    )
    with pytest.raises(ModelUnavailable) as caught:
        ask(one, two)
    assert caught.value.reasons == ("a: no balance", "b: slow")
    assert caught.value.retry_after_s == 60.0
    assert caught.value.usage.model_calls == 2
    assert "Top up" in str(caught.value)


def test_no_model_at_all():
    """Without any model the error says so instead of failing oddly."""
    with pytest.raises(ModelUnavailable, match="no model given"):
        ask()


def test_content_filter_is_not_retried():
    """A withheld answer is not asked for again; the fallback may answer."""
    model = double(Line(text="", finish_reason="content_filter"), GOOD)
    with pytest.raises(ModelContentFiltered):
        ask(model)
    assert len(model.prompts) == 1


def test_overflow_goes_only_to_a_longer_context():
    """A prompt that is too long is tried on models with more room only."""
    small = double(ModelContextOverflow("too long"), name="gpt-4.1")
    same = double(GOOD, name="gpt-4o")
    large = double(GOOD, name="deepseek-flash")
    assert ask(small, same, large).model == "deepseek-flash"
    assert same.prompts == []
    with pytest.raises(ModelContextOverflow):
        ask(double(ModelContextOverflow("too long"), name="gpt-4.1"), same)


def test_calls_are_bounded_over_all_models():
    """A question never costs more requests than it may."""
    with pytest.raises(ModelOutputInvalid) as caught:
        ask(double({}, {}, {}), double(GOOD), max_calls=2)
    assert caught.value.usage.model_calls == 2


def test_a_hanging_model_is_given_up():
    """A request that takes too long is a fault of the model, not of the run."""
    slow = double(*[Line(text=json.dumps(GOOD), delay_s=5.0)] * 3)
    reasoner = Reasoner([slow], clock=lambda: 0.0, sleep=Nap(), timeout_s=0.01)
    with pytest.raises(ModelUnavailable) as caught:
        asyncio.run(reasoner.ask("planner", PROMPT, Wish))
    assert caught.value.usage.model_calls == 3
    assert caught.value.usage.estimated


def test_raised_cap_stays_within_what_is_left():
    """A cap is not raised over what the caller has left to spend."""
    model = double(Line(text="", finish_reason="length"), GOOD)
    ask(model, max_tokens=500, most_tokens=700)
    assert [each["max_tokens"] for each in model.options] == [500, 700]
