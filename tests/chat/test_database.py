"""ChatDatabase: rows of SQLite and PostgreSQL hold what a chat is, whoever writes them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.chat.database import ChatDatabase
from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage
from innkeeper.library.db.engine import Database, status_of
from innkeeper.library.db.private import PrivateDatabase
from innkeeper.library.db.tables.chats import CHATS, LINES, MAX_NAME
from innkeeper.prompt import UsageError
from tests.library.conftest import Fresh

HEADER = {"user_name": "Ansel", "character_name": "Wenna", "chat_metadata": {}}


@pytest.fixture
def url(fresh: Fresh) -> str:
    """The URL of an empty database."""
    made = fresh(bare=True)
    return made if "://" in made else f"sqlite:///{made}"


@pytest.fixture
def database(url: str) -> Iterator[ChatDatabase]:
    """An open one."""
    opened = ChatDatabase.open(url)
    yield opened
    opened.close()


def chat_of(texts: Sequence[str]) -> ChatLog:
    """A chat of the user's messages."""
    return ChatLog(header=HEADER, messages=tuple(ChatMessage.create("user", text, name="Ansel") for text in texts))


def texts_of(chat: ChatLog | None) -> list[str]:
    """The texts of a chat."""
    return [] if chat is None else [message.text for message in chat.messages]


class TestChatDatabase:
    """One chat after the other, and several by their names."""

    def test_chats_by_name(self, database: ChatDatabase) -> None:
        """Each name has its own, and one can be taken out."""
        for name in ("anna", "bo"):
            database.named(name).keep(chat_of([name]))
        assert database.names() == ("anna", "bo")
        database.remove("anna")
        assert database.names() == ("bo",)
        assert database.named("anna").load() is None
        assert texts_of(database.named("bo").load()) == ["bo"]

    @pytest.mark.parametrize("first", ["chats", "library"])
    def test_beside_a_library(self, url: str, first: str) -> None:
        """Chats and a library share a database, whichever comes first."""
        for kind in ("chats", "library") if first == "chats" else ("library", "chats"):
            (ChatDatabase if kind == "chats" else Database).open(url).close()
        chats = ChatDatabase.open(url)
        chats.named("anna").keep(chat_of(["Aye."]))
        assert texts_of(chats.named("anna").load()) == ["Aye."]
        chats.close()
        with Database.open(url) as db:
            assert status_of(db).up_to_date

    def test_beside_a_program(self, url: str) -> None:
        """A table of the program's own, of a usual name, is left alone."""
        with Database.open(url, check=False) as db, db.transaction() as connection:
            connection.exec_driver_sql("CREATE TABLE chats (id INTEGER)")
            connection.exec_driver_sql("INSERT INTO chats VALUES (7)")
        chats = ChatDatabase.open(url)
        chats.named("anna").keep(chat_of(["Aye."]))
        chats.remove("anna")
        with chats.db.reading() as connection:
            assert connection.exec_driver_sql("SELECT id FROM chats").scalars().all() == [7]
        chats.close()

    def test_a_message_is_what_it_was(self, database: ChatDatabase) -> None:
        """Byte for byte, with what no field of ours has, and marks that SQL or JSON quotes."""
        line = b'{"name":"Wenna","mes":"a\\"b\'c\\u0000 \\n \xe2\x82\xac","extra":{"x":[1,2.50]},"swipes":["a","b"],"swipe_id":1}'
        chat = ChatLog.of(b'{"user_name":"Ansel","character_name":"W","chat_metadata":{"n":1}}\n' + line + b"\n")
        database.named("c").keep(chat)
        again = database.named("c").load()
        assert again is not None
        assert again.to_jsonl() == chat.to_jsonl()

    def test_the_same_chat_is_not_read_again(self, database: ChatDatabase) -> None:
        """The same object comes back until another store has written."""
        one, other = database.named("c"), database.named("c")
        one.keep(chat := chat_of(["a"]))
        assert one.load() is chat
        assert other.load() is other.load()
        other.keep(chat_of(["a", "b"]))
        assert texts_of(one.load()) == ["a", "b"]

    def test_a_chat_is_read_once(self, database: ChatDatabase) -> None:
        """A store that is opened for each turn gets what another one of this process has written, and reads what a third has."""
        database.named("c").keep(chat_of(["a"]))
        first = database.named("c").load()
        assert database.named("c").load() is first
        stranger = ChatDatabase(database.db).named("c")
        stranger.load()
        stranger.keep(chat_of(["a", "b"]))
        assert texts_of(database.named("c").load()) == ["a", "b"]

    def test_two_begin_at_once(self, database: ChatDatabase) -> None:
        """Both found no chat; the greeting that both begin with is there once."""
        one, other = database.named("c"), database.named("c")
        assert (one.load(), other.load()) == (None, None)
        one.keep(chat_of(["Come in.", "a"]))
        other.keep(chat_of(["Come in.", "b"]))
        assert texts_of(database.named("c").load()) == ["Come in.", "a", "b"]

    @pytest.mark.parametrize("name", ["", "x" * (MAX_NAME + 1), "a\0b"])
    def test_names_that_are_none(self, database: ChatDatabase, name: str) -> None:
        """They are refused before anything is written."""
        with pytest.raises(UsageError):
            database.named(name)

    def test_processes_at_the_same_time(self, url: str) -> None:
        """Three open the database, make its tables, and add to one chat: every message is there, each one's in order."""
        programs = [subprocess.Popen([sys.executable, "-c", _WRITER, url, name]) for name in "ABC"]
        assert [program.wait(300) for program in programs] == [0, 0, 0]
        database = ChatDatabase.open(url)
        texts = texts_of(database.named("c").load())
        database.close()
        assert [[text for text in texts if text[0] == name] for name in "ABC"] == [
            [f"{name}{number}" for number in range(20)] for name in "ABC"
        ]


