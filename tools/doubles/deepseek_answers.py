"""What the fake DeepSeek server answers: messages, usage, bodies, streams."""

import json
from typing import Any

from pydantic import Field

from mendgraph.state.record import Record
from mendgraph.state.tokens import count_tokens
from mendgraph.tools.doubles.deepseek_rules import Body, thinks

KEEP_ALIVE = b": keep-alive\n\n\n"


class Served(Record):
    """One answer of the server."""

    content: str | None = None
    """None lets the server make up an answer that fits the request."""
    reasoning: str | None = None
    finish_reason: str = "stop"
    tool_calls: tuple[dict[str, Any], ...] = ()
    status: int = 200
    error: str = ""
    error_type: str = "invalid_request_error"
    headers: dict[str, str] = Field(default_factory=dict)
    delay_s: float = 0.0
    raw: str | None = None
    """Send this instead of a JSON body."""

    @property
    def fails(self) -> bool:
        """The answer is an error."""
        return self.status >= 400  # noqa: PLR2004  RFC 9110: client and server errors


OUT_OF_MONEY = Served(status=402, error="Insufficient Balance")
BUSY = Served(status=503, error="Service is too busy", error_type="service_unavailable")
BLANK = Served(content="  \n ")
RISKY = Served(status=400, error="Content Exists Risk")
TOO_LONG = Served(
    status=400,
    error=(
        "This model's maximum context length is 1048576 tokens. However, you requested "
        "1200000 tokens (1195904 in the messages, 4096 in the completion). Please "
        "reduce the length of the messages or completion."
    ),
)


def rate_limited(retry_after: str) -> Served:
    """Return a 429 with a Retry-After header."""
    return Served(
        status=429, error="Rate limit reached", headers={"Retry-After": retry_after}
    )


def cut_off(content: str, reasoning: str | None = None) -> Served:
    """Return an answer that ended at the cap on output."""
    return Served(content=content, reasoning=reasoning, finish_reason="length")


def message_for(body: Body, served: Served) -> dict[str, Any]:
    """Return the assistant message, made up where the script says nothing."""
    message: dict[str, Any] = {"role": "assistant", "content": served.content}
    if thinks(body):
        message["reasoning_content"] = served.reasoning or "(scripted reasoning)"
    if served.tool_calls:
        message["tool_calls"] = list(served.tool_calls)
    elif served.content is None:
        message.update(_made_up(body))
    return message


def _made_up(body: Body) -> dict[str, Any]:
    choice = body.get("tool_choice")
    forced = isinstance(choice, dict) or choice == "required"
    if forced and body.get("tools"):
        name = body["tools"][0]["function"]["name"]
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": "{}"},
        }
        return {"content": None, "tool_calls": [call]}
    return {"content": '{"ok": true}' if body.get("response_format") else "pong"}


def usage_for(body: Body, message: dict[str, Any]) -> dict[str, Any]:
    """Return the usage block with DeepSeek's extra fields."""
    prompt = count_tokens(json.dumps(body["messages"], ensure_ascii=False))
    thought = count_tokens(message.get("reasoning_content") or "")
    wrote = count_tokens(message.get("content") or "") + thought
    return {
        "prompt_tokens": prompt,
        "completion_tokens": wrote,
        "total_tokens": prompt + wrote,
        "prompt_cache_hit_tokens": 0,
        "prompt_cache_miss_tokens": prompt,
        "completion_tokens_details": {"reasoning_tokens": thought},
    }


def _envelope(body: Body, kind: str) -> dict[str, Any]:
    return {
        "id": "fake-1",
        "object": kind,
        "created": 0,
        "model": f"{body.get('model')} (scripted double)",
        "system_fingerprint": "fake",
    }


def completion(body: Body, served: Served) -> dict[str, Any]:
    """Return the body of an answer that is not streamed."""
    message = message_for(body, served)
    ending = "tool_calls" if message.get("tool_calls") else served.finish_reason
    choice = {"index": 0, "message": message, "finish_reason": ending}
    envelope = _envelope(body, "chat.completion")
    return {**envelope, "choices": [choice], "usage": usage_for(body, message)}


def events(body: Body, served: Served) -> list[dict[str, Any]]:
    """Return the chunks of a streamed answer: reasoning first, then small pieces."""
    whole = completion(body, served)
    message = whole["choices"][0]["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if message.get("reasoning_content"):
        deltas.append({"reasoning_content": message["reasoning_content"]})
    text = message["content"] or ""
    deltas += [{"content": text[at : at + 5]} for at in range(0, len(text), 5)]
    deltas += [
        {"tool_calls": [{"index": index, **call}]}
        for index, call in enumerate(message.get("tool_calls") or ())
    ]
    ending = whole["choices"][0]["finish_reason"]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": ending})
    envelope = _envelope(body, "chat.completion.chunk")
    chunks = [{**envelope, "choices": [choice]} for choice in choices]
    return [*chunks, {**envelope, "choices": [], "usage": whole["usage"]}]


def body_of(body: Body, served: Served) -> str:
    """Return the text of an answer that is not streamed; blanks keep it alive."""
    if served.raw is not None:
        return served.raw
    if not served.fails:
        return "\n\n\n" + json.dumps(completion(body, served))
    code = "invalid_request_error"
    error = {"message": served.error, "type": served.error_type}
    return json.dumps({"error": {**error, "param": None, "code": code}})


def stream_of(body: Body, served: Served) -> list[bytes]:
    """Return the pieces of a streamed answer with blanks between them."""
    lines = [json.dumps(event, ensure_ascii=False) for event in events(body, served)]
    return [KEEP_ALIVE + f"data: {line}\n\n".encode() for line in [*lines, "[DONE]"]]
