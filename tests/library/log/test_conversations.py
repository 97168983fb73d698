"""Conversations: numbered messages, sent once, of which the newest are found."""

from collections.abc import Callable

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.errors import FieldError, NotFoundError
from innkeeper.library.log.conversations import ConversationStore


@pytest.fixture
def store(db: Database) -> ConversationStore:
    """The conversations of an empty library."""
    return ConversationStore(db)


def test_the_newest_of_five_hundred(store: ConversationStore) -> None:
    """A long conversation gives its newest messages, in order; repeated texts are messages of their own."""
    here = store.create({"user_id": "u"})["id"]
    with store.db.transaction():
        for number in range(500):
            store.append(here, "user" if number % 2 else "assistant", "again" if number > 490 else f"message {number}")
    newest = store.newest(here, 12)
    assert [message["seq"] for message in newest] == list(range(489, 501))
    assert [message["content"] for message in newest][-9:] == ["again"] * 9
    assert [message["seq"] for message in store.newest(here, 2, before=489)] == [487, 488]


def test_a_message_is_sent_once(store: ConversationStore) -> None:
    """The same client id gives the same message, and takes no number."""
    here = store.create({"id": "c"})["id"]
    first = store.append(here, "user", "Hello", client_msg_id="m1", tokens=3)
    assert store.append(here, "user", "Hello", client_msg_id="m1") == first
    assert store.append(here, "assistant", "Good day")["seq"] == 2
    assert first["tokens"] == 3


def test_create_is_idempotent(store: ConversationStore) -> None:
    """Creating with the same id twice gives the first one, unchanged."""
    first = store.create({"id": "c", "title": "One"})
    assert store.create({"id": "c", "title": "Two"}) == first


def test_deleted_messages_keep_their_number(store: ConversationStore) -> None:
    """A deleted message is not among the newest, and its number is not given again."""
    here = store.create({})["id"]
    first = store.append(here, "user", "a")
    assert store.delete_message(first["id"])["deleted_at"]
    assert store.append(here, "user", "b")["seq"] == 2
    assert [message["content"] for message in store.newest(here)] == ["b"]


def test_update_and_list(store: ConversationStore) -> None:
    """A user's conversations come with the one used last first."""
    one, two = store.create({"user_id": "u"}), store.create({"user_id": "u"})
    store.update(one["id"], {"title": "Named"})
    assert [row["id"] for row in store.of_user("u")] == [one["id"], two["id"]]
    store.append(two["id"], "user", "x")
    assert store.of_user("u", limit=1)[0]["id"] == two["id"]
    assert store.get(one["id"])["title"] == "Named"


def test_refused(store: ConversationStore) -> None:
    """What is not there, and roles that there are not."""
    calls: list[Callable[[], object]] = [
        lambda: store.get("x"),
        lambda: store.append("x", "user", "a"),
        lambda: store.update("x", {}),
        lambda: store.delete_message("x"),
    ]
    for do in calls:
        with pytest.raises(NotFoundError, match="there is no"):
            do()
    here = store.create({})["id"]
    with pytest.raises(FieldError, match="role"):
        store.append(here, "wizard", "a")
    assert store.append(here, "user", "a")["seq"] == 1
