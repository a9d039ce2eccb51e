"""Try a live endpoint and say what it can do (`mendgraph doctor --model`)."""

from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from mendgraph.tools.models.answer import reply_of
from mendgraph.tools.models.capabilities import expected, identify
from mendgraph.tools.models.errors import ModelError, ModelRequestRefused
from mendgraph.tools.models.factory import open_model, thinking_switch
from mendgraph.tools.models.translate import translate

MAX_TOKENS = 1_000
"""Room for reasoning: a tiny cap makes a healthy model look dead."""
JSON_PROMPT = 'Answer with this json object and nothing else: {"ok": true}'
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "ok",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"ok": {"type": "boolean"}},
            "required": ["ok"],
            "additionalProperties": False,
        },
    },
}
TOOL = {
    "type": "function",
    "function": {
        "name": "report_ok",
        "description": "Say that all is well.",
        "parameters": {"type": "object", "properties": {}},
    },
}
FORCED = {"type": "function", "function": {"name": "report_ok"}}

Check = Callable[[BaseMessage], str | None]
"""Says what is wrong with an answer, or None."""


def _spoke(message: BaseMessage) -> str | None:
    return None if reply_of(message).text.strip() else "the answer is blank"


def _json(message: BaseMessage) -> str | None:
    text = str(message.text).strip()
    return None if text.startswith("{") else f"no JSON object: {text[:60]!r}"


def _called(message: BaseMessage) -> str | None:
    called = isinstance(message, AIMessage) and bool(message.tool_calls)
    return None if called else "no tool was called"


def _thought(message: BaseMessage) -> str | None:
    return None if reply_of(message).reasoning else "no reasoning came with it"


def _quiet(message: BaseMessage) -> str | None:
    return "reasoning came all the same" if reply_of(message).reasoning else None


def _mode(*, on: bool) -> dict[str, Any]:
    return {"extra_body": {"thinking": thinking_switch(on=on)}}


TRIALS: tuple[tuple[str, str, dict[str, Any], Check], ...] = (
    ("plain", "Say the word pong.", {}, _spoke),
    ("json_mode", JSON_PROMPT, {"response_format": {"type": "json_object"}}, _json),
    ("json_schema", JSON_PROMPT, {"response_format": SCHEMA}, _json),
    (
        "forced_tool_choice",
        "Call the tool.",
        {"tools": [TOOL], "tool_choice": FORCED},
        _called,
    ),
    ("thinking_on", "Say the word pong.", _mode(on=True), _thought),
    ("thinking_off", "Say the word pong.", _mode(on=False), _quiet),
    (
        "forced_tool_choice_thinking_off",
        "Call the tool.",
        {"tools": [TOOL], "tool_choice": FORCED, **_mode(on=False)},
        _called,
    ),
)
"""(name, prompt, options, what the answer must be like)."""


async def probe(
    spec: str | BaseChatModel,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    clock: Callable[[], float],
) -> dict[str, Any]:
    """Return what an endpoint can do, by trying it with seven short requests.

    Returns:
        `model`, `endpoint`, `reachable`, `capabilities` (name → True or False),
        `errors` (name → why not) and `expected` (what the table says). When the plain
        request fails, nothing else is tried.

    Raises:
        ModelSetupError: The model cannot be opened as named.
    """
    model = open_model(spec, base_url=base_url, api_key=api_key)
    if model is None:
        raise TypeError("a model is needed to probe it")
    who = identify(model)
    errors: dict[str, str] = {}
    tried: list[str] = []
    for name, prompt, chosen, check in TRIALS:
        tried.append(name)
        refusal = await _trial(model, prompt, chosen, check, clock)
        if refusal is not None:
            errors[name] = refusal
        if "plain" in errors:
            break
    return {
        "model": who.name,
        "endpoint": who.endpoint,
        "reachable": "plain" not in errors,
        "capabilities": {name: name not in errors for name in tried},
        "errors": errors,
        "expected": expected(who).plain(),
    }


async def _trial(
    model: BaseChatModel,
    prompt: str,
    chosen: dict[str, Any],
    check: Check,
    clock: Callable[[], float],
) -> str | None:
    capped = {**chosen, **_cap(model)}
    try:
        return check(await model.ainvoke(prompt, **capped))
    except Exception as error:  # noqa: BLE001  translate maps whatever a client raises
        ours = translate(error, model=identify(model).name, now=clock())
        return _words(ours)


def _cap(model: BaseChatModel) -> dict[str, int]:
    argument = expected(identify(model)).max_tokens
    return {argument: MAX_TOKENS} if argument else {}


def _words(error: ModelError) -> str:
    status = f"{error.http_status} " if error.http_status else ""
    remedy = "" if isinstance(error, ModelRequestRefused) else f" [{error.remedy}]"
    return f"{status}{error.message}{remedy}"


def table(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return rows (capability, yes or no, error) for a report of `probe`."""
    found: dict[str, bool] = report["capabilities"]
    return [
        (name, "yes" if works else "no", report["errors"].get(name, ""))
        for name, works in found.items()
    ]
