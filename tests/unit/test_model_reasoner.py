import asyncio
import json
from typing import Literal

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from mendgraph.state.tokens import count_tokens
from mendgraph.tools.doubles.scripted import Line, ScriptedModel
from mendgraph.tools.models.capabilities import CapabilityBook
from mendgraph.tools.models.errors import (
    ModelOutputInvalid,
)
from mendgraph.tools.models.instruct import example, instruction
from mendgraph.tools.models.reasoner import Reasoner


class Inner(BaseModel):
    kind: Literal["a", "b"]
    weight: float = Field(ge=0.5)


class Wish(BaseModel):
    """What is wanted."""

    title: str = Field(description="A short title")
    items: list[Inner] = Field(default_factory=list)
    note: str | None = None


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


def test_answer_has_its_value_cost_and_reasoning_apart():
    """One good answer gives the record, its usage and its reasoning, separately."""
    usage = {"input_tokens": 100, "output_tokens": 40, "reasoning": 30}
    answer = ask(double(Line(text=json.dumps(GOOD), reasoning="because", usage=usage)))
    spent = answer.usage.spent()
    assert answer.value == Wish(title="T")
    assert answer.reasoning == "because"
    assert (spent.prompt_tokens, spent.completion_tokens) == (100, 40)
    assert (spent.reasoning_tokens, spent.budgeted_tokens) == (30, 40)
    assert (answer.attempts, answer.usage.estimated, answer.model) == (
        1,
        False,
        "deepseek-flash",
    )


def test_prompt_has_the_word_json_the_schema_and_an_example():
    """The reasoner adds what JSON mode needs, whatever the prompt says (B04)."""
    model = double(GOOD)
    ask(model, prompt=[("user", "计划")])
    system, user = model.prompts[0]
    assert "json" in system.text
    assert "A short title" in system.text
    assert user.text == "计划"
    assert model.options[0]["response_format"] == {"type": "json_object"}


def test_example_fits_its_schema():
    """The example shown to the model is itself a valid answer."""
    assert Wish.model_validate(example(Wish)).items[0].kind == "a"
    assert "json" in instruction(Wish)


def test_only_the_problems_are_shown_again():
    """A re-ask has the first prompt and the newest problems, not the bad answers."""
    model = double({"name": "x"}, {"title": "T", "items": [{"kind": "z"}]}, GOOD)
    answer = ask(model)
    first, second, third = model.prompts
    assert answer.attempts == 3
    assert [each.outcome for each in answer.trail] == [
        "ModelOutputInvalid",
        "ModelOutputInvalid",
        "answered",
    ]
    assert first[0] == second[0] == third[0]
    assert "title: this field is required" in second[-1].text
    assert "items.0.kind" in third[-1].text
    assert "title: this field" not in third[-1].text
    assert len(second) == len(first) == 2


def test_reasks_are_bounded_and_charged():
    """After two re-asks the answer stays invalid, and all three calls are charged."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    bad = Line(text='{"name": 1}', usage=usage)
    with pytest.raises(ModelOutputInvalid) as caught:
        ask(double(bad, bad, bad, GOOD))
    assert caught.value.usage.model_calls == 3
    assert caught.value.usage.completion_tokens == 15
    assert "title" in caught.value.problems[0]


def test_a_fallback_is_asked_after_invalid_answers():
    """A model that never fits is given up for the next one."""
    answer = ask(double({}, {}, {}), double(GOOD, name="gpt-4.1"))
    assert (answer.model, answer.attempts) == ("gpt-4.1", 4)


def test_text_that_ends_too_soon_is_asked_for_again():
    """Cut-off JSON with finish_reason stop counts as an invalid answer."""
    model = double('{"title":"T","items":[', GOOD)
    assert ask(model).value == Wish(title="T")
    assert "ends before it is complete" in model.prompts[1][-1].text


def test_reasoning_never_enters_a_prompt():
    """Reasoning of history, and of refused answers, is in no later prompt (F10)."""
    history = [
        SystemMessage("You plan."),
        AIMessage("done", additional_kwargs={"reasoning_content": "SECRET-ONE"}),
        HumanMessage("Plan."),
    ]
    bad = Line(text="<think>SECRET-TWO</think>{}", reasoning="SECRET-THREE")
    model = double(bad, Line(text="<think>four</think>" + json.dumps(GOOD)))
    answer = ask(model, prompt=history)
    assert "SECRET" not in str(model.prompts)
    assert answer.reasoning == "SECRET-THREE\nSECRET-TWO\n\nfour"


def test_neighbours_of_one_role_are_merged():
    """Two user messages in a row are sent as one (B09)."""
    model = double(GOOD)
    ask(model, prompt=[("user", "One."), ("user", "Two.")])
    assert [each.type for each in model.prompts[0]] == ["system", "human"]


def test_any_chat_model_will_do():
    """A model without usage, JSON mode or async works; its tokens are estimated."""
    model = FakeListChatModel(responses=[json.dumps(GOOD)])
    answer = ask(model, max_tokens=100)
    assert answer.usage.estimated
    assert answer.usage.completion_tokens == count_tokens(json.dumps(GOOD))
    assert answer.usage.prompt_tokens > 50


def test_tool_call_in_place_of_an_answer():
    """Arguments of a call made in place of an answer are judged like one (B24)."""
    call = {"name": "wish", "args": GOOD, "id": "1", "type": "tool_call"}
    assert ask(double(Line(tool_calls=(call,)))).value.title == "T"


def test_thinking_is_switched_as_asked():
    """The switch is added to what the model already sends, and to nothing else."""
    model = double(GOOD, extra_body={"user": "u"})
    ask(model, thinking=True)
    assert model.options[0]["extra_body"] == {
        "user": "u",
        "thinking": {"type": "enabled"},
    }
    plain = double(GOOD, name="gpt-4.1")
    ask(plain, thinking=True)
    assert "extra_body" not in plain.options[0]


def test_questions_run_side_by_side():
    """Concurrent questions to one model get each its own cost and trail."""

    async def both():
        reasoner = Reasoner([model], clock=lambda: 0.0, sleep=Nap())
        asks = [reasoner.ask("planner", PROMPT, Wish) for _ in range(20)]
        return await asyncio.gather(*asks)

    model = ScriptedModel(script=lambda _: GOOD)
    answers = asyncio.run(both())
    assert {each.usage.model_calls for each in answers} == {1}
    assert len(model.prompts) == 20
