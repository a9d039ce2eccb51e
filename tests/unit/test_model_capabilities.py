import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from mendgraph.tools.doubles.scripted import ScriptedModel
from mendgraph.tools.models.capabilities import (
    CapabilityBook,
    Missing,
    ModelId,
    expected,
    identify,
    missing_feature,
)
from mendgraph.tools.models.errors import ModelSetupError
from mendgraph.tools.models.factory import open_model, read_spec


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("deepseek-flash", "thinking", True),
        ("deepseek-flash", "context", 1_000_000),
        ("deepseek-v4-pro", "forced_tool_choice", False),
        ("deepseek-v4-pro", "json_schema", False),
        ("vendor/DeepSeek-V4-Pro", "temperature", False),
        ("deepseek-r1-distill", "context", 128_000),
        ("gpt-4.1", "json_schema", True),
        ("gpt-5-mini", "temperature", False),
        ("some-local-model", "json_mode", True),
    ],
)
def test_table(name, field, value):
    """The table says what is expected of a model by its name."""
    assert getattr(expected(ModelId(name=name)), field) == value


def test_other_protocols_get_nothing_they_may_not_know():
    """A model of another protocol is sent no arguments of the chat-completions one."""
    who = identify(FakeListChatModel(responses=["x"]))
    can = CapabilityBook().of(who)
    assert (who.family, can.json_mode, can.max_tokens) == ("other", False, None)


@pytest.mark.parametrize(
    ("message", "missing"),
    [
        ("deepseek-reasoner does not support this tool_choice", "forced_tool_choice"),
        ("Thinking mode does not support this tool_choice", "forced_tool_choice"),
        ("deepseek-reasoner does not support Json Output.", "json_mode"),
        ("This response_format type is unavailable now", "json_schema"),
        ("response_format.type json_schema unavailable", "json_schema"),
        ("'response_format' of type 'json_schema' is not supported", "json_schema"),
        ("Unsupported value: 'temperature' does not support 0.2", "temperature"),
        ("Unrecognized request argument supplied: thinking", "thinking"),
    ],
)
def test_errors_name_the_feature(message, missing):
    """Errors in the words of several servers name the feature that is missing."""
    assert missing_feature(message) == Missing(feature=missing)


@pytest.mark.parametrize(
    "message",
    [
        "Prompt must contain the word 'json' in some form to use 'response_format'",
        "Insufficient Balance",
        "Missing `reasoning_content` field in the assistant message",
    ],
)
def test_other_errors_name_none(message):
    """Errors about the request itself say nothing about the model's features."""
    assert missing_feature(message) is None


@pytest.mark.parametrize(
    ("message", "feature", "value"),
    [
        ("the valid range of max_tokens is [1, 8192]", "output_cap", 8192),
        (
            "max_tokens is too large: 9. This model supports at most 4096",
            "output_cap",
            4096,
        ),
        (
            "'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "max_completion_tokens",
        ),
    ],
)
def test_errors_name_the_right_value(message, feature, value):
    """Errors about a cap say what it is, or what it is called."""
    assert missing_feature(message) == Missing(feature=feature, value=value)


def test_book_remembers_for_one_endpoint():
    """What one endpoint taught does not count against another."""
    book = CapabilityBook()
    here = ModelId(name="deepseek-flash", endpoint="a:1")
    there = ModelId(name="deepseek-flash", endpoint="b:1")
    assert book.learn(here, "json_mode")
    assert not book.learn(here, "json_mode")
    assert (book.of(here).json_mode, book.of(there).json_mode) == (False, True)
    assert [here] == list(book.learned())


def test_book_is_shared_by_threads():
    """Of many threads that meet the same error, one corrects the book."""
    book, who = CapabilityBook(), ModelId(name="deepseek-flash")
    with ThreadPoolExecutor(8) as pool:
        news = list(pool.map(lambda _: book.learn(who, "json_mode"), range(64)))
    assert news.count(True) == 1


@pytest.mark.parametrize(
    ("old", "thinking"), [("deepseek-chat", False), ("deepseek-reasoner", True)]
)
def test_retired_names(old, thinking):
    """A retired name is mapped, and the warning says what to write instead."""
    with pytest.warns(UserWarning, match="Write deepseek:deepseek-flash instead"):
        spec = read_spec(f"deepseek:{old}")
    assert ("deepseek-flash", thinking) == (spec.name, spec.thinking)


def test_deepseek_is_opened_without_retries():
    """The client retries nothing, and its thinking mode is set as asked."""
    model = open_model("deepseek:deepseek-flash", api_key="k", thinking=False)
    assert (model.max_retries, model.model_name) == (0, "deepseek-flash")
    assert model.extra_body == {"thinking": {"type": "disabled"}}


def test_retired_name_opens_with_its_mode():
    """The retired chat name opens today's model with thinking off."""
    with pytest.warns(UserWarning, match="retired"):
        model = open_model("deepseek-chat", api_key="k")
    assert model.extra_body == {"thinking": {"type": "disabled"}}


def test_openai_is_opened_without_retries():
    """OpenAI's client retries nothing either, and keeps the endpoint it was given."""
    model = open_model("openai:gpt-4.1", api_key="k", base_url="http://127.0.0.1:9/v1")
    assert (model.max_retries, model.model_name) == (0, "gpt-4.1")
    assert identify(model).endpoint == "127.0.0.1:9"


def test_models_and_none_come_back():
    """A model is used as it is, and None means no model."""
    model = ScriptedModel(script=[])
    assert open_model(model) is model
    assert open_model(None) is None


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("mystery", "write provider:model"),
        ("", "write provider:model"),
        ("deepseek:deepseek-flash", "set DEEPSEEK_API_KEY"),
        ("openai:gpt-4.1", "set OPENAI_API_KEY"),
        ("nobody:nothing", "nobody"),
    ],
)
def test_setup_errors_name_the_remedy(monkeypatch, spec, words):
    """An unknown name or a missing key is a setup error that says what to do."""
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelSetupError, match=words):
        open_model(spec)


def test_double_says_that_it_is_one():
    """A scripted answer says in type and metadata that no model made it."""
    model = ScriptedModel(script=["hello"])
    answer = asyncio.run(model.ainvoke("hi"))
    assert "not a model" in model._llm_type
    assert "not a model" in answer.response_metadata["double"]
    assert [[each.text for each in prompt] for prompt in model.prompts] == [["hi"]]
