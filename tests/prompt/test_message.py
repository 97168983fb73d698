"""Message and Attachment: whatever spelling comes in, one shape comes out, or a typed error."""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Attachment, FormatError, FrozenDict, InnkeeperError, LimitError, Message, UsageError, Where
from innkeeper.prompt.message import ROLES, STANDARD_METADATA, messages_of
from innkeeper.prompt.text import lone_in, watching
from tests.prompt.doubles import ANY_TEXT, JSON, nested, objects

CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
FIELDS = (
    "role",
    "content",
    "name",
    "swipes",
    "swipe_id",
    "swipeId",
    "send_date",
    "attachments",
    "metadata",
    "toolCalls",
)


@dataclass(frozen=True)
class Case:
    id: str
    given: Any
    message: Message


READ = [
    Case("ours", {"role": "user", "content": "Hi", "name": "Bob"}, Message("user", "Hi", "Bob")),
    Case("role-is-lowered", {"role": " USER ", "content": ""}, Message("user", "")),
    Case("other-roles-pass", {"role": "developer", "content": "x"}, Message("developer", "x")),
    Case("no-text", {"role": "assistant", "content": None}, Message("assistant", "")),
    Case("empty-name-is-none", {"role": "user", "content": "x", "name": ""}, Message("user", "x")),
    Case(
        "camel-case",
        {"role": "assistant", "content": "a", "swipes": ["a", "b"], "swipeId": 0, "sendDate": "2026-01-01"},
        Message("assistant", "a", swipes=("a", "b"), swipe_id=0, send_date="2026-01-01"),
    ),
    Case(
        "tool-calls-on-top",
        {"role": "assistant", "content": "", "toolCalls": [CALL]},
        Message("assistant", "", metadata=FrozenDict(tool_calls=(CALL,))),
    ),
    Case(
        "tool-result",
        {"role": "tool", "content": "1", "tool_call_id": "call_1"},
        Message("tool", "1", metadata=FrozenDict(tool_call_id="call_1")),
    ),
    Case(
        "metadata-wins-over-the-top",
        {"role": "tool", "content": "1", "x": 1, "metadata": {"x": 2, "y": [3]}},
        Message("tool", "1", metadata=FrozenDict(x=2, y=(3,))),
    ),
    Case(
        "content-parts",
        {"role": "user", "content": [{"type": "text", "text": "look"}, "here", {"type": "image_url", "image_url": {"url": "u"}}]},
        Message("user", "look\nhere", attachments=(Attachment("image", url="u"),), metadata=FrozenDict({"parts": (
            FrozenDict(type="text", text="look"), FrozenDict(type="text", text="here"), FrozenDict(type="attachment"))})),
    ),
    Case("an-object", SimpleNamespace(role="user", content="x", name=None), Message("user", "x")),
    Case("a-moment", {"role": "user", "content": "x", "send_date": datetime(2026, 1, 2, tzinfo=UTC)},
         Message("user", "x", send_date="2026-01-02T00:00:00+00:00")),
    Case("lone-surrogates", {"role": "user", "content": "\ud800", "name": "\ud800", "metadata": {"\ud800": "\ud800"}},
         Message("user", "\ufffd", "\ufffd", metadata=FrozenDict({"\ufffd": "\ufffd"}))),
    Case("nul-stays", {"role": "user", "content": "a\0b"}, Message("user", "a\0b")),
]  # fmt: skip


@pytest.mark.parametrize("case", READ, ids=lambda case: case.id)
def test_every_spelling_becomes_one_message(case: Case) -> None:
    """Ours, camelCase, the OpenAI shape and plain objects (tavernkit §3.1, history coercion; swipes are kept)."""
    assert Message.of(case.given) == case.message


@pytest.mark.parametrize("case", READ, ids=lambda case: case.id)
def test_a_message_reads_its_own_data(case: Case) -> None:
    """`to_dict` goes through JSON and `of` without a change."""
    assert Message.of(json.loads(json.dumps(case.message.to_dict()))) == case.message


@dataclass(frozen=True)
class BadCase:
    id: str
    given: Any
    says: str
    fields: dict[str, Any] = field(default_factory=dict)


