"""What a model wrote, when that is the fault: cut short, empty or malformed."""

import re

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    EXHAUSTED,
    UNMET,
    UNPARSED,
    Rule,
    Seen,
    every,
    named,
    none_of,
    package,
    says,
    some,
)

_CUT = some(
    named(
        "LengthFinishReasonError", "IncompleteOutputException", "OutputTruncatedError"
    ),
    lambda seen: (
        seen.facts.finish_reason in ("length", "max_tokens", "max_output_tokens")
    ),
    says(
        r"finish_?reason\W{1,6}(?:length|max_tokens)|length limit was reached"
        r"|max_(?:output_|completion_)?tokens.{0,60}(?:reached|was hit"
        r"|too small|stops? working)|output (?:was |is )?(?:truncated|cut off)"
        r"|(?:truncated|cut off) (?:by|at|because of) .{0,20}(?:length|tokens|limit)"
        r"|reached the maximum number of tokens"
    ),
)
_OWN_MARKUP = re.compile(
    r"<\s*[|\uff5c\u2016]{1,2}\s*(?:DSML|tool[▁_]calls?|python_tag)", re.IGNORECASE
)


_ERROR_KEY = re.compile(
    r"[\"'](?:errors?|message|exit_code|isError)[\"']\s*:|[\"'](?:code"
    r"|status)[\"']\s*:\s*-?\d"
)


def _has_own_markup(seen: Seen) -> bool:
    return _OWN_MARKUP.search(seen.text) is not None


def _is_bare_object(seen: Seen) -> bool:
    """Tell whether the text is nothing but an object, without any error around it."""
    text = seen.facts.message.strip()
    looks = text.startswith("{") and "}" in text and seen.facts.http_status is None
    return looks and _ERROR_KEY.search(text) is None


_PARSERS = named(
    "OutputParserException",
    "ValidationError",
    "JSONSchemaValidationError",
    "InvalidToolCallError",
    "ToolInputParsingException",
    "OutputFixingError",
    "UnexpectedModelBehavior",
    "InstructorRetryException",
    "StructuredOutputError",
    "StructuredOutputValidationError",
    "MultipleStructuredOutputsError",
)

CUT_RULES: tuple[Rule, ...] = (
    Rule("the answer was cut short by the token limit", _CUT, EXHAUSTED, 0.92),
    Rule(
        "the object does not fit its schema",
        every(
            named("ValidationError"), package("pydantic_core", "pydantic", "jsonschema")
        ),
        UNPARSED,
        0.85,
    ),
)

RULES: tuple[Rule, ...] = (
    Rule(
        "the model sent tool calls in its own markup",
        some(
            _has_own_markup,
            says(
                r"<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<invoke name="
            ),
        ),
        UNPARSED,
    ),
    Rule(
        "the tool named by the model is not there",
        some(
            says(
                r"is not a valid tool|(?:unknown|invalid|no such|nonexistent) tool\b"
                r"|tool .{0,60}(?:not found|does not exist|is not (?:available|defined"
                r"|registered))|no tool (?:named|called)"
                r"|tried to call .{0,30}unknown tool"
                r"|未知工具|工具不存在"
            ),
            named("ToolNotFoundError", "UnknownToolError"),
        ),
        UNMET,
        0.85,
    ),
    Rule(
        "the output does not have the asked form",
        some(
            _PARSERS,
            says(
                r"invalid json output|could not parse (?:llm|function|tool|output"
                r"|response)"
                r"|OUTPUT_PARSING_FAILURE|failed to parse|unparsable"
                r"|invalid or missing "
                r"(?:tool|action)|missing 'action"
                r"|\[type=\w+, input_value=|validation errors? for|field required"
                r"|<think>|did not return (?:valid )?json|not valid json"
                r"|parse(?:r)? error"
                r"|(?:is|are) not of type|is a required property|is not one of \["
                r"|tool_use_failed|failed_generation|malformed_function_call"
                r"|invalid_tool_calls|unterminated|output .{0,30}(?:did not"
                r"|does not) match"
            ),
        ),
        UNPARSED,
        0.8,
    ),
    Rule(
        "the answer is empty",
        every(
            says(
                r"[\"']content[\"']\s*:\s*(?:\"\"|''|null|none|\" +\")"
                r"|empty (?:response"
                r"|output|content|completion|answer)|returned (?:an )?empty|no content"
                r"|response (?:was|is) (?:empty|blank)"
            ),
            none_of(says(r"status|HTTP|csv|file|exit_code")),
        ),
        UNPARSED,
        0.8,
    ),
    Rule(
        "the arguments of the tool call are no object",
        says(r"arguments\W{1,4}(?:\\?[\"'\[{n]|\")"),
        UNPARSED,
        0.75,
    ),
    Rule(
        "a part of the answer that was relied on is missing",
        every(
            named("AttributeError", "TypeError"),
            says(r"'NoneType' object (?:has no attribute|is not)"),
        ),
        UNPARSED,
        0.65,
    ),
    Rule(
        "the history holds a field the model refuses",
        says(r"[\"']role[\"']\s*:\s*[\"']assistant[\"'].*reasoning_content"),
        BAD_ARGS,
        0.7,
    ),
    Rule(
        "placeholders stand for absent values",
        says(
            r"(?:null|\"\"|\{\}|\[\]).{0,40}for (?:optional|absent|missing) (?:fields?"
            r"|val)"
        ),
        UNPARSED,
        0.7,
    ),
)

_FENCED = re.compile(r"^\s*```|^[A-Z][^{\n]{3,120}[:.]?\s*\{\s*[\"'].*\}", re.DOTALL)


def _is_wrapped_object(seen: Seen) -> bool:
    """Tell whether an object stands inside prose or a fence."""
    text = seen.facts.message
    return _FENCED.search(text) is not None and not _ERROR_KEY.search(text)


LAST_RULES: tuple[Rule, ...] = (
    Rule(
        "the object stands inside prose or a fence", _is_wrapped_object, UNPARSED, 0.6
    ),
    Rule(
        "an object of another form than was asked for", _is_bare_object, UNPARSED, 0.6
    ),
)
