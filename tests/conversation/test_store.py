"""Stores: a chat file grows by a new message and is rewritten for all else; a store of one's own needs two methods."""

from pathlib import Path

import pytest

from innkeeper.cli.talk.answering import ModelHandle
from innkeeper.cli.talk.conversation import begin_chat
from innkeeper.content import OutputExistsError
from innkeeper.content.chat import Chat
from innkeeper.content.chat_message import ChatMessage
from innkeeper.content.files.loading import load_chat
from innkeeper.conversation import ChatFile, ConversationStore
from innkeeper.prompt import BuildRequest
from tests.cli.fakes import FakeModel

HELLO, AYE = ChatMessage.create("user", "Hello", name="Ansel"), ChatMessage.create("assistant", "Aye.", name="Wenna")


def test_a_message_is_added(tmp_path: Path) -> None:
    """What was there stays as it is, byte for byte, also what the chat does not have."""
    path, chat = tmp_path / "c.jsonl", Chat(header={"user_name": "Ansel"})
    file = ChatFile(path, chat)
    chat = chat.append(HELLO)
    file.keep(chat)
    path.write_bytes(before := path.read_bytes() + b'{"name":"Bo","is_user":false,"mes":"Meanwhile."}\n')
    file.keep(chat.append(AYE))
    assert path.read_bytes().startswith(before)
    assert [message.text for message in load_chat(path).messages] == ["Hello", "Meanwhile.", "Aye."]


def test_other_changes_write_it_anew(tmp_path: Path) -> None:
    """A message that changes or goes, and a header."""
    path, chat = tmp_path / "c.jsonl", Chat(header={"user_name": "Ansel"}, messages=(HELLO, AYE))
    file = ChatFile(path, chat)
    for changed in (chat.without(-1), chat.with_metadata({"note_prompt": "dry"})):
        file.keep(changed)
        assert path.read_bytes() == changed.to_jsonl()


def test_the_same_chat_is_not_written(tmp_path: Path) -> None:
    """Where nothing has changed no file is made; an empty chat whose header changes is written."""
    path, chat = tmp_path / "c.jsonl", Chat(header={"user_name": "Ansel"})
    file = ChatFile(path, chat)
    file.keep(chat.with_metadata({"note_prompt": None}))
    assert not path.exists()
    noted = chat.with_metadata({"note_prompt": "dry"})
    file.keep(noted)
    assert path.read_bytes() == noted.to_jsonl()


def test_a_file_is_loaded_before_it_is_written(tmp_path: Path) -> None:
    """A new file is none; one that was loaded goes on; one that was not is never overwritten."""
    path, chat = tmp_path / "c.jsonl", Chat(header={"user_name": "Ansel"}, messages=(HELLO,))
    path.touch()
    assert ChatFile(path).load() is None
    ChatFile(path).keep(chat)
    again = ChatFile(path)
    loaded = again.load()
    assert loaded is not None
    again.keep(loaded.append(AYE))
    with pytest.raises(OutputExistsError):
        ChatFile(path).keep(chat)
    assert [message.text for message in load_chat(path).messages] == ["Hello", "Aye."]


class Notebook:
    """A store of one's own: the chats as they were kept, one after the other."""

    def __init__(self) -> None:
        self.pages: list[Chat] = []

    def load(self) -> Chat | None:
        """Return the last."""
        return self.pages[-1] if self.pages else None

    def keep(self, conversation: Chat) -> None:
        """Keep one more."""
        self.pages.append(conversation)


def test_a_store_of_ones_own() -> None:
    """A chat at the terminal is kept after the greeting, each message and each answer, and goes on from what was kept."""
    store: ConversationStore[Chat] = (notebook := Notebook())
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Wenna", "first_mes": "Come in."}}
    request = BuildRequest.of({"character": card, "user": {"name": "Ansel"}})
    first = begin_chat(request, ModelHandle(FakeModel("Aye."), "m"), store=store)
    first.take("normal", len, "Hello")
    second = begin_chat(request, ModelHandle(FakeModel("No."), "m"), store=store)
    second.take("normal", len, "Again")
    assert [len(page.messages) for page in notebook.pages] == [1, 2, 3, 4, 5]
    assert [message.text for message in notebook.pages[-1].messages] == ["Come in.", "Hello", "Aye.", "Again", "No."]
