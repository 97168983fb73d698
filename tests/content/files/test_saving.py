"""Saving: whole or not at all."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from innkeeper.content import (
    ChatLog,
    ChatMessage,
    Lorebook,
    MissingFileError,
    OutputExistsError,
    append_to_chat,
    blank_png,
    card_bytes,
    load_character,
    load_chat,
    load_lorebook,
    open_card,
    save_bytes,
    save_card,
    save_chat,
    save_lorebook,
)
from innkeeper.content.files import saving
from innkeeper.content.files.private import write_private
from innkeeper.prompt.errors import UsageError
from tests.content.builders import archive, card_json, card_png

HELLO = ChatMessage.create("user", "Hello.")


def test_a_file_is_written(tmp_path: Path) -> None:
    """The bytes are there, and nothing else is in the folder."""
    save_bytes(tmp_path / "a", b"data")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"data")]


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    """Only ``force`` overwrites."""
    path = tmp_path / "a"
    save_bytes(path, b"old")
    with pytest.raises(OutputExistsError) as caught:
        save_bytes(path, b"new")
    assert (path.read_bytes(), caught.value.exit_code) == (b"old", 2)
    save_bytes(path, b"new", force=True)
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails on the way, the old file is whole and no draft is left."""
    path = tmp_path / "a"
    save_bytes(path, b"old")

    def fail(*_args: object, **_kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    target = {"write": (Path, "open"), "fsync": (os, "fsync"), "replace": (Path, "replace")}[step]
    monkeypatch.setattr(*target, fail)
    with pytest.raises(MissingFileError, match="No space left on device"):
        save_bytes(path, b"new", force=True)
    monkeypatch.undo()
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("a", b"old")]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A path that cannot be written is a typed error."""
    for path in (tmp_path / "no" / "a", "a\0b"):
        with pytest.raises(MissingFileError):
            save_bytes(path, b"x")


@pytest.mark.parametrize("name", ["card.json", "card.png", "card.charx", "CARD.PNG"])
def test_cards_are_written_by_extension(name: str, tmp_path: Path) -> None:
    """The extension says the format; what is written is read back."""
    character = load_character(card_json("v3", nickname="Mi"))
    save_card(tmp_path / name, character)
    assert load_character(tmp_path / name).to_json() == character.to_json()


@pytest.mark.parametrize("name", ["card.txt", "card"])
def test_other_extensions_are_refused(name: str, tmp_path: Path) -> None:
    """Nothing is written to a file of an unknown kind."""
    with pytest.raises(UsageError):
        save_card(tmp_path / name, load_character(card_json()))
    with pytest.raises(UsageError):
        card_bytes(open_card(card_json()), "webp")


def test_a_png_keeps_its_picture() -> None:
    """The card's own picture is used where it is a PNG, else one that is given, else a plain one."""
    data = card_png()
    assert b"IDAT" in card_bytes(open_card(data), "png")
    assert card_bytes(open_card(data), "png").startswith(data[:60])
    icon = {"type": "icon", "uri": "embeded://a.png", "name": "main", "ext": "png"}
    charx = archive({"card.json": card_json("v3", assets=[icon]), "a.png": blank_png(3, 5)})
    assert card_bytes(open_card(charx), "png").startswith(blank_png(3, 5)[:33])
    assert card_bytes(open_card(card_json()), "png", image=blank_png(7, 7)).startswith(blank_png(7, 7)[:33])
    assert card_bytes(open_card(card_json()), "png").startswith(blank_png()[:33])


def test_books_and_chats_are_written(tmp_path: Path) -> None:
    """As they were read."""
    book, chat = '{"entries":  {}}', b'{"user_name":  "a", "character_name": "b"}\n{"mes":  "x"}'
    save_lorebook(tmp_path / "b.json", Lorebook.of(book))
    save_chat(tmp_path / "c.jsonl", ChatLog.of(chat))
    assert (tmp_path / "b.json").read_text() == book
    assert (tmp_path / "c.jsonl").read_bytes() == chat
    assert load_lorebook(tmp_path / "b.json").entries == ()


def test_a_chat_grows_by_lines(tmp_path: Path) -> None:
    """The first line is a header, and each message is one more; what is there is not written again."""
    path = tmp_path / "c.jsonl"
    append_to_chat(path, HELLO, chat=ChatLog(header={"user_name": "T", "character_name": "M"}))
    before = path.read_bytes()
    append_to_chat(path, ChatMessage.create("assistant", "Hi.\nHo."), HELLO)
    assert path.read_bytes().startswith(before)
    chat = load_chat(path)
    assert (chat.user_name, [item.text for item in chat.messages]) == ("T", ["Hello.", "Hi.\nHo.", "Hello."])


def test_a_chat_without_a_header_gets_one(tmp_path: Path) -> None:
    """A new file is one that SillyTavern reads."""
    append_to_chat(tmp_path / "c.jsonl", HELLO)
    assert set(json.loads((tmp_path / "c.jsonl").read_text().splitlines()[0])) == {
        "user_name",
        "character_name",
        "chat_metadata",
    }


@pytest.mark.parametrize(
    ("tail", "texts"),
    [
        (b'{"mes": "a"}\n', ["a", "Hello."]),
        (b'{"mes": "a"}', ["a", "Hello."]),
        (b'{"mes": "a"}\n{"mes": "to', ["a", "Hello."]),
    ],
    ids=["whole", "no newline", "torn"],
)
def test_a_chat_is_continued_after_any_end(tail: bytes, texts: list[str], tmp_path: Path) -> None:
    """A missing newline is added, and a line that an earlier write left unfinished is cut off."""
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"user_name": "a", "character_name": "b"}\n' + tail)
    append_to_chat(path, HELLO)
    chat = load_chat(path)
    assert ([item.text for item in chat.messages], chat.findings) == (texts, ())


def test_a_chat_that_cannot_be_written(tmp_path: Path) -> None:
    """A folder that is not there is a typed error."""
    with pytest.raises(MissingFileError):
        append_to_chat(tmp_path / "no" / "c.jsonl", HELLO)


def test_a_last_line_beyond_the_limit_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what can be looked at as a whole is ever cut off."""
    monkeypatch.setattr(saving, "LINE_FACTOR", 0.0001)
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"mes": "' + b"x" * 1_000)
    append_to_chat(path, HELLO)
    assert path.read_bytes().startswith(b'{"mes": "' + b"x" * 1_000 + b"\n{")


@pytest.mark.parametrize("write", [save_bytes, write_private], ids=["saved", "private"])
def test_a_device_stays_one(write: Callable[[Path, bytes], None], tmp_path: Path) -> None:
    """A pipe takes the bytes, and is a pipe still; nothing takes its name, also when root writes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe, b"bytes")
    assert os.read(end, 10) == b"bytes"
    os.close(end)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
