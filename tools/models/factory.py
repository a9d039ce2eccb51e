"""Open a chat model from a name such as `deepseek:deepseek-flash`.

Retries have one owner, the `Reasoner`; every client is built with `max_retries=0`.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from langchain_core.language_models import BaseChatModel

from mendgraph.state.record import Record
from mendgraph.tools.models.errors import ModelSetupError

TIMEOUT_S = 120.0
"""Seconds for one request; DeepSeek keeps slow connections open with blanks."""


CLOSE = MappingProxyType({"Connection": "close"})
"""Sent with every request: clients share connections between event loops, and one left
over from a finished `asyncio.run` fails the next call after it was sent and paid."""


class ModelSpec(Record):
    """A provider, a model name and how it is opened."""

    provider: str
    name: str
    thinking: bool | None = None
    """None leaves the mode as the provider has it."""


RETIRED = MappingProxyType(
    {
        "deepseek-chat": ("deepseek-flash", False),
        "deepseek-reasoner": ("deepseek-flash", True),
    }
)
"""Retired name → (today's name, thinking on or off)."""

PREFIXES = MappingProxyType({"deepseek": "deepseek", "gpt-": "openai"})
"""Start of a bare model name → its provider."""


def read_spec(text: str) -> ModelSpec:
    """Return what a model's name says; retired names become today's with a warning.

    Raises:
        ModelSetupError: There is no provider in the name and none can be told.
    """
    provider, _, name = text.strip().rpartition(":")
    if not provider:
        known = (kind for start, kind in PREFIXES.items() if name.startswith(start))
        provider = next(known, "")
    if not provider or not name:
        raise ModelSetupError(
            f"{text!r} names no model; write provider:model, such as "
            "deepseek:deepseek-flash or openai:gpt-5"
        )
    if provider != "deepseek" or name not in RETIRED:
        return ModelSpec(provider=provider, name=name)
    today, thinking = RETIRED[name]
    warnings.warn(
        f"{name} was retired; using {today} with thinking "
        f"{'on' if thinking else 'off'}. Write deepseek:{today} instead.",
        UserWarning,
        stacklevel=3,
    )
    return ModelSpec(provider=provider, name=today, thinking=thinking)


def open_model(
    spec: str | BaseChatModel | None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    thinking: bool | None = None,
    timeout_s: float = TIMEOUT_S,
    **options: Any,
) -> BaseChatModel | None:
    """Return the chat model that `spec` names; a model or None comes back as it is.

    Args:
        spec: `provider:model`, a chat model, or None for a run without a model.
        base_url: Another endpoint than the provider's own.
        api_key: The key; else the provider's environment variable is read.
        thinking: Switch DeepSeek's thinking mode on or off.
        timeout_s: Seconds for one request.
        options: More arguments of the provider's client.

    Raises:
        ModelSetupError: Unknown name, missing key or missing package.
    """
    if spec is None or isinstance(spec, BaseChatModel):
        return spec
    asked = read_spec(spec)
    wanted = asked.thinking if thinking is None else thinking
    given: dict[str, Any] = {"timeout": timeout_s, "max_retries": 0, **options}
    if base_url is not None:
        given["base_url"] = base_url
    if api_key is not None:
        given["api_key"] = api_key
    opener = OPENERS.get(asked.provider, _open_other)
    try:
        return opener(asked.but(thinking=wanted), given)
    except ModelSetupError:
        raise
    except Exception as error:
        raise ModelSetupError(str(error), model=asked.name) from error


def _need_key(variable: str, given: Mapping[str, Any]) -> None:
    if given.get("api_key") or os.environ.get(variable):
        return
    raise ModelSetupError(f"no API key; set {variable} or pass api_key=")


def _open_deepseek(spec: ModelSpec, given: dict[str, Any]) -> BaseChatModel:
    from mendgraph.tools.models.deepseek import MendDeepSeek

    _need_key("DEEPSEEK_API_KEY", given)
    given["default_headers"] = {**CLOSE, **(given.get("default_headers") or {})}
    body = dict(given.pop("extra_body", None) or {})
    if spec.thinking is not None:
        body["thinking"] = thinking_switch(on=spec.thinking)
    return MendDeepSeek(model=spec.name, extra_body=body or None, **given)


def _open_openai(spec: ModelSpec, given: dict[str, Any]) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    _need_key("OPENAI_API_KEY", given)
    given["default_headers"] = {**CLOSE, **(given.get("default_headers") or {})}
    return ChatOpenAI(model=spec.name, **given)


def _open_other(spec: ModelSpec, given: dict[str, Any]) -> BaseChatModel:
    """Let LangChain open it; its package for the provider must be installed."""
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ModelSetupError(
            f"provider {spec.provider!r} needs LangChain: "
            "pip install 'mendgraph[explore]' and the provider's package"
        ) from error
    model: BaseChatModel = init_chat_model(
        spec.name, model_provider=spec.provider, **given
    )
    return model


OPENERS: dict[str, Callable[[ModelSpec, dict[str, Any]], BaseChatModel]] = {
    "deepseek": _open_deepseek,
    "openai": _open_openai,
}


def thinking_switch(*, on: bool) -> dict[str, str]:
    """Return the value of `extra_body["thinking"]`."""
    return {"type": "enabled" if on else "disabled"}
