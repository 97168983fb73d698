"""Chats: SillyTavern's lines and lists of messages, with what is wrong in which line."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import LIMITS, AssetError, ChatLog, ChatMessage, ToolInvocation, WrongKindError, read_chat
from innkeeper.prompt.errors import FormatError, LimitError, UnknownNameError, UsageError
from innkeeper.prompt.message import Message
from innkeeper.prompt.parts import Attachment
from tests import shared
from tests.content.builders import attempt, objects, texts, values

HEADER = {
    "user_name": "Tomas",
    "character_name": "Mira",
    "create_date": "2026-1-10",
    "chat_metadata": {"note_prompt": "n"},
}
USER = {
    "name": "Tomas",
    "is_user": True,
    "is_system": False,
    "send_date": "2026-01-10T10:00:00Z",
    "mes": "Hi.",
    "extra": {},
}
REPLY = {
    "name": "Mira",
    "is_user": False,
    "mes": "Good evening.",
    "swipes": ["Hm.", "Good evening."],
    "swipe_id": 1,
    "swipe_info": [{}, {}],
    "gen_started": "2026-01-10T10:00:01Z",
    "extra": {"reasoning": "Be polite.", "api": "x", "token_count": 3},
}


def lines(*items: Any, end: str = "") -> bytes:
    """JSON lines."""
    return ("\n".join(json.dumps(item) for item in items) + end).encode()


def message(**fields: Any) -> ChatMessage:
    """A SillyTavern message."""
    return ChatLog.of([{"name": "Mira", "mes": "x", **fields}]).messages[0]


def test_lines_with_a_header() -> None:
    """The first line is the header, the others are messages."""
    chat = ChatLog.of(lines(HEADER, USER, REPLY))
    assert (chat.user_name, chat.character_name, chat.create_date) == ("Tomas", "Mira", "2026-1-10")
    assert chat.metadata == {"note_prompt": "n"}
    assert [(item.role, item.name, item.text) for item in chat.messages] == [
        ("user", "Tomas", "Hi."),
        ("assistant", "Mira", "Good evening."),
    ]
    assert chat.messages[0].send_date == "2026-01-10T10:00:00Z"
    assert chat.findings == ()


def test_what_stands_beside_the_text() -> None:
    """Alternatives, reasoning and everything else in its typed place."""
    reply = ChatLog.of(lines(HEADER, REPLY)).messages[0]
    assert (reply.swipes, reply.swipe_id, reply.reasoning) == (("Hm.", "Good evening."), 1, "Be polite.")
    assert reply.extra["api"] == "x"
    assert (reply.is_narrator, reply.is_small, reply.force_avatar, reply.media, reply.tool_invocations) == (
        False,
        False,
        None,
        (),
        (),
    )


@dataclass(frozen=True)
class Case:
    """Fields of a message, and what they mean."""

    name: str
    raw: dict[str, Any]
    expected: dict[str, Any]


CALL = {"id": "c1", "displayName": "Dice", "name": "roll", "parameters": '{"sides":6}', "result": "4"}
CASES = [
    Case("user", {"is_user": True}, {"role": "user", "hidden": False}),
    Case("user as a number", {"is_user": 1}, {"role": "user"}),
    Case("character", {"is_user": False}, {"role": "assistant"}),
    Case("hidden", {"is_system": True}, {"role": "assistant", "hidden": True}),
    Case("narrator", {"extra": {"type": "narrator"}}, {"role": "system", "hidden": False, "is_narrator": True}),
    Case("small", {"extra": {"isSmallSys": True}}, {"is_small": True}),
    Case("tool", {"is_system": True, "extra": {"tool_invocations": [CALL]}}, {"hidden": False}),
    Case("avatar", {"force_avatar": "a.png"}, {"force_avatar": "a.png"}),
    Case("number as text", {"mes": 5}, {"text": "5"}),
    Case("no text", {"mes": None}, {"text": ""}),
    Case("odd extra", {"extra": []}, {"extra": {}, "reasoning": ""}),
    Case("odd swipes", {"swipes": "x", "swipe_id": "1"}, {"swipes": (), "swipe_id": 1}),
    Case("date as a number", {"send_date": 1_700_000_000_000}, {"send_date": 1_700_000_000_000}),
    Case("odd date", {"send_date": {}}, {"send_date": None}),
    Case(
        "media",
        {"extra": {"media": [{"url": "u", "type": "video", "title": "t"}]}},
        {"media": (Attachment("video", "u", name="t"),)},
    ),
    Case("old image", {"extra": {"image": "u", "title": "t"}}, {"media": (Attachment("image", "u", name="t"),)}),
    Case("file", {"extra": {"file": {"url": "u", "name": "n"}}}, {"media": (Attachment("file", "u", name="n"),)}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_messages(case: Case) -> None:
    """What a message is, from the fields SillyTavern writes."""
    found = message(**case.raw)
    assert {name: getattr(found, name) for name in case.expected} == case.expected


def test_tool_calls() -> None:
    """A message that stands for calls becomes the call and its results."""
    found = message(is_system=True, extra={"tool_invocations": [CALL, {"id": 2, "name": "n", "parameters": {"a": 1}}]})
    assert found.tool_invocations == (
        ToolInvocation("c1", "roll", '{"sides":6}', "4", "Dice"),
        ToolInvocation("2", "n", '{"a":1}'),
    )
    call, first, second = found.to_messages()
    assert [item["id"] for item in call.tool_calls] == ["c1", "2"]
    assert (first.role, first.content, first.tool_call_id, second.content) == ("tool", "4", "c1", "")


def test_messages_for_prompts() -> None:
    """Hidden messages are left out unless asked for; the rest of a message goes along."""
    chat = ChatLog.of(lines(HEADER, USER, REPLY, {**USER, "is_system": True}))
    first, second = chat.to_messages()
    assert (first.role, first.content, first.name) == ("user", "Hi.", "Tomas")
    assert (second.swipes, second.swipe_id) == (("Hm.", "Good evening."), 1)
    assert second.metadata["extra"]["reasoning"] == "Be polite."
    assert chat.to_messages(hidden=True)[2].metadata["hidden"] is True


def test_messages_of_an_api() -> None:
    """A list of roles and contents is a chat too, in every shape that messages have."""
    chat = ChatLog.of(
        [
            {
                "role": "User",
                "content": [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "u"}}],
            }
        ]
    )
    found = chat.messages[0]
    assert (found.role, found.text, found.media) == ("user", "Hi", (Attachment("image", "u"),))
    assert found.to_messages() == (Message.of(found.raw),)
    assert ChatLog.of([Message("user", "x")]).messages[0].text == "x"
    assert ChatLog.of({"messages": [{"role": "user", "content": "x"}], "system": "S"}).messages[0].role == "system"
    for name, count in (("openai_tool_calls", 3), ("anthropic_tool_use", 4)):
        data = shared.need(f"fixtures/tavern_kit/contracts/{name}.json").read_bytes()
        assert len(read_chat(data).messages) == count


@pytest.mark.parametrize(
    ("data", "count", "has_header"),
    [
        (lines(HEADER), 0, True),
        (lines(HEADER, end="\n"), 0, True),
        (lines(USER, REPLY), 2, False),
        (lines(USER), 1, False),
        (lines(HEADER, USER).replace(b"\n", b"\r\n"), 1, True),
        (b"\n\n" + lines(HEADER, USER, end="\n\n"), 1, True),
        (b"\xef\xbb\xbf" + lines(HEADER, USER), 1, True),
        (json.dumps([USER, REPLY], indent=1).encode(), 2, False),
        (json.dumps({"messages": [USER]}, indent=1).encode(), 1, False),
        (lines({"chat_metadata": {}}, USER), 1, True),
        (lines({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}), 2, False),
    ],
    ids=[
        "header",
        "header line",
        "no header",
        "one",
        "crlf",
        "blanks",
        "mark",
        "list",
        "object",
        "bare header",
        "roles",
    ],
)
def test_shapes_of_files(data: bytes, count: int, has_header: bool) -> None:
    """Every shape a chat file has; an unedited one of lines is written byte for byte."""
    chat = read_chat(data)
    assert (len(chat.messages), chat.header is not None) == (count, has_header)
    if chat.is_lines:
        assert chat.to_jsonl() == data
    assert len(read_chat(chat.to_jsonl()).messages) == count if count or has_header else True


@pytest.mark.parametrize("line", [b"{broken", b'{"a": 1}', b"[1]", b"5", b'"x"', b"\xff\xfe", b'{"role": 5}'], ids=repr)
def test_a_bad_line_is_found(line: bytes) -> None:
    """An error names the line; leniently read, the line is kept as it is, and said."""
    data = lines(HEADER, USER) + b"\n" + line + b"\n" + lines(REPLY, end="\n")
    with pytest.raises(AssetError) as caught:
        read_chat(data, name="chat.jsonl")
    assert caught.value.where is not None
    assert (caught.value.where.asset, caught.value.where.line) == ("chat.jsonl", 3)
    chat = read_chat(data, lenient=True)
    assert [item.text for item in chat.messages] == ["Hi.", "Good evening."]
    assert [(finding.rule, finding.line) for finding in chat.findings] == [("bad-line", 3)]
    assert chat.to_jsonl() == data
    edited = chat.append(ChatMessage.create("user", "Bye."))
    assert edited.to_jsonl().split(b"\n")[2] == line
    assert chat.without(0).to_jsonl().split(b"\n")[1] == line


def test_a_line_that_a_broken_write_left() -> None:
    """The last line without its end is kept and said, whatever the mode; the chat before it is there."""
    data = lines(HEADER, USER) + b'\n{"name": "Mira", "me'
    chat = read_chat(data)
    assert [finding.rule for finding in chat.findings] == ["torn-line"]
    assert len(chat.messages) == 1
    assert chat.to_jsonl() == data


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", AssetError),
        (b"   \n", AssetError),
        (b"hello\nworld", AssetError),
        (b'{"entries": {}}', WrongKindError),
        (b'{"a": 1}\n{"b": 2}', AssetError),
        (b"[1]", AssetError),
        (b'[{"mes": "x"}, {"a": 1}]', AssetError),
        (b'[{"mes": "x"}', FormatError),
    ],
    ids=repr,
)
def test_what_is_no_chat(data: bytes, error: type[Exception]) -> None:
    """Anything else is a typed error."""
    with pytest.raises(error):
        read_chat(data)


def test_an_error_in_a_list_says_which() -> None:
    """The place in the list stands in the error."""
    with pytest.raises(AssetError) as caught:
        ChatLog.of([USER, {"a": 1}])
    assert caught.value.where is not None
    assert caught.value.where.path == "messages[1]"


def test_of_takes_chats_only() -> None:
    """A number is a caller's mistake; so is something else in a list."""
    with pytest.raises(UsageError):
        ChatLog.of(5)
    with pytest.raises(AssetError):
        ChatLog.of([5])
    chat = ChatLog.of([USER])
    assert ChatLog.of(chat) is chat
    assert ChatLog.of(json.dumps([USER])).messages[0].text == "Hi."
    assert ChatLog.of(chat.messages).messages == chat.messages


