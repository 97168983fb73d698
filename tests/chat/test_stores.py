"""Where a chat is kept: by a path, a URL, or an object; and names that lead nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from innkeeper.chat.database import ChatDatabase
from innkeeper.chat.stores import ChatFolder, ChatMemory, NamedChats, open_store
from innkeeper.content.chat import ChatLog
from innkeeper.conversation import ChatFile, ConversationStore
from innkeeper.prompt import UsageError


class OneChat:
    """A store of a program's own, for one chat."""

    def load(self) -> ChatLog | None:
        """There is none."""
        return None

    def keep(self, conversation: ChatLog) -> None:
        """Nothing is kept."""


CASES: list[tuple[Any, type | None]] = [
    (None, ChatMemory),
    ("evening.jsonl", ChatFolder),
    (Path("evening.jsonl"), ChatFolder),
    ("chats", ChatFolder),
    ("sqlite:///chats.db", ChatDatabase),
    (ChatMemory(), ChatMemory),
    (OneChat(), None),
]


@pytest.mark.parametrize(("location", "kind"), CASES, ids=lambda value: str(getattr(value, "__name__", value))[:20])
def test_the_store_is_that_of_the_location(
    location: Any, kind: type | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stores of many chats have branches; a store of one has none."""
    monkeypatch.chdir(tmp_path)
    stores, store = open_store(location, "evening")
    assert stores is None if kind is None else type(stores) is kind
    store.keep(ChatLog(header={"user_name": "Ansel"}))
    if isinstance(store, ChatFile):
        assert store.path == (Path("chats") if location == "chats" else Path()) / "evening.jsonl"
        assert store.path.exists()
    if isinstance(stores, ChatDatabase):
        assert stores.names() == ("evening",)
        stores.close()


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".hidden", "a\0b"])
def test_no_name_leads_out_of_a_folder(name: str, tmp_path: Path) -> None:
    """It is refused before anything is made."""
    with pytest.raises(UsageError):
        ChatFolder(tmp_path / "chats").named(name)
    assert not (tmp_path / "chats").exists()


def test_protocols() -> None:
    """A type checker and a program agree on what a store is."""
    stores: NamedChats = ChatMemory()
    store: ConversationStore[ChatLog] = stores.named("a")
    assert store.load() is None
    store.keep(chat := ChatLog())
    assert stores.named("a").load() is chat
