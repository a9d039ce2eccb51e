"""A JSON schema in the short form prompts show: types where the values would stand.

`{"question": string, "options": [string]} | null` says what takes a schema four times
the tokens, and what an example shows need not be said at all. What the parser accepts
is decided by the schema itself.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

Node = Mapping[str, Any]
DEEPEST = 6
BOUNDS = frozenset({"maximum", "pattern"})
"""Keys that say more than a value can show."""


def form(schema: Node) -> str:
    """Return a JSON schema as one line of types; references are written out."""
    return _form(schema, schema.get("$defs", {}), DEEPEST)


def unshown(schema: Node, example: Any) -> str:
    """Return the fields of a schema whose type or choices an example does not show."""
    named: Node = schema.get("$defs", {})
    fields: Node = schema.get("properties", {})
    values = example if isinstance(example, Mapping) else {}
    return ", ".join(
        _field(name, node, named, DEEPEST)
        for name, node in fields.items()
        if not _shows(node, values.get(name), named, DEEPEST)
    )


def _shows(node: Node, value: Any, named: Node, depth: int) -> bool:
    """Tell whether a value says all that a prompt has to say of its type."""
    if node.get("description"):
        return False
    node = _meant(node, named)
    if value is None or depth < 1 or _choices(node) or node.keys() & BOUNDS:
        return False
    if options := [each for each in _options(node) if each.get("type") != "null"]:
        return any(_shows(each, value, named, depth - 1) for each in options)
    if isinstance(value, list):
        items = node.get("items", {})
        return bool(value) and _shows(items, value[0], named, depth - 1)
    fields: Node = node.get("properties", {})
    held = value if isinstance(value, Mapping) else {}
    return all(_shows(n, held.get(k), named, depth - 1) for k, n in fields.items())


def _meant(node: Node, named: Node) -> Node:
    found: Node = named[node["$ref"].rpartition("/")[2]] if "$ref" in node else node
    return found


def _choices(node: Node) -> list[Any]:
    return node.get("enum") or ([node["const"]] if "const" in node else [])


def _options(node: Node) -> list[Node]:
    return node.get("anyOf") or node.get("oneOf") or node.get("allOf") or []


def _form(node: Node, named: Node, depth: int) -> str:
    node = _meant(node, named)
    if choices := _choices(node):
        return "|".join(map(_choice, choices))
    if options := _options(node):
        told = dict.fromkeys(_form(each, named, depth) for each in options)
        return " | ".join(told)
    kind = str(node.get("type", "any"))
    made = FORMS.get(kind)
    return made(node, named, depth - 1) if made and depth > 0 else kind


def _choice(value: Any) -> str:
    word = isinstance(value, str) and value.isidentifier()
    return value if word else json.dumps(value, ensure_ascii=False)


def _object(node: Node, named: Node, depth: int) -> str:
    fields: Node = node.get("properties", {})
    if not fields:
        of: Any = node.get("additionalProperties")
        typed = isinstance(of, Mapping) and bool(of)
        return f"{{string: {_form(of, named, depth)}}}" if typed else "object"
    shown = (_field(name, each, named, depth) for name, each in fields.items())
    return f"{{{', '.join(shown)}}}"


def _field(name: str, node: Node, named: Node, depth: int) -> str:
    said = f" ({node['description']})" if node.get("description") else ""
    return f"{json.dumps(name, ensure_ascii=False)}: {_form(node, named, depth)}{said}"


def _array(node: Node, named: Node, depth: int) -> str:
    return f"[{_form(node.get('items', {}), named, depth)}]"


def _number(node: Node, _named: Node, _depth: int) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    span = f" {low:g}..{high:g}" if low is not None and high is not None else ""
    return f"{node['type']}{span}"


def _string(node: Node, _named: Node, _depth: int) -> str:
    pattern = node.get("pattern")
    return f"string matching {pattern}" if pattern else "string"


FORMS: dict[str, Callable[[Node, Node, int], str]] = {
    "object": _object,
    "array": _array,
    "number": _number,
    "integer": _number,
    "string": _string,
}
