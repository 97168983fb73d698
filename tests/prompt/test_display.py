"""How facts are shown: safely, without secrets, and always."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import BuildRequest, FrozenDict
from innkeeper.prompt.display import caret, escaped, plain, printable, redact, shorten
from tests.prompt.doubles import ANY_TEXT, JSON, nested

KEY = "sk-" + "abcd1234" * 4


@dataclass(frozen=True)
class SecretCase:
    id: str
    text: str
    secret: str


SECRETS = [
    SecretCase("bearer", "Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef"),
    SecretCase("known-shape", f"invalid key {KEY} given", KEY),
    SecretCase("url-password", "postgresql://inn:hunter2@db/inn", "hunter2"),
    SecretCase("query", "GET https://example.test/v1?key=abc123&alt=sse", "abc123"),
    SecretCase("json", '{"api_key": "abc123def456"}', "abc123def456"),
    SecretCase("assignment", "password=correct-horse-9", "correct-horse-9"),
]


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case.id)
def test_secrets_become_asterisks_of_the_same_length(case: SecretCase) -> None:
    """What looks like a secret is blotted out, and offsets stay right."""
    shown = redact(case.text)
    assert shown == case.text.replace(case.secret, "*" * len(case.secret))


@pytest.mark.parametrize(
    "text",
    ["the bearer of bad news", "token budget: 1200", "max_tokens: 4096", "http://127.0.0.1:8080/v1", "key: dragon"],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    """Words that only sound secret stay readable."""
    assert redact(text) == text


@given(ANY_TEXT)
def test_printable_text_keeps_every_offset_and_holds_no_control(text: str) -> None:
    """Nothing a terminal would obey is left, one character for one."""
    shown = printable(text)
    assert len(shown) == len(text)
    assert not any(ord(c) < 32 and c not in "\t\n" for c in shown)
    assert not any(c in "\x7f\x9b\u202e\u2066" for c in shown)


@given(ANY_TEXT)
def test_escaped_text_prints_and_is_stable(text: str) -> None:
    """Escaping leaves nothing to escape."""
    shown = escaped(text)
    shown.encode()
    assert escaped(shown) == shown


def test_escapes_spell_what_does_not_print() -> None:
    """Controls, overrides and lone surrogates are spelled; other scripts stay."""
    assert escaped("a\x1b[31m\u202e\ud800船\u3000b\n") == "a\\x1b[31m\\u202e\\ud800船\u3000b\n"


@pytest.mark.parametrize(
    ("excerpt", "column", "blanks"),
    [("abc", 3, "  "), ("\tx", 2, "\t"), ("船x", 2, "  "), ("e\u0301x", 3, " "), ("a", 1, "")],
)
def test_the_caret_stands_under_its_character(excerpt: str, column: int, blanks: str) -> None:
    """Tabs, wide characters and accents count as wide as they are shown."""
    assert caret(excerpt, column) == blanks + "^"


class Silent:
    """An object whose text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no")


ODD: list[Any] = [
    object,
    Silent(),
    {Silent(): Silent()},
    {1, "a", None},
    b"\xff",
    float("nan"),
    10**5000,
    nested(100_000),
    FrozenDict({"a": object()}),
    BuildRequest(),
    ValueError("x"),
    "\ud800",
    ["x"] * 10_000,
]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_anything_becomes_data_for_any_json_writer(value: Any) -> None:
    """Odd objects, cycles of text and endless nesting are shown somehow, in bounded size, without an error."""
    assert len(json.dumps(plain(value), allow_nan=False)) < 20_000


@given(JSON)
def test_plain_data_is_json(value: Any) -> None:
    """Ordinary data goes through every JSON writer afterwards."""
    json.dumps(plain(value), allow_nan=False).encode("utf-8")


@pytest.mark.parametrize("name", ["api_key", "apikey", "Authorization", "password", "access-token", "cookie"])
def test_text_under_a_secret_name_is_left_out(name: str) -> None:
    """A field that is named like a secret is not shown."""
    assert plain({name: "anything"}) == {name: "***"}


def test_numbers_under_such_a_name_are_shown() -> None:
    """A count is no secret."""
    assert plain({"token": 5, "max_tokens": 7}) == {"token": 5, "max_tokens": 7}


@given(st.text(max_size=20), st.integers(2, 10))
def test_shortened_text_is_no_longer_than_asked(text: str, length: int) -> None:
    """Long text ends in an ellipsis; short text stays."""
    shown = shorten(text, length)
    assert len(shown) <= length
    assert shown == text or shown == text[: length - 1] + "…"