def test_edits_of_messages() -> None:
    """The text, and with it the alternative that is shown; everything else stays."""
    data = json.dumps(REPLY, separators=(", ", ":  ")).encode()
    reply = read_chat(lines(HEADER) + b"\n" + data).messages[0]
    edited = reply.replace(text="Welcome.")
    assert edited.swipes == ("Hm.", "Welcome.")
    assert edited.encode() == data.replace(b"Good evening.", b"Welcome.")
    assert reply.replace(hidden=True).hidden
    assert reply.replace(swipe_id=None).swipe_id is None
    with pytest.raises(UnknownNameError):
        reply.replace(mes="x")
    assert ChatLog.of([{"role": "user", "content": "a"}]).messages[0].replace(text="b").raw == {
        "role": "user",
        "content": "b",
    }


def test_edits_of_chats() -> None:
    """Added, replaced and removed messages are written; the lines of the others are not touched."""
    first, second = json.dumps(USER, indent=None, separators=(",", ": ")), json.dumps(REPLY)
    chat = read_chat(f"{json.dumps(HEADER)}\n{first}\n{second}".encode())
    new = ChatMessage.create("user", "Bye.", name="Tomas", send_date="now", extra={"a": 1})
    told = chat.append(new).to_jsonl().decode().split("\n")
    assert (told[1], told[2], json.loads(told[3])["mes"], told[4]) == (first, second, "Bye.", "")
    assert chat.replace_message(-1, new).messages[1].text == "Bye."
    assert [item.text for item in chat.without(0).messages] == ["Good evening."]
    assert len(chat.messages) == 2
    for index in (2, -3):
        with pytest.raises(UsageError):
            chat.without(index)


