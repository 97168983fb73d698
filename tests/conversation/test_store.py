"""Stores: a chat file grows by a new message and is rewritten for all else; a store of one's own needs two methods."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from innkeeper.cli.talk.conversation import begin_chat
from innkeeper.content import OutputExistsError
from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage
from innkeeper.content.files.loading import load_chat
from innkeeper.content.files.saving import save_chat
from innkeeper.conversation import ChatFile, ConversationStore
from innkeeper.inference.client.model_handle import ModelHandle
from innkeeper.prompt import BuildRequest
from tests.cli.fakes import FakeModel
from tests.shared import ROOT

HELLO, AYE = ChatMessage.create("user", "Hello", name="Ansel"), ChatMessage.create("assistant", "Aye.", name="Wenna")


def test_a_message_is_added(tmp_path: Path) -> None:
    """What was there stays as it is, byte for byte, also what the chat does not have."""
    path, chat = tmp_path / "c.jsonl", ChatLog(header={"user_name": "Ansel"})
    file = ChatFile(path, chat)
    chat = chat.append(HELLO)
    file.keep(chat)
    path.write_bytes(before := path.read_bytes() + b'{"name":"Bo","is_user":false,"mes":"Meanwhile."}\n')
    file.keep(chat.append(AYE))
    assert path.read_bytes().startswith(before)
    assert [message.text for message in load_chat(path).messages] == ["Hello", "Meanwhile.", "Aye."]


def test_other_changes_write_it_anew(tmp_path: Path) -> None:
    """A message that changes or goes, and a header."""
    path, chat = tmp_path / "c.jsonl", ChatLog(header={"user_name": "Ansel"}, messages=(HELLO, AYE))
    file = ChatFile(path, chat)
    for changed in (chat.without(-1), chat.with_metadata({"note_prompt": "dry"})):
        file.keep(changed)
        assert path.read_bytes() == changed.to_jsonl()


def test_the_same_chat_is_not_written(tmp_path: Path) -> None:
    """Where nothing has changed no file is made; an empty chat whose header changes is written."""
    path, chat = tmp_path / "c.jsonl", ChatLog(header={"user_name": "Ansel"})
    file = ChatFile(path, chat)
    file.keep(chat.with_metadata({"note_prompt": None}))
    assert not path.exists()
    noted = chat.with_metadata({"note_prompt": "dry"})
    file.keep(noted)
    assert path.read_bytes() == noted.to_jsonl()


def test_a_file_is_loaded_before_it_is_written(tmp_path: Path) -> None:
    """A new file is none; one that was loaded goes on; one that was not is never overwritten."""
    path, chat = tmp_path / "c.jsonl", ChatLog(header={"user_name": "Ansel"}, messages=(HELLO,))
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
        self.pages: list[ChatLog] = []

    def load(self) -> ChatLog | None:
        """Return the last."""
        return self.pages[-1] if self.pages else None

    def keep(self, conversation: ChatLog) -> None:
        """Keep one more."""
        self.pages.append(conversation)


def test_a_store_of_ones_own() -> None:
    """A chat at the terminal is kept after the greeting, each message and each answer, and goes on from what was kept."""
    store: ConversationStore[ChatLog] = (notebook := Notebook())
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Wenna", "first_mes": "Come in."}}
    request = BuildRequest.of({"character": card, "user": {"name": "Ansel"}})
    first = begin_chat(request, ModelHandle(FakeModel("Aye."), "m"), store=store)
    first.take("normal", len, "Hello")
    second = begin_chat(request, ModelHandle(FakeModel("No."), "m"), store=store)
    second.take("normal", len, "Again")
    assert [len(page.messages) for page in notebook.pages] == [1, 2, 3, 4, 5]
    assert [message.text for message in notebook.pages[-1].messages] == ["Come in.", "Hello", "Aye.", "Again", "No."]


class TestTwoPrograms:
    """Two programs that have one chat file open lose nothing of each other."""

    @staticmethod
    def _texts(path: Path) -> list[str]:
        return [message.text for message in load_chat(path).messages]

    def test_on_a_new_file(self, tmp_path: Path) -> None:
        """Both found none; the greeting that both begin with is there once, and all else of both."""
        path, said = tmp_path / "c.jsonl", list[str]()
        files = [ChatFile(path, report=said.append) for _ in "ab"]
        assert [file.load() for file in files] == [None, None]
        chats = [ChatLog(header={"user_name": "Ansel"}, messages=(AYE,)) for _ in files]
        for file, chat in zip(files, chats, strict=True):
            file.keep(chat)
        for number in range(2):
            for index, name in enumerate("AB"):
                chats[index] = chats[index].append(ChatMessage.create("user", f"{name}{number}"))
                files[index].keep(chats[index])
        assert self._texts(path) == ["Aye.", "A0", "B0", "A1", "B1"]
        assert len(said) == 2
        assert "another program" in said[0]

    def test_what_is_written_anew_keeps_the_others(self, tmp_path: Path) -> None:
        """A reply that is taken back goes, and what another program has written stays, however often."""
        path = tmp_path / "c.jsonl"
        save_chat(path, ChatLog(header={"user_name": "Ansel"}, messages=(HELLO, AYE)))
        mine, other = ChatFile(path), ChatFile(path)
        chat, theirs = mine.load(), other.load()
        assert chat is not None
        assert theirs is not None
        other.keep(theirs := theirs.append(ChatMessage.create("user", "B0")))
        for _ in range(2):
            mine.keep(chat := chat.without(-1))
            assert self._texts(path) == [*(message.text for message in chat.messages), "B0"]
        other.keep(theirs.append(ChatMessage.create("user", "B1")))
        assert self._texts(path) == ["B0", "B1"]

    def test_a_file_that_has_gone_is_written_whole(self, tmp_path: Path) -> None:
        """What was said before it went is in it again."""
        path = tmp_path / "c.jsonl"
        save_chat(path, ChatLog(header={"user_name": "Ansel"}, messages=(HELLO,)))
        file = ChatFile(path)
        chat = file.load()
        assert chat is not None
        path.unlink()
        file.keep(chat.append(AYE))
        assert self._texts(path) == ["Hello", "Aye."]

    @pytest.mark.parametrize("begun", [False, True])
    def test_at_the_same_time(self, tmp_path: Path, *, begun: bool) -> None:
        """Programs that write at once, on a new file or an old one, leave every line."""
        path = tmp_path / "c.jsonl"
        if begun:
            save_chat(path, ChatLog(header={"user_name": "Ansel"}, messages=(HELLO,)))
        programs = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, str(path), name],
                env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
            )
            for name in "ABC"
        ]
        assert [program.wait(300) for program in programs] == [0, 0, 0]
        texts = self._texts(path)
        assert sorted(texts) == sorted(
            [*["Hello"] * begun, *(f"{name}{number}" for name in "ABC" for number in range(20))]
        )


_WRITER = """
import sys
from pathlib import Path
from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage
from innkeeper.conversation import ChatFile
file = ChatFile(Path(sys.argv[1]))
chat = file.load() or ChatLog(header={"user_name": "Ansel"})
for number in range(20):
    chat = chat.append(ChatMessage.create("user", f"{sys.argv[2]}{number}"))
    file.keep(chat)
"""
