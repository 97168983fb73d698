"""Files, titles, pictures, videos and sounds of messages are in silly prompts where SillyTavern has them, or in a note."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from innkeeper.content.chat import ChatLog
from innkeeper.prompt import Plan, Ports
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import MaxTokensExceededError
from innkeeper.prompt.parts import Attachment
from innkeeper.taverns import silly
from innkeeper.taverns.silly.lines.media import FileText, MessageMedia, media_of

GIF = b"GIF89a" + struct.pack("<HH", 40, 30) + b"\0\0\0"
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 40, 30, 1, 0, 0, 0, 0)


def address(data: bytes, kind: str = "image/png") -> str:
    """A data URL."""
    return f"data:{kind};base64,{b64encode(data).decode()}"


def image(**fields: Any) -> dict[str, Any]:
    """An item of a message's ``extra.media``."""
    return {"type": "image", "url": address(PNG), **fields}


def built(
    extra: dict[str, Any],
    text: str = "look",
    preset: dict[str, Any] | None = None,
    read: Callable[[str], bytes | None] | None = None,
    **request: Any,
) -> Plan:
    """A prompt of a chat whose last message has this ``extra``."""
    chat = [{"name": "Mara", "mes": "Hello."}, {"name": "Ilse", "is_user": True, "mes": text, "extra": extra}]
    fields = {"character": {"name": "Mara"}, "user": {"name": "Ilse"}, "preset": preset or {}}
    history = ChatLog.of(chat).to_messages(hidden=True)
    return silly.build(fields | {"history": history} | request, Ports(media=read))


def last(plan: Plan) -> Any:
    """The block of the last message."""
    return [block for block in plan.enabled_blocks if block.group == "history"][-1]


def said(plan: Plan) -> list[str]:
    """What the plan's notes say."""
    return [note.message for note in (*plan.notes, *plan.warnings)]


class Texts(NamedTuple):
    """A message's ``extra`` and what it says then."""

    extra: dict[str, Any]
    content: str


TITLED = {"title": "a caption", "append_title": True}


@pytest.mark.parametrize(
    "case",
    [
        Texts({"files": [{"text": "one {{user}}"}, {"text": "two"}]}, "one Ilse\n\ntwo\n\nlook"),
        Texts({"file": {"text": "old"}}, "old\n\nlook"),
        Texts({"files": [{"name": "gone.txt"}]}, "\n\nlook"),
        Texts({"files": [None, {"text": 5}]}, "5\n\nlook"),
        Texts(TITLED, "look\n\na caption"),
        Texts({"title": "a caption"}, "look"),
        Texts(
            TITLED | {"media": [image(**TITLED), image(title="no")]},
            "look\n\na caption\n\na caption",
        ),
        Texts({"files": [], "media": []}, "look"),
    ],
)
def test_texts_of_files_stand_before_and_titles_behind(case: Texts) -> None:
    """Files are joined by empty lines, and one follows them even when none could be read; macros are resolved in all of it."""
    assert last(built(case.extra)).content == case.content


def test_ranges_know_files_and_titles() -> None:
    """The text of a file and a title come from fields of their message."""
    block = last(built({"files": [{"text": "one"}], **TITLED}))
    assert [(piece.text, str(piece.origin)) for piece in block.ranges()] == [
        ("one\n\n", "history.files[1]"),
        ("look", "history[1]"),
        ("\n\na caption", "history.title[1]"),
    ]


def test_pictures_are_attachments_with_detail_and_cost() -> None:
    """What is counted has the cost in it."""
    plan, plain = built({"media": [image()]}, preset={"inline_image_quality": "high"}), built({})
    (picture,) = last(plan).attachments
    assert (picture.kind, picture.detail, picture.tokens, picture.data_url) == ("image", "high", 765, address(PNG))
    assert plan.trim_report.final_tokens == plain.trim_report.final_tokens + 765
    assert plan.to_messages("openai")[-1]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": address(PNG), "detail": "high"}},
    ]


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_every_role_may_have_media(role: str) -> None:
    """The blocks carry them; a dialect that has no place for them says so."""
    line: dict[str, Any] = {"name": "x", "is_user": role == "user", "mes": "see", "extra": {"media": [image()]}}
    line["extra"] |= {"type": "narrator"} if role == "system" else {}
    history = ChatLog.of([line]).to_messages(hidden=True)
    block = last(silly.build({"character": {"name": "Mara"}, "history": history}))
    assert (block.role, len(block.attachments)) == (role, 1)