def test_new_messages() -> None:
    """A message of one's own reads back with its role."""
    for role in ("user", "assistant", "system"):
        assert ChatMessage.create(role, "x").role == role
    created = ChatMessage.create("assistant", "x", name="Mira", send_date=5)
    assert (created.name, created.send_date, created.raw["extra"]) == ("Mira", 5, {})


message_objects = st.fixed_dictionaries({"mes": values, "extra": values, "is_user": values})


@given(
    header=objects,
    messages=st.lists(objects | message_objects, max_size=4),
)
def test_any_values(header: Any, messages: Any) -> None:
    """Any values in any fields give a chat that is written as it was, or an error of ours."""
    data = lines({**HEADER, **header}, *messages, end="\n")
    for lenient in (True, False):
        chat = attempt(partial(read_chat, data, lenient=lenient))
        assert isinstance(chat, (ChatLog, FormatError, LimitError))
        if isinstance(chat, ChatLog):
            assert chat.to_jsonl() == data
            assert msgspec.structs.replace(chat, data=None).to_jsonl() == data
            for item in chat.messages:
                assert isinstance(attempt(item.to_messages), (tuple, FormatError))


@given(data=st.binary(max_size=80), start=st.sampled_from([b"", lines(HEADER, end="\n"), b"["]), lenient=st.booleans())
def test_any_bytes(data: bytes, start: bytes, lenient: bool) -> None:
    """Whatever the bytes are, the answer is a chat or an error of ours."""
    assert isinstance(
        attempt(lambda: read_chat(start + data, lenient=lenient)), (ChatLog, FormatError, LimitError, WrongKindError)
    )


