"""Secrets are hidden wherever they stand; ordinary words are not."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.state.masking import MASK, is_secret_name, mask, mask_value

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("key sk-abcdefghijklmnopqrst!", "key ***!"),
        ("AKIAIOSFODNN7EXAMPLE", "***"),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345", "***"),
        (f"jwt {JWT} end", "jwt *** end"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer ***"),
        ("postgres://bob:hun:ter2@db/x", "postgres://bob:***@db/x"),
        ("password=hunter&x=1", "password=***&x=1"),
        ("password: hunter", "password: ***"),
        (
            "{'api_key': 'abc', \"token\": \"t\"}",
            "{'api_key': '***', \"token\": \"***\"}",
        ),
        ("token: 1a2b3c4d5e", "token: ***"),
        ("DB_PASSWORD=x y", "DB_PASSWORD=*** y"),
    ],
)
def test_secrets_are_hidden(text, hidden):
    """Keys by their form, values by the name beside them."""
    assert hidden == mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "SyntaxError: Unexpected token: foo",
        "tokens per min (TPM): Limit 30000",
        "max_tokens=4096",
        "password: must contain a digit",
        "basic auth required",
        "Bearer authentication failed",
        "duplicate key value: Key (id)=(0) already exists",
        "secretary: Anna",
    ],
)
def test_ordinary_words_stay(text):
    """Words that only sound like secrets are left alone."""
    assert text == mask(text)


def test_values_keep_their_shape():
    """Nested values are hidden by their field's name, the rest stays."""
    value = {
        "max_tokens": 3,
        "token": "a",
        "apiKey": "x",
        "list": [{"db_password": "p"}, ("sk-abcdefghijklmnopqrst", 1)],
        "secret": {"a": 1, "b": None},
        "author": "x",
    }
    expected = {
        "max_tokens": 3,
        "token": MASK,
        "apiKey": MASK,
        "list": [{"db_password": MASK}, (MASK, 1)],
        "secret": {"a": MASK, "b": None},
        "author": "x",
    }
    assert expected == mask_value(value)


def test_named_arguments_are_hidden_too():
    """A policy can name further secret arguments, in any case."""
    assert mask_value({"Card": "4242", "n": 1}, ["card"]) == {"Card": MASK, "n": 1}


def test_names_of_secrets_are_known():
    """Only whole names count."""
    assert is_secret_name("OPENAI_API_KEY")
    assert not is_secret_name("token_count")


@given(st.text(max_size=300))
def test_masking_twice_changes_nothing_more(text):
    """Masking is idempotent."""
    assert mask(text) == mask(mask(text))


@given(
    st.lists(
        st.sampled_from(["the", "a", "row", "table", "user", "asked", "for", "fast"])
    )
)
def test_plain_prose_is_never_masked(words):
    """Prose without a secret's name or form comes back as it was."""
    text = " ".join(words)
    assert text == mask(text)


@given(
    st.sampled_from(["password", "api_key", "client_secret", "access_token"]),
    st.text(string.ascii_letters + string.digits, min_size=1, max_size=40),
)
def test_a_value_beside_a_secrets_name_never_survives(name, value):
    """Whatever the value is, `name=value` does not show it."""
    assert f"{name}={MASK} tail" == mask(f"{name}={value} tail")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=10,
)


def _shape(value):
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    return [_shape(item) for item in value] if isinstance(value, list) else None


@given(_JSON)
def test_the_shape_never_changes(value):
    """Keys and list lengths are the same before and after."""
    assert _shape(value) == _shape(mask_value(value))
