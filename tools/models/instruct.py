"""Say in a prompt which JSON is wanted: the word, the form and an example.

DeepSeek's JSON mode refuses prompts without the word "json"; every prompt gets it here.
"""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import (
    BaseMessage,
    HumanMessage,
    SystemMessage,
    merge_message_runs,
)
from pydantic import BaseModel

from mendgraph.tools.models.form import unshown

MAX_DEPTH = 6
ASK_AGAIN = (
    "Your last answer was refused for these reasons:\n{problems}\n"
    "Answer again from the start with one complete json object that has the form."
)


@lru_cache(maxsize=128)
def instruction(schema: type[BaseModel]) -> str:
    """Return the words that ask for one JSON object of the schema."""
    shape, shown = schema.model_json_schema(by_alias=True), example(schema)
    sample = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    hidden = unshown(shape, shown)
    told = f"\nTypes it does not show: {hidden}" if hidden else ""
    return (
        "Answer with exactly one json object and nothing else.\n"
        f"An example of its form (the values mean nothing): {sample}{told}"
    )


def with_instruction(
    messages: Sequence[BaseMessage], schema: type[BaseModel], problems: Sequence[str]
) -> list[BaseMessage]:
    """Return the prompt to send: instruction in front, problems (if any) at the end."""
    told: list[BaseMessage] = [SystemMessage(instruction(schema)), *messages]
    if messages and isinstance(messages[0], SystemMessage):
        system = f"{messages[0].text}\n\n{instruction(schema)}"
        told = [SystemMessage(system), *messages[1:]]
    if problems:
        lines = "\n".join(f"- {problem}" for problem in problems)
        told.append(HumanMessage(ASK_AGAIN.format(problems=lines)))
    return list(merge_message_runs([_without_reasoning(each) for each in told]))


def _without_reasoning(message: BaseMessage) -> BaseMessage:
    """Return the message without reasoning, which never enters a later prompt."""
    if not message.additional_kwargs.keys() & {"reasoning_content", "reasoning"}:
        return message
    kept = {
        key: value
        for key, value in message.additional_kwargs.items()
        if key not in {"reasoning_content", "reasoning"}
    }
    return message.model_copy(update={"additional_kwargs": kept})


def example(schema: type[BaseModel]) -> Any:
    """Return an instance of the form: the schema's own example, else a made-up one."""
    shape = schema.model_json_schema(by_alias=True)
    own = shape.get("example") or next(iter(shape.get("examples", ())), None)
    return own or _sample(shape, shape.get("$defs", {}), MAX_DEPTH)


def _sample(node: dict[str, Any], named: dict[str, Any], depth: int) -> Any:
    if "$ref" in node:
        node = named[node["$ref"].rpartition("/")[2]]
    for key in ("const", "default"):
        if node.get(key) is not None:
            return node[key]
    if choices := node.get("enum"):
        return choices[0]
    if options := node.get("anyOf") or node.get("oneOf") or node.get("allOf"):
        return _sample(options[0], named, depth)
    kind = node.get("type", "object")
    make = SAMPLES.get(kind)
    if depth <= 0 or make is None:
        return None
    return make(node, named, depth - 1)


def _sample_object(node: dict[str, Any], named: dict[str, Any], depth: int) -> Any:
    properties = node.get("properties", {})
    return {name: _sample(each, named, depth) for name, each in properties.items()}


def _sample_list(node: dict[str, Any], named: dict[str, Any], depth: int) -> Any:
    item = _sample(node["items"], named, depth) if "items" in node else None
    return [] if item is None else [item]


def _sample_number(node: dict[str, Any], _named: dict[str, Any], _depth: int) -> Any:
    return node.get("minimum", node.get("maximum", 1))


SAMPLES: dict[str, Callable[[dict[str, Any], dict[str, Any], int], Any]] = {
    "object": _sample_object,
    "array": _sample_list,
    "string": lambda _node, _named, _depth: "text",
    "integer": _sample_number,
    "number": _sample_number,
    "boolean": lambda _node, _named, _depth: False,
}