class Left(NamedTuple):
    """What keeps a picture out of the prompt, and what is said of it."""

    why: str
    preset: Mapping[str, Any] = EMPTY
    request: Mapping[str, Any] = EMPTY
    item: Mapping[str, Any] = EMPTY


@pytest.mark.parametrize(
    "case",
    [
        Left("media_inlining is off", {"media_inlining": False}),
        Left("does not take them for 'gpt-4'", {"chat_completion_source": "openai", "openai_model": "gpt-4"}),
        Left("the message is continued", request={"generation": "continue"}),
        Left("a text prompt has no place", request={"dialect": "text"}),
        Left("no such kind", item={"type": "hologram"}),
    ],
)
def test_what_is_not_sent_is_noted(case: Left) -> None:
    """Titles stay all the same."""
    plan = built(
        {"media": [image(title="cap", append_title=True) | dict(case.item)]}, preset=dict(case.preset), **case.request
    )
    assert not any(block.attachments for block in plan.enabled_blocks)
    assert "look\n\ncap" in "".join(block.content for block in plan.enabled_blocks)
    assert any(case.why in message for message in said(plan))


@pytest.mark.parametrize(
    ("fields", "setting", "chosen"),
    [
        ({}, "list", [0, 1]),
        ({"media_display": "gallery", "media_index": 1}, "list", [1]),
        ({"media_display": "gallery", "media_index": "1"}, "list", [1]),
        ({"media_display": "gallery", "media_index": 7}, "list", [0]),
        ({"media_display": "gallery", "media_index": -1}, "list", [0]),
        ({"media_index": 1}, "gallery", [1]),
        ({"media_display": "list", "media_index": 1}, "gallery", [0, 1]),
    ],
)
def test_of_a_gallery_one_is_sent(fields: dict[str, Any], setting: str, chosen: list[int]) -> None:
    """It is the one at the index, or the first where there is none."""
    items = [image(), image(url=address(GIF, "image/gif"))]
    plan = built({"media": items, **fields}, settings={"power_user": {"media_display": setting}})
    assert [item.data_url for item in last(plan).attachments] == [items[index]["url"] for index in chosen]


class Old(NamedTuple):
    """An ``extra`` as it was written before there were lists, and its media."""

    extra: dict[str, Any]
    media: MessageMedia | None


PICTURE, OTHER = (Attachment("image", url=f"user/images/{name}.png") for name in "ab")


@pytest.mark.parametrize(
    "case",
    [
        Old({"image": PICTURE.url}, MessageMedia(items=(PICTURE,))),
        Old({"video": "v.mp4"}, MessageMedia(items=(Attachment("video", url="v.mp4"),))),
        Old(
            {"image": OTHER.url, "image_swipes": [PICTURE.url, OTHER.url]},
            MessageMedia(items=(PICTURE, OTHER), display="gallery", index=1),
        ),
        Old({"file": {"text": "t", "name": "n"}}, MessageMedia(files=(FileText("t", "", "n"),))),
        Old({"image": PICTURE.url, "title": "T", "append_title": 1}, MessageMedia(items=(PICTURE,), titles=("T",))),
        Old(
            {"media": [None, {"url": 1}], "media_display": "gallery"},
            MessageMedia(items=(None, None), display="gallery"),
        ),
        Old({"media": "x", "files": 3, "title": None}, None),
        Old({"reasoning": "none of it"}, None),
    ],
)
def test_older_fields_are_read(case: Old) -> None:
    """They mean what today's lists mean."""
    assert media_of(case.extra) == case.media


def test_addresses_are_asked_of_the_port_alone() -> None:
    """Files and pictures of the application come from the port; what it does not have is left out and said."""
    asked: list[str] = []

    def read(url: str) -> bytes | None:
        asked.append(url)
        return {"user/images/a.png": PNG, "user/files/t.txt": b"\xef\xbb\xbftext"}.get(url)

    extra = {
        "media": [image(url="user/images/a.png"), image(url="user/images/gone.png")],
        "files": [{"url": "user/files/t.txt"}, {"url": "user/files/gone.txt", "name": "gone"}],
    }
    plan = built(extra, read=read)
    block = last(plan)
    assert (block.content, block.attachments[0].data_url) == ("text\n\nlook", address(PNG))
    assert block.attachments[1].data_url is None
    assert set(asked) == {"user/images/a.png", "user/images/gone.png", "user/files/t.txt", "user/files/gone.txt"}
    assert sum("cannot be had" in message for message in said(plan)) == 2
    unread = built(extra)
    assert last(unread).content == "\n\nlook"
    assert sum("cannot be had" in message for message in said(unread)) == 4


