"""Data that cannot be read: JSON, CSV, tables, encodings, archives, columns.

Sources: the messages of json, csv, codecs, zipfile, pandas, numpy and openpyxl.
"""

import re

from mendgraph.nodes.classify.rule import (
    BAD_ARGS,
    BLOCKED,
    CHANGED,
    DENIED,
    DOWN,
    EXHAUSTED,
    FAULTY,
    NETWORK,
    OTHER_FORM,
    UNMET,
    UNPARSED,
    Predicate,
    Rule,
    Seen,
    every,
    layer,
    named,
    none_of,
    says,
    some,
)
from mendgraph.nodes.classify.words import HTML
from mendgraph.state.failure import Layer

JSON_FAILED: Predicate = some(
    named("JSONDecodeError", "JSONDecodeException"),
    says(
        r"Expecting (?:value|property name|',' delimiter|':' delimiter)"
        r"|Extra data: line"
        r"|Unterminated string starting|Invalid control character|Invalid \\?escape"
        r"|Unexpected (?:token|end of JSON)|json.{0,20}(?:decode|parse) error"
        r"|is not valid JSON|invalid character .* looking for|unexpected end of json"
    ),
)
_CSV_FAILED = some(
    named("ParserError"), says(r"Error tokenizing data|Expected \d+ fields in line")
)
_DENIAL = says(
    r"access (?:is )?denied|forbidden|captcha|log ?in|sign ?in|access token|unauthori"
    r"|not authorized|permission|are you a (?:human|robot)|blocked|authenticat"
    r"|cloudflare"
)
_NO_BODY = re.compile(r"^[\s\\nrt]*$")
_BROKEN_OFF = says(r"Unterminated string|unexpected end|Expecting ',' delimiter.*EOF")
_FIRST_CHAR = says(
    r"Expecting value: line \d+ column 1 \(char \d+\)|Unexpected token '?<"
)


def _blank_body(seen: Seen) -> bool:
    body = seen.facts.body_head
    return body is not None and _NO_BODY.match(body) is not None


_SERVER_HTML = says(
    r"bad gateway|service unavailable|gateway time-?out|50[0234]|maintenance|overload"
)
_LOST_COLUMN = some(
    named("KeyError", "ColumnNotFoundError"),
    says(
        r"not in index|None of \[.*\] are in the|not found in axis|Usecols do not match"
        r"|columns? .{0,60}(?:not found|missing|does not exist)|missing columns?"
    ),
)
_BOM = says(r"ï»¿|\ufeff|\\ufeff|\bBOM\b")

BODY_RULES: tuple[Rule, ...] = (
    Rule("model output is no JSON", every(JSON_FAILED, layer(Layer.PARSER)), UNPARSED),
    Rule("no JSON: the body is blank", every(JSON_FAILED, _blank_body), DOWN),
    Rule(
        "no JSON: the server sent an error page",
        every(JSON_FAILED, HTML, _SERVER_HTML),
        DOWN,
        0.85,
    ),
    Rule("no JSON: a denied page was sent", every(JSON_FAILED, HTML, _DENIAL), BLOCKED),
    Rule("no JSON: a page was sent", every(JSON_FAILED, HTML), BLOCKED, 0.75),
    Rule("no JSON: access is denied", every(JSON_FAILED, _DENIAL), BLOCKED, 0.75),
    Rule("no table: access is denied", every(_CSV_FAILED, _DENIAL), DENIED),
    Rule("no table: a page was sent", every(_CSV_FAILED, HTML), BLOCKED, 0.8),
    Rule(
        "the answer is no JSON",
        named("ContentTypeError"),
        BLOCKED,
        0.65,
    ),
    Rule(
        "the service answered nothing",
        every(
            JSON_FAILED,
            _FIRST_CHAR,
            named("InvalidJSONError", "APIResponseValidationError"),
        ),
        DOWN,
        0.6,
    ),
    Rule("the JSON is not well-formed", JSON_FAILED, UNPARSED, 0.8),
)

