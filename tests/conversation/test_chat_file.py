"""A chat in a file: it grows by what is added, and is written anew for all else."""

from pathlib import Path

from innkeeper.content.chat import Chat
from innkeeper.content.chat_message import ChatMessage
from innkeeper.content.files.loading import load_chat
from innkeeper.conversation.chat_file import ChatFile

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