@given(text=texts)
def test_what_is_created_is_read(text: str) -> None:
    """Any text survives being written to a line."""
    chat = read_chat(ChatLog.of([USER]).append(ChatMessage.create("user", text)).to_jsonl())
    assert chat.messages[-1].text == text


@pytest.mark.parametrize(
    ("limit", "data"),
    [
        ("chat_messages", lines(HEADER, USER, USER, USER, USER)),
        ("chat_messages", json.dumps([USER] * 4).encode()),
        ("message_bytes", lines(HEADER, {"mes": "é" * 60})),
        ("message_bytes", lines(HEADER, {"mes": "x", "extra": {"a": "y" * 900}})),
        ("chat_bytes", b" " * 3_000),
        ("json_depth", lines(HEADER, USER) + b"\n" + b"[" * 100 + b"]" * 100),
    ],
    ids=["lines", "list", "text", "line", "file", "depth"],
)
@pytest.mark.parametrize("lenient", [True, False], ids=["lenient", "strict"])
def test_limits(limit: str, data: bytes, lenient: bool) -> None:
    """Each limit holds in every mode and has an error with its name."""
    small = msgspec.structs.replace(LIMITS, chat_messages=3, message_bytes=100, chat_bytes=2_500)
    with pytest.raises(LimitError) as caught:
        read_chat(data, limits=small, lenient=lenient)
    assert caught.value.limit == limit


def test_many_messages() -> None:
    """Twenty thousand messages are no matter."""
    assert len(read_chat(lines(HEADER, *[USER] * 20_000)).messages) == 20_000


def test_messages_for_a_prompt_are_made_once() -> None:
    """A message that stays is the same object in the next turn's prompt; one that is edited is another."""
    chat = ChatLog.of([{"name": "A", "is_user": True, "mes": "Hello"}, {"name": "B", "is_user": False, "mes": "Aye"}])
    longer = chat.append(ChatMessage.create("user", "And?")).replace_message(1, chat.messages[1].replace(text="No"))
    before, after = chat.to_messages(), longer.to_messages()
    assert before[0] is after[0]
    assert [message.content for message in after] == ["Hello", "No", "And?"]