RULES: tuple[Rule, ...] = (
    Rule(
        "the file is empty",
        some(
            named("EmptyDataError", "NoDataError"),
            says(r"no columns to parse|empty (?:csv|file|data)|file is empty"),
        ),
        UNMET,
    ),
    Rule(
        "the separator or a preamble is not as assumed",
        says(
            r"Expected 1 fields in line \d+|Could not determine delimiter"
            r"|Expected 1 columns?\b"
        ),
        BAD_ARGS,
        0.75,
    ),
    Rule(
        "a row or field cannot be read",
        some(
            _CSV_FAILED,
            named("ParserWarning", "CSVError"),
            every(named("Error"), says(r"_csv|csv")),
            says(
                r"EOF inside string|field larger than field limit|line contains NUL"
                r"|new-line character seen|Buffer overflow caught"
                r"|unexpected end of data"
                r"|rows? .{0,20}(?:has|have) \d+ (?:fields|columns)"
            ),
        ),
        UNPARSED,
        0.85,
    ),
    Rule(
        "the encoding is not the assumed one",
        some(
            named("UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError"),
            says(
                r"codec can't (?:de|en)code|invalid (?:start|continuation) byte"
                r"|invalid utf-?8|unknown encoding|stream does not contain valid utf-8"
            ),
        ),
        BAD_ARGS,
    ),
    Rule(
        "the file is of another kind",
        some(
            named(
                "BadZipFile",
                "BadZipfile",
                "BadGzipFile",
                "InvalidFileException",
                "XLRDError",
                "UnidentifiedImageError",
                "PdfReadError",
                "ArrowInvalid",
                "PackageNotFoundError",
                "PDFSyntaxError",
            ),
            every(named("ReadError"), says(r"tar|not a gzip")),
            says(
                r"not a zip file|not a gzipped file|file (?:format|contents?) (?:is )?"
                r"(?:not |un)(?:supported|recogni|be determined)|bad magic number"
                r"|excel file format cannot be determined|not a valid (?:xlsx|pdf|image"
                r"|parquet)|cannot identify image|parquet magic bytes"
                r"|unsupported format"
                r"|does not appear to be .{0,20}(?:archive|file)|file is encrypted"
                r"|could not find a suitable engine|not an? \w+ file"
            ),
        ),
        OTHER_FORM,
        0.85,
    ),
    Rule("the data broke off", named("EOFError"), NETWORK, 0.6),
    Rule(
        "the archive or stream is damaged",
        says(
            r"Error -\d while decompress|CRC check failed|bad CRC|compressed file ended"
            r"|incorrect (?:data|header) check|truncated (?:file|archive)"
            r"|checksum mismatch|hash mismatch|image file is truncated"
        ),
        NETWORK,
        0.65,
    ),
    Rule(
        "the column is there under a name with a byte order mark",
        every(_LOST_COLUMN, _BOM),
        UNPARSED,
    ),
    Rule(
        "a column is not there",
        every(
            _LOST_COLUMN,
            says(
                r"column|index|axis|header"
                r"|usecols"
            ),
        ),
        CHANGED,
        0.8,
    ),
    Rule(
        "the answer of the service lacks a field",
        every(named("KeyError"), none_of(says(r"environ"))),
        CHANGED,
        0.65,
    ),
    Rule(
        "the data is too large to be held",
        says(
            r"exceeds? (?:the )?(?:maximum|limit).{0,20}(?:rows|size|bytes)"
            r"|Maximum allowed "
            r"size|too many rows|file too large|exceeds .{0,20}memory|result too large"
        ),
        EXHAUSTED,
        0.7,
    ),
    Rule(
        "values do not have the assumed type or shape",
        some(
            named(
                "OutOfBoundsDatetime",
                "DateParseError",
                "IntCastingNaNError",
                "MergeError",
                "DTypePromotionError",
                "InvalidOperation",
                "ZeroDivisionError",
                "LinAlgError",
                "UndefinedVariableError",
                "InvalidIndexError",
                "ShapeError",
                "SchemaError",
                "ComputeError",
            ),
            says(
                r"could not convert string to|invalid literal for"
                r"|time data .* (?:does not|"
                r"doesn't) match|unknown (?:string|datetime) format|cannot convert"
                r"|operands could not be broadcast|shapes .* not aligned"
                r"|unconverted data"
                r"|cannot (?:reindex|insert|concatenate)|must be (?:the same"
                r"|of the same)"
                r"|length of values|length mismatch|columns overlap|trying to merge on"
                r"|unhashable type|unsupported operand|isn't in range|division by zero"
                r"|out of bounds|inconsistent numbers of samples|Input contains NaN"
                r"|Found array with 0|unable to parse string|cannot safely convert"
            ),
        ),
        BAD_ARGS,
        0.75,
    ),
)

LAST_RULES: tuple[Rule, ...] = (
    Rule(
        "the arguments do not fit the call",
        some(
            named("TypeError", "ValueError"),
            says(
                r"missing \d+ required|unexpected keyword|positional argument|takes \d+"
                r"|invalid (?:argument|parameter|value|input|option)|must be (?:a|an"
                r"|one)\b"
                r"|unrecognized argument|usage:|required (?:argument|parameter|field)"
                r"|expected .{1,40}(?:but )?(?:got|received)"
                r"|exceeds? max(?:imum)? length"
                r"|(?:is|was) (?:invalid|malformed|too long)|bad request|参数"
            ),
        ),
        BAD_ARGS,
        0.65,
    ),
    Rule(
        "the code of the tool is at fault",
        named(
            "AttributeError",
            "NameError",
            "IndexError",
            "SyntaxError",
            "AssertionError",
            "UnboundLocalError",
            "RuntimeError",
            "NotImplementedError",
            "IndentationError",
        ),
        FAULTY,
        0.6,
    ),
)
