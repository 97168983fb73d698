"""Text without lone surrogates."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given

from innkeeper.prompt import BuildRequest, FormatError, Message, Note, NoteKind, Plan, ReplayBundle
from innkeeper.prompt.text import Mended, lone_in, mended_in, scalar_text, watching
from innkeeper.taverns import build
from tests.prompt.doubles import ANY_TEXT


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