BAD = [
    BadCase("not-a-message", 5, "must have role and content"),
    BadCase("no-role", {"content": "x"}, "needs a role"),
    BadCase("blank-role", {"role": " ", "content": "x"}, "needs a role"),
    BadCase("role-no-text", {"role": 5, "content": "x"}, "needs a role"),
    BadCase("no-content", {"role": "user"}, "needs content"),
    BadCase("content-a-number", {"role": "user", "content": 5}, "content must be text"),
    BadCase("content-bytes", {"role": "user", "content": b"x"}, "content must be text"),
    BadCase("part-a-number", {"role": "user", "content": [5]}, "content part"),
    BadCase("name-a-number", {"role": "user", "content": "x", "name": 5}, "name must be text"),
    BadCase("swipes-a-number", {"role": "user", "content": "x", "swipes": 5}, "swipes must be a list"),
    BadCase("swipes-a-text", {"role": "user", "content": "x", "swipes": "ab"}, "swipes must be a list"),
    BadCase("swipe-a-number", {"role": "user", "content": "x", "swipes": [5]}, "a swipe must be text"),
    BadCase("swipe-id-true", {"role": "user", "content": "x", "swipe_id": True}, "swipe_id must be a whole number"),
    BadCase("metadata-a-list", {"role": "user", "content": "x", "metadata": [5]}, "metadata must be a mapping"),
    BadCase("attachments-a-number", {"role": "user", "content": "x", "attachments": 5}, "attachments must be a list"),
    BadCase(
        "attachment-a-text", {"role": "user", "content": "x", "attachments": ["x"]}, "attachment must be a mapping"
    ),
    BadCase("attachment-url", {"role": "user", "content": "x", "attachments": [{"url": 5}]}, "url must be text"),
    BadCase("date-a-list", {"role": "user", "content": "x", "send_date": []}, "send_date must be"),
    BadCase("date-nan", {"role": "user", "content": "x", "send_date": float("nan")}, "send_date must be"),
    BadCase("metadata-nan", {"role": "user", "content": "x", "metadata": {"a": float("nan")}}, "not a number"),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
def test_a_bad_message_is_a_format_error_with_its_place(case: BadCase) -> None:
    """The error names the field, and the place it was given."""
    with pytest.raises(FormatError, match=case.says) as caught:
        Message.of(case.given, where=Where("chat", "[3]"))
    assert caught.value.where == Where("chat", "[3]")


def test_endless_metadata_is_a_limit() -> None:
    """Metadata nested 100,000 levels deep is a typed error that says which message."""
    with pytest.raises(LimitError) as caught:
        messages_of([{"role": "user", "content": "x", "metadata": {"a": nested(100_000)}}])
    assert caught.value.where == Where("history", "[0]")


@given(objects(*FIELDS) | JSON)
def test_any_json_is_a_message_or_a_typed_error(value: Any) -> None:
    """No JSON value raises anything else, and what is read is written, encoded and read again as the same."""
    try:
        message = Message.of(value)
    except InnkeeperError:
        return
    data = json.dumps(message.to_dict(), ensure_ascii=False)
    data.encode()
    assert Message.of(json.loads(data)) == message


@given(objects("type", "kind", "url", "data", "image_url", "input_audio", "file_data", "media_type", "detail", "extra"))
def test_any_json_is_an_attachment_or_a_typed_error(value: Any) -> None:
    """The same for attachments; their data is bytes or a typed error."""
    try:
        attachment = Attachment.of(value)
    except InnkeeperError:
        return
    assert Attachment.of(Message("user", "", attachments=(attachment,)).to_dict()["attachments"][0]) == attachment
    with suppress(FormatError):
        assert isinstance(attachment.decode(), bytes)


@dataclass(frozen=True)
class MediaCase:
    id: str
    part: dict[str, Any]
    attachment: Attachment


MEDIA = [
    MediaCase("openai-image", {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
              Attachment("image", url="https://x/y.png", detail="low")),
    MediaCase("responses-image", {"type": "input_image", "image_url": "https://x/y.png"},
              Attachment("image", url="https://x/y.png")),
    MediaCase("data-url", {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
              Attachment("image", data="aGk=", media_type="image/png")),
    MediaCase("audio", {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
              Attachment("audio", data="aGk=", media_type="audio/wav")),
    MediaCase("file", {"type": "input_file", "file_data": "aGk=", "filename": "a.pdf"},
              Attachment("file", data="aGk=", name="a.pdf")),
    MediaCase("file-as-a-data-url",
              {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
              Attachment("file", data="aGk=", media_type="application/pdf", name="a.pdf")),
    MediaCase("nothing-is-lost", {"type": "file", "file": {"file_id": "f1"}, "cache_control": {"type": "ephemeral"}},
              Attachment("file", extra=FrozenDict(file_id="f1", cache_control=FrozenDict(type="ephemeral")))),
    MediaCase("without-a-kind", {"url": "u"}, Attachment("file", url="u")),
]  # fmt: skip


@pytest.mark.parametrize("case", MEDIA, ids=lambda case: case.id)
def test_parts_of_other_shapes_are_attachments(case: MediaCase) -> None:
    """Images, audio and files as the OpenAI APIs spell them."""
    assert Attachment.of(case.part) == case.attachment


def test_an_attachment_as_bytes_and_as_url() -> None:
    """Data decodes to bytes and is a URL with its media type; no data is an error."""
    assert Attachment("image", data="aGk=", media_type="image/png").decode() == b"hi"
    assert Attachment("image", data="aGk=", media_type="image/png").data_url == "data:image/png;base64,aGk="
    assert Attachment("file", data="aGk=").data_url == "data:application/octet-stream;base64,aGk="
    assert Attachment("image", url="u").data_url == "u"
    with pytest.raises(FormatError):
        Attachment("image", data="%%").decode()


def test_standard_metadata_is_read_through_properties() -> None:
    """``tool_calls`` and ``tool_call_id`` are what dialects read (2-wave4-contracts, *Standard metadata keys*)."""
    assert STANDARD_METADATA == ("tool_calls", "tool_call_id", "signature")
    assert Message.of({"role": "assistant", "content": "", "tool_calls": [CALL]}).tool_calls == (CALL,)
    assert Message("tool", "1", metadata=FrozenDict(tool_call_id="c")).tool_call_id == "c"
    assert Message("user", "x").tool_calls == ()


@pytest.mark.parametrize("calls", [5, "abc", {"a": 1}, [5, "x"], None])
def test_tool_calls_of_another_shape_are_none(calls: Any) -> None:
    """What a chat file holds under ``tool_calls`` never breaks a reader."""
    message = Message.of({"role": "assistant", "content": "", "metadata": {"tool_calls": calls, "tool_call_id": calls}})
    assert message.tool_calls == ()
    assert message.tool_call_id == (calls if isinstance(calls, str) else None)


def test_what_is_read_already_stays_the_object_it_is() -> None:
    """Messages, attachments and frozen metadata are not copied."""
    media, metadata = Attachment("image", url="u"), FrozenDict(a=1)
    message = Message.of({"role": "user", "content": [media], "attachments": [media], "metadata": metadata})
    assert Message.of(message) is message
    assert message.attachments[0] is media is message.attachments[1]
    assert message.metadata is metadata


def test_messages_are_frozen_and_typed() -> None:
    """A message cannot be changed, nor be made of the wrong types."""
    message = Message("user", "x", metadata={"a": [1]})  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        message.content = "y"  # type: ignore[misc]
    assert message.metadata == FrozenDict(a=(1,))
    for fields in ({"role": 5, "content": "x"}, {"role": "user", "content": None}):
        with pytest.raises(UsageError):
            Message(**fields)


class ChatLog:
    """A chat object of an application."""

    def to_messages(self) -> list[dict[str, str]]:
        return [{"role": "user", "content": "x"}]


def test_histories_of_many_shapes() -> None:
    """None, lists, iterators, objects with messages: all become a tuple; a tuple of messages stays the same object."""
    one = (Message("user", "x"),)
    assert messages_of(None) == ()
    assert messages_of(one) is one
    for source in ([one[0]], iter(one), ChatLog(), SimpleNamespace(messages=one), [{"role": "user", "content": "x"}]):
        assert messages_of(source) == one


@pytest.mark.parametrize("source", [5, "text", b"x", {"role": "user", "content": "x"}])
def test_what_is_no_list_of_messages_is_a_usage_error(source: Any) -> None:
    """A single message, or text, is not a history."""
    with pytest.raises(UsageError, match="must be a list of messages"):
        messages_of(source)


@given(st.sampled_from(ROLES), ANY_TEXT)
def test_content_is_always_encodable(role: str, content: str) -> None:
    """Whatever the text, a message can be sent as UTF-8."""
    assert Message.of({"role": role, "content": content}).content.encode()[:0] == b""


@given(
    st.fixed_dictionaries(
        {"role": st.sampled_from(ROLES), "content": ANY_TEXT}, optional={"extra": JSON, "name": ANY_TEXT}
    )
)
def test_a_message_decoded_anew_is_the_message_of_before(written: dict[str, Any]) -> None:
    """Equal data are read once, so that what was made of a message is found again; lone surrogates are mended each time."""
    again = json.loads(json.dumps(written))
    try:
        first = Message.of(written)
    except InnkeeperError:
        return
    with watching() as watch:
        second = Message.of(again)
    assert second == first
    assert second is first or watch.count
    assert bool(watch.count) is any(lone_in(written, "message"))


def test_values_that_only_look_alike_are_told_apart() -> None:
    """A moment is not the text that JSON would write for it, nor 1 true."""
    moment = datetime(2026, 1, 15, tzinfo=UTC)
    for date in (moment, "2026-01-15T00:00:00Z", 1, True, 1.0):
        message = Message.of({"role": "user", "content": "x", "send_date": date, "metadata": {"date": str(date)}})
        expected = date.isoformat() if isinstance(date, datetime) else date
        assert (message.send_date, type(message.send_date)) == (expected, type(expected))
