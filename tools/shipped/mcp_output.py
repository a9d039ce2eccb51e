"""What an MCP tool returned, as plain data."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def plain_output(content: Any, artifact: Mapping[str, Any] | None) -> Any:
    """Return structured content when there is some, else the content itself.

    One text block gives its text, parsed when it is a JSON object or array; several
    blocks, images and files stay a list of blocks.
    """
    if artifact and artifact.get("structured_content") is not None:
        return artifact["structured_content"]
    if not isinstance(content, Sequence) or isinstance(content, str):
        return content
    if len(content) == 1 and content[0].get("type") == "text":
        return _parsed(content[0]["text"])
    return [_bare(block) for block in content]


def _parsed(text: str) -> Any:
    """Return the object or array the text holds, else the text as it is."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _bare(block: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the random id the adapter gives each block: equal outputs stay equal."""
    return {key: value for key, value in block.items() if key != "id"}
