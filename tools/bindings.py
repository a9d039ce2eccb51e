"""Input templates: `"{{ s1.rows }}"` keeps its type, inside text it becomes text.

The expression between the braces is CEL over the outputs of earlier steps. JSON-like
values inside text are written as JSON.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mendgraph.tools.cel import Expression, bounded_view, compile_rule

_TEMPLATE = re.compile(r"\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_PATH = re.compile(r"([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)")
_INDEXED_PATH = re.compile(r"steps\[(?:\"([^\"]+)\"|'([^']+)')\]((?:\.[A-Za-z_]\w*)*)")
_MISSING = object()


class BindingError(ValueError):
    """An input that cannot be rendered from what the earlier steps gave."""


def templates(value: Any) -> Iterator[str]:
    """Yield the expression of every template inside a value."""
    if isinstance(value, str):
        yield from _TEMPLATE.findall(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from templates(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from templates(item)


def expressions(value: Any) -> Iterator[Expression]:
    """Yield every template of a value, compiled.

    Raises:
        RuleError: One does not compile.
    """
    return (compile_rule(source) for source in templates(value))


def render(value: Any, outputs: Mapping[str, Any]) -> Any:
    """Return the value with every template replaced.

    Args:
        value: Input templates, nested as they like.
        outputs: Step id → output.

    Raises:
        BindingError: A referenced output or field is missing.
    """
    if isinstance(value, str):
        return _render_text(value, outputs)
    if isinstance(value, Mapping):
        return {key: render(item, outputs) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [render(item, outputs) for item in value]
    return value


def _render_text(text: str, outputs: Mapping[str, Any]) -> Any:
    whole = _TEMPLATE.fullmatch(text.strip())
    if whole and "}}" not in whole.group(1):
        return _value(whole.group(1), outputs)
    return _TEMPLATE.sub(lambda found: _as_text(_value(found.group(1), outputs)), text)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _value(source: str, outputs: Mapping[str, Any]) -> Any:
    by_path = _plain_path(source, outputs)
    if by_path is not _MISSING:
        return by_path
    expression = compile_rule(source)
    try:
        return expression.evaluate(variables(outputs))
    except ValueError as error:
        raise BindingError(f"{{{{ {source} }}}} cannot be filled: {error}") from error


def _plain_path(source: str, outputs: Mapping[str, Any]) -> Any:
    """Follow a plain path without CEL, so large values are not copied."""
    if match := _PATH.fullmatch(source):
        value, rest = outputs.get(match.group(1), _MISSING), match.group(2)
    elif match := _INDEXED_PATH.fullmatch(source):
        value = outputs.get(match.group(1) or match.group(2), _MISSING)
        rest = match.group(3)
    else:
        return _MISSING
    for name in rest.split(".")[1:]:
        if not isinstance(value, Mapping) or name not in value:
            return _MISSING
        value = value[name]
    return value


def variables(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what expressions see: each output by name, and all under `steps`."""
    seen = {step_id: bounded_view(output) for step_id, output in outputs.items()}
    return {**{k: v for k, v in seen.items() if k.isidentifier()}, "steps": seen}
