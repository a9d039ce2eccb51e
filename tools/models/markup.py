"""Recognise tool calls that a model wrote as markup into its content.

DeepSeek's own markup leaks when a server fails to parse it: the tag name `tool_calls`
behind the word DSML between one or two bars, in three kinds of bar, with or without
blanks. Older DeepSeek models and Hermes-style templates leak theirs likewise.
"""

import json
import re
from typing import Any

BAR = r"[|\uff5c\u2016]{1,2}"
"""ASCII bar, fullwidth bar or double bar, once or twice."""
DSML = rf"{BAR}\s*DSML\s*{BAR}\s*"
MARKUP = re.compile(
    rf"<\s*/?\s*{DSML}|<\s*{BAR}\s*tool[▁_ ]calls?[▁_ ]begin"
    rf"|<tool_call>|<function_calls>|<(?:antml:)?invoke\s+name=",
    re.IGNORECASE,
)
INVOKE = re.compile(
    rf"<\s*(?:{DSML})?invoke\s+name\s*=\s*\"(?P<name>[^\"]+)\"\s*>(?P<body>.*?)"
    rf"<\s*/\s*(?:{DSML})?invoke\s*>",
    re.DOTALL | re.IGNORECASE,
)
PARAMETER = re.compile(
    rf"<\s*(?:{DSML})?parameter\s+name\s*=\s*\"(?P<name>[^\"]+)\"(?P<attrs>[^>]*)>"
    rf"(?P<value>.*?)<\s*/\s*(?:{DSML})?parameter\s*>",
    re.DOTALL | re.IGNORECASE,
)
OLDER = re.compile(
    rf"<\s*{BAR}\s*tool[▁_ ]sep\s*{BAR}\s*>\s*(?P<name>[\w.-]+)\s*"
    rf"(?:```json)?\s*(?P<body>\{{.*?\}})\s*(?:```)?\s*"
    rf"<\s*{BAR}\s*tool[▁_ ]call[▁_ ]end",
    re.DOTALL | re.IGNORECASE,
)
HERMES = re.compile(r"<tool_call>\s*(?P<body>\{.*?\})\s*</tool_call>", re.DOTALL)
TEXT_ATTRIBUTE = re.compile(r"string\s*=\s*\"true\"", re.IGNORECASE)

Call = tuple[str, dict[str, Any]]


def has_markup(text: str) -> bool:
    """Say whether the text holds tool-call markup outside of a JSON value."""
    return MARKUP.search(text) is not None


def calls_in(text: str) -> list[Call]:
    """Return (tool, arguments) of every complete call written as markup.

    They are as untrusted as any call of the model: the same allow-list and the same
    validation apply. An incomplete call is left out.
    """
    found = [_invoked(match) for match in INVOKE.finditer(text)]
    found += [_bodied(match["name"], match["body"]) for match in OLDER.finditer(text)]
    found += [_hermes(match["body"]) for match in HERMES.finditer(text)]
    return [call for call in found if call is not None]


def _invoked(match: re.Match[str]) -> Call | None:
    parameters = list(PARAMETER.finditer(match["body"]))
    if not parameters and match["body"].strip():
        return _bodied(match["name"], match["body"])
    return match["name"], {each["name"]: _value(each) for each in parameters}


def _value(parameter: re.Match[str]) -> Any:
    text = parameter["value"]
    if TEXT_ATTRIBUTE.search(parameter["attrs"]):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _bodied(name: str, body: str) -> Call | None:
    try:
        arguments = json.loads(body)
    except ValueError:
        return None
    return (name, arguments) if isinstance(arguments, dict) else None


def _hermes(body: str) -> Call | None:
    try:
        call = json.loads(body)
        arguments = call.get("arguments", {})
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, AttributeError):
        return None
    named = isinstance(call.get("name"), str) and isinstance(arguments, dict)
    return (call["name"], arguments) if named else None