_WRITER = """
import sys
from innkeeper.chat.database import ChatDatabase
from innkeeper.content.chat import ChatLog
from innkeeper.content.chat_message import ChatMessage
url, name = sys.argv[1:]
store = ChatDatabase.open(url).named("c")
for number in range(20):
    chat = store.load() or ChatLog(header={"user_name": "Ansel"})
    store.keep(chat.append(ChatMessage.create("user", f"{name}{number}")))
"""


@given(states=st.lists(st.lists(st.sampled_from("abcde"), max_size=6), min_size=1, max_size=5))
def test_any_change_is_written(states: list[list[str]]) -> None:
    """Whatever a program makes of its chat, another that opens it has the same."""
    database = _in_memory()
    store = database.named("c")
    for state in states:
        store.load()
        store.keep(chat_of(state))
        assert texts_of(database.named("c").load()) == state


@given(data=st.data())
def test_no_change_of_one_undoes_anothers(data: st.DataObject) -> None:
    """Two stores add, edit and delete by turns without reading: what one has added is there until it takes it out itself."""
    database = _in_memory()
    stores = [database.named("c"), database.named("c")]
    chats = [chat_of([]), chat_of([])]
    for store, chat in zip(stores, chats, strict=True):
        store.keep(chat)
    for number in range(data.draw(st.integers(1, 8))):
        one = data.draw(st.integers(0, 1))
        texts = texts_of(chats[one])
        at = data.draw(st.integers(0, len(texts)))
        if at == len(texts):
            texts.append(f"{one}:{number}")
        elif data.draw(st.booleans()):
            texts[at] = f"{one}:{number}"
        else:
            del texts[at]
        chats[one] = chat_of(texts)
        stores[one].keep(chats[one])
    stored = texts_of(database.named("c").load())
    for one, chat in enumerate(chats):
        assert [text for text in stored if text[0] == str(one)] == texts_of(chat)
    database.close()


def _in_memory() -> ChatDatabase:
    """A database that goes with its test."""
    database = ChatDatabase(PrivateDatabase(CHATS, size=1 << 24))
    with database.db.transaction() as connection:
        LINES.create(connection)
    return database
