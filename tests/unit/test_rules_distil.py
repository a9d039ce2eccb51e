"""Distillation: only an expression that reproduces every fix becomes a rule."""

from typing import Any

import pytest

from mendgraph.state.distil import Example, common_phrase, distil
from mendgraph.tools.evaluate import evaluate

NEAR = 'ERROR: syntax error at or near "{}"'


def example(before: dict[str, Any], after: dict[str, Any], error: str) -> Example:
    return Example(args_before=before, args_after=after, error=error)


def quoting(name: str, table: str) -> Example:
    return example(
        {"sql": f"SELECT {name} FROM {table}"},  # noqa: S608 (never run)
        {"sql": f'SELECT "{name}" FROM {table}'},  # noqa: S608 (never run)
        NEAR.format(name),
    )


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        ({"timeout_s": 10}, {"timeout_s": 15.0}, "the call timed out"),
        ({"limit": 1000}, {"limit": 500}, "result set is too large"),
        (
            {"sql": "```sql\nSELECT 1\n```"},
            {"sql": "SELECT 1"},
            "syntax error somewhere",
        ),
        ({"text": "\ufeffid"}, {"text": "id"}, "unknown column in header"),
        ({"mode": "error"}, {"mode": "cast"}, "type mismatch in row"),
        ({"day": "5"}, {"day": 5}, "day must be an integer"),
        ({"day": 5}, {"day": "5"}, "day must be a string"),
        ({"q": " a b "}, {"q": "a b"}, "leading blanks are refused"),
        ({"code": "abc"}, {"code": "ABC"}, "code must be upper case"),
        ({"ids": 7}, {"ids": [7]}, "ids must be an array"),
        ({"ids": "a, b"}, {"ids": ["a", "b"]}, "ids must be an array"),
        ({"n": 90}, {"n": 50}, "n may be at most 50"),
        ({"url": "http://x.y/a"}, {"url": "https://x.y/a"}, "plain http is refused"),
        ({"page": 0}, {"page": 1}, "page must be positive"),
        ({"q": "x", "extra": 1}, {"q": "x"}, "unexpected argument was given"),
        ({"query": "SELECT"}, {"sql": "SELECT"}, "missing argument was noticed"),
        (
            {"sql": "SELECT usr FROM t"},
            {"sql": "SELECT user_id FROM t"},
            'column "usr" does not exist. Perhaps you meant "user_id".',
        ),
    ],
)
def test_a_repeated_change_becomes_an_expression(
    before: dict[str, Any], after: dict[str, Any], error: str
) -> None:
    """Each kind of change in the table is recognised and reproduced."""
    found = distil([example(before, after, error)] * 2, evaluate)

    assert found is not None
    given = {"args": before, "error": {"message": error}, "output": None, "tool": ""}
    assert evaluate(found.condition, given) is True
    changed = {name: evaluate(cel, given) for name, cel in found.patch.items()}
    merged = {k: v for k, v in {**before, **changed}.items() if v is not None}
    assert after == merged


def test_a_quoting_rule_carries_over_to_another_name_and_table() -> None:
    """The rule reads the name from the error instead of keeping an example's."""
    found = distil([quoting("order", "a"), quoting("user", "b")], evaluate)

    assert found is not None
    given = {
        "args": {"sql": "SELECT group FROM c ORDER BY id"},
        "error": {"message": NEAR.format("group")},
    }
    assert evaluate(found.patch["sql"], given) == 'SELECT "group" FROM c ORDER BY id'


def test_one_exception_among_the_examples_prevents_the_rule() -> None:
    """A fix that no single expression explains stays with the model."""
    odd = example({"sql": "SELECT z FROM c"}, {"sql": "SELECT 1"}, NEAR.format("z"))

    assert distil([quoting("order", "a"), odd], evaluate) is None


def test_one_example_is_not_enough() -> None:
    """A single success never becomes a rule."""
    assert distil([quoting("order", "a")], evaluate) is None


def test_fixes_that_change_different_arguments_make_no_rule() -> None:
    """The same arguments must have changed each time."""
    one = example({"a": 1, "b": 1}, {"a": 2, "b": 1}, "some failure text")
    two = example({"a": 1, "b": 1}, {"a": 1, "b": 2}, "some failure text")

    assert distil([one, two], evaluate) is None


def test_a_whole_statement_is_never_learned_as_a_constant() -> None:
    """Text with blanks is an example's content, not a general value."""
    pair = [
        example({"sql": f"SELECT {n}"}, {"sql": "SELECT a FROM t"}, "it went wrong")
        for n in ("x", "yy zz")
    ]

    assert distil(pair, evaluate) is None


def test_without_a_common_error_text_a_blind_change_makes_no_rule() -> None:
    """Something in the error must say when the rule applies."""
    pair = [
        example({"mode": "a"}, {"mode": "b"}, "alpha beta"),
        example({"mode": "a"}, {"mode": "b"}, "gamma delta"),
    ]

    assert distil(pair, evaluate) is None


def test_the_common_phrase_leaves_out_what_varies() -> None:
    """Numbers and quoted names end a phrase."""
    messages = ['relation "a" does not exist at 14', 'relation "b" does not exist at 9']

    assert common_phrase(messages) == "does not exist at"


def test_true_and_one_are_different_values() -> None:
    """A change from 1 to true is a change, and its rule gives true."""
    found = distil([example({"x": 1}, {"x": True}, "x must be boolean")] * 2, evaluate)

    assert found is not None
    assert found.patch == {"x": "true"}
