"""Text without lone surrogates."""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import BuildRequest, FormatError, FrozenDict, Message, Note, NoteKind, Plan, ReplayBundle
from innkeeper.prompt.text import (
    Mended,
    caret,
    count_of,
    escaped,
    kind_of,
    lone_in,
    mended_in,
    plain,
    printable,
    redact,
    scalar_text,
    shorten,
    watching,
)
from innkeeper.taverns import build
from tests.prompt.doubles import ANY_TEXT, JSON, nested
from tests.shared import ROOT


@given(ANY_TEXT)
def test_scalar_text_encodes_and_keeps_every_offset(text: str) -> None:
    """Any text can be encoded, has the same length, and differs only where a surrogate stood alone."""
    clean = scalar_text(text)
    clean.encode()
    assert len(clean) == len(text)
    assert all(a == b or (b == "\ufffd" and "\ud800" <= a <= "\udfff") for a, b in zip(text, clean, strict=True))


def test_clean_text_is_the_same_object() -> None:
    """Text without surrogates costs no copy."""
    for text in ("plain", "船\0"):
        assert scalar_text(text) is text


HALF = "\ud800"


def _notes(plan: Plan) -> list[Note]:
    return [note for note in plan.notes if note.kind is NoteKind.REPAIR and "surrogate" in note.message]


def _request(**fields: Any) -> BuildRequest:
    return BuildRequest.of({"tavern": "silly", "now": "2026-01-15T12:00:00Z", "model": "gpt-4o", **fields})


@dataclass(frozen=True)
class Case:
    name: str
    fields: dict[str, Any]
    count: int
    first: str


CASES = [
    Case("a message", {"message": f"a{HALF}b"}, 1, "message"),
    Case("a chat", {"history": [Message("user", "a"), {"role": "user", "content": HALF * 2}]}, 2, "history[1].content"),
    Case("a name of a field", {"meta": {f"x{HALF}": f"{HALF}y"}}, 2, "meta.x\ufffd"),
    Case("a card", {"character": {"name": "Mira", "description": HALF, "first_mes": HALF}}, 2, "character.description"),
    Case("a persona's name", {"user": f"Sam{HALF}"}, 1, "user"),
    Case("a book", {"lorebooks": [{"entries": [{"keys": ["a"], "content": HALF}]}]}, 1, "lorebooks[0].entries[0].content"),
    Case("both kinds", {"message": HALF, "user": {"name": "Sam", "description": HALF}}, 2, "message"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_plan_says_what_was_mended(case: Case) -> None:
    """One note, with how many and the first place; the same in a second build, and in one of the recorded request."""
    request = _request(**case.fields)
    plan = build(request)
    (note,) = _notes(plan)
    assert (note.data["count"], note.where and note.where.path) == (case.count, case.first)
    bundle = ReplayBundle.from_json(plan.replay().to_json())
    assert _notes(build(request)) == _notes(build(bundle.request)) == [note]


def test_clean_text_has_no_note() -> None:
    """Text outside ASCII is no repair."""
    assert not _notes(build(_request(message="Grüße 😀", user="Zoë")))


def test_a_field_that_is_given_anew_is_forgotten() -> None:
    """What was mended in a field goes with its value, and other fields keep theirs."""
    request = _request(message=HALF, history=[Message("user", "a"), {"role": "user", "content": HALF}])
    assert [found.field for found in request.mended] == ["history", "message"]
    assert request.with_(message="b").mended == (Mended("history", 1, "history[1].content"),)
    assert request.with_(message=HALF).mended[1] == Mended("message", 1, "message")
    assert request.with_(mended=()).mended == ()


def test_the_order_of_the_fields_does_not_matter() -> None:
    """What was mended is told in one order, whether it came at once or one after the other."""
    fields = {"options": {"a": HALF}, "message": HALF, "history": [{"role": "user", "content": HALF}]}
    mended = BuildRequest.of(fields).mended
    assert [found.field for found in mended] == ["history", "message", "options"]
    one_by_one = BuildRequest()
    for name, value in fields.items():
        one_by_one = one_by_one.with_(**{name: value})
    assert one_by_one.mended == mended
    assert BuildRequest.of({**fields, "mended": [Mended("meta", 1, "meta.a")]}).mended[-2].field == "meta"


def test_what_is_not_plain_data_is_named_by_its_field() -> None:
    """Where the place cannot be found again, the field is it."""
    request = _request(history=iter([{"role": "user", "content": HALF}]))
    assert request.mended == (Mended("history", 1, "history"),)


def test_a_wrong_record_is_refused() -> None:
    """``mended`` is data of a request like any other."""
    with pytest.raises(FormatError, match="mended"):
        BuildRequest.of({"mended": [{"field": "message"}]})


def test_watches_count_what_happens_inside() -> None:
    """An outer watch does not see an inner one's; taking stock begins anew."""
    with watching() as outer:
        scalar_text(f"{HALF}a{HALF}")
        with watching() as inner:
            scalar_text(HALF)
        assert (outer.count, inner.count) == (2, 1)
        assert mended_in("a", ["b", HALF], outer) == Mended("a", 2, "a[1]")
        assert outer.count == 0
    assert list(lone_in({"a": (HALF, 1, None)}, "x")) == [("x.a[0]", 1)]


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


@pytest.mark.parametrize(
    ("number", "what", "words"),
    [
        (0, "file", "0 files"),
        (1, "file", "1 file"),
        (1, "pass", "1 pass"),
        (2, "pass", "2 passes"),
        (2000, "file", "2,000 files"),
        (4, "entry", "4 entries"),
    ],
)
def test_counts_agree_with_their_words(number: int, what: str, words: str) -> None:
    """One of a thing is one, and many are many."""
    assert count_of(number, what) == words


def test_no_sentence_of_the_command_line_has_a_bare_plural() -> None:
    """A number that may be 1 is said by `count_of`: no source of it writes ``{len(...)} files`` and the like."""
    nouns = "files|findings|passes|entries|blocks|jobs|chats|templates"
    bare = re.compile(rf"\{{(?:len\([^{{}}]*\)|[a-z_.]*(?:loops|count|broken))(?::,)?\}} (?:{nouns})\b")
    sources = (ROOT / "src" / "innkeeper" / "cli").rglob("*.py")
    assert not [path.name for path in sources if bare.search(path.read_text("utf-8"))]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true or false"),
        (7, "a whole number"),
        (7.5, "a decimal number"),
        ("x", "text"),
        ([], "a list"),
        ((), "a list"),
        ({}, "an object"),
        (b"x", "bytes"),
    ],
)
def test_errors_say_what_a_value_is_without_python(value: object, words: str) -> None:
    """Errors call values by words of JSON."""
    assert kind_of(value) == words