def test_addresses_of_the_web_are_sent_as_they_are() -> None:
    """The provider fetches them; their cost is a guess."""
    plan = built({"media": [image(url="https://example.com/a.png")]})
    (picture,) = last(plan).attachments
    assert (picture.url, picture.tokens) == ("https://example.com/a.png", 85)
    assert any("cannot be read" in message for message in said(plan))


def test_attachments_of_a_message_are_media_too() -> None:
    """A message in the shape of an API has its parts sent by the same rules; files are the dialect's."""
    part = {"type": "image_url", "image_url": {"url": address(PNG), "detail": "low"}}
    file = {"type": "file", "file": {"file_id": "f1"}, "tokens": 50}
    history = [{"role": "user", "content": [{"type": "text", "text": "see"}, part, file]}]
    picture, other = last(silly.build({"character": {"name": "Mara"}, "history": history})).attachments
    assert (picture.kind, picture.detail, picture.tokens, other.kind) == ("image", "low", 85, "file")
    off = silly.build({"character": {"name": "Mara"}, "history": history, "preset": {"media_inlining": False}})
    assert last(off).attachments == ()


@pytest.mark.parametrize(
    ("profile", "contents"),
    [("sillytavern-1.19", ["one\n[object Object],[object Object]"]), ("fixed", ["one", "two"])],
)
def test_squashing_loses_media(profile: str, contents: list[str]) -> None:
    """Joined system messages lose text and media, which is said; with the profile `fixed` they stay apart."""
    lines: list[dict[str, Any]] = [{"name": "x", "mes": text, "extra": {"type": "narrator"}} for text in ("one", "two")]
    lines[1]["extra"] = {"type": "narrator", "media": [image()]}
    request = {
        "character": {"name": "Mara"},
        "history": ChatLog.of([{"name": "Mara", "mes": "a"}, *lines, {"name": "Mara", "mes": "b"}]).to_messages(
            hidden=True
        ),
        "preset": {"squash_system_messages": True},
        "profile": profile,
    }
    plan = silly.build(request)
    assert [
        block.content for block in plan.enabled_blocks if block.role == "system" and block.source == "history"
    ] == contents
    assert any("media are lost" in message for message in said(plan)) == (profile != "fixed")


def test_a_sound_that_cannot_be_read_fills_a_window() -> None:
    """What it would cost counts, so that nothing is sent that does not fit, and the message that has it is refused."""
    sound = {"type": "audio", "url": address(b"?", "audio/mpeg")}
    plan = built({"media": [sound]}, preset={"openai_max_context": 20_000})
    assert plan.trim_report.final_tokens > 9_600
    with pytest.raises(MaxTokensExceededError, match="exceeded limit") as error:
        built({"media": [sound]}, preset={"openai_max_context": 8_000})
    assert error.value.estimated_tokens > 9_600


def test_large_files_are_searched() -> None:
    """With the extension for it, passages of a large file stand in its place; what is searched for is said in the chat alone."""
    text = "\n\n".join(f"Room {number} is {'red' if number == 7 else 'grey'}. " + "x" * 40 for number in range(30))
    settings = {"vectors": {"enabled_files": True, "size_threshold": 1, "chunk_size": 60, "chunk_count": 1}}
    plan = built({"files": [{"text": text}]}, "Which room is red?", settings=settings)
    content = last(plan).content
    assert content.startswith("Room 7 is red.")
    assert content.endswith("\n\nWhich room is red?")
    assert len(content) < 120
    assert any("characters" in message and "are sent: the passages" in message for message in said(plan))
    assert text in last(built({"files": [{"text": text}]})).content


@pytest.mark.parametrize(
    ("url", "unreplayable"),
    [("user/images/a.gif", ("media",)), ("user/images/b.gif", ()), (address(PNG), ()), ("https://a.example/b.png", ())],
)
def test_what_was_read_is_not_in_the_request(url: str, unreplayable: tuple[str, ...]) -> None:
    """A plan cannot be replayed where the port for media gave something; without that, it can."""
    plan = built({"media": [image(url=url)]}, read={"user/images/a.gif": GIF}.get)
    assert plan.unreplayable == unreplayable
