"""Conversations: numbered messages, sent once, of which the newest are found."""

from collections.abc import Callable

import pytest

from innkeeper.library.db.engine import Database
from innkeeper.library.db.owner import Owner
from innkeeper.library.errors import ConflictError, FieldError, NotFoundError
from innkeeper.library.limits import MAX_MESSAGE_CHARS
from innkeeper.library.log.conversations import CharacterStore, ConversationStore
from innkeeper.prompt.errors import LimitError


@pytest.fixture
def store(db: Database) -> ConversationStore:
    """The conversations of an empty library."""
    return ConversationStore(db)


def test_the_newest_of_five_hundred(store: ConversationStore) -> None:
    """A long conversation gives its newest messages, in order; repeated texts are messages of their own."""
    here = store.create({"user_id": "u"}).id
    with store.db.transaction():
        for number in range(500):
            store.append(here, "user" if number % 2 else "assistant", "again" if number > 490 else f"message {number}")
    newest = store.newest(here, 12)
    assert [message.seq for message in newest] == list(range(489, 501))
    assert [message.content for message in newest][-9:] == ["again"] * 9
    assert [message.seq for message in store.newest(here, 2, before=489)] == [487, 488]


def test_a_message_is_sent_once(store: ConversationStore) -> None:
    """The same client id gives the same message, and takes no number."""
    here = store.create({"id": "c"}).id
    first = store.append(here, "user", "Hello", client_msg_id="m1", tokens=3)
    assert store.append(here, "user", "Hello", client_msg_id="m1") == first
    assert store.append(here, "assistant", "Good day").seq == 2
    assert first.tokens == 3


def test_create_is_idempotent(store: ConversationStore) -> None:
    """Creating with the same id twice gives the first one, unchanged."""
    first = store.create({"id": "c", "title": "One"})
    assert store.create({"id": "c", "title": "Two"}) == first


def test_deleted_messages_keep_their_number(store: ConversationStore) -> None:
    """A deleted message is not among the newest, and its number is not given again."""
    here = store.create({}).id
    first = store.append(here, "user", "a")
    assert store.delete_message(first.id).deleted_at
    assert store.append(here, "user", "b").seq == 2
    assert [message.content for message in store.newest(here)] == ["b"]


def test_update_and_list(store: ConversationStore) -> None:
    """Conversations come with the one used last first."""
    one, two = store.create({"user_id": "u"}), store.create({"user_id": "u"})
    store.update(one.id, {"title": "Named"})
    assert [row.id for row in store.list()] == [one.id, two.id]
    store.append(two.id, "user", "x")
    assert store.list(limit=1)[0].id == two.id
    assert store.get(one.id).title == "Named"


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
    here = store.create({}).id
    with pytest.raises(FieldError, match="role"):
        store.append(here, "wizard", "a")
    assert store.append(here, "user", "a").seq == 1


ANN, BOB, ELSEWHERE = Owner("ann"), Owner("bob"), Owner("ann", tenant="other")


@pytest.mark.parametrize("other", [BOB, ELSEWHERE], ids=["another user", "another tenant"])
def test_what_is_of_somebody_else_is_not_there(store: ConversationStore, other: Owner) -> None:
    """Whatever is asked of another's conversation, it is not found, in the same words as one that is not there."""
    mine = ConversationStore(store.db, owner=ANN)
    here = mine.create({"title": "Mine"}).id
    message = mine.append(here, "user", "Hello", client_msg_id="1")
    theirs = ConversationStore(store.db, owner=other)
    asks: list[Callable[[ConversationStore, str], object]] = [
        lambda one, key: one.get(key),
        lambda one, key: one.update(key, {"title": "Taken"}),
        lambda one, key: one.append(key, "user", "Intruding"),
        lambda one, key: one.newest(key),
        lambda one, key: one.turns(key),
        lambda one, key: one.sent(key, "1"),
    ]
    for ask in asks:
        with pytest.raises(NotFoundError) as foreign:
            ask(theirs, here)
        with pytest.raises(NotFoundError) as missing:
            ask(theirs, "0" * len(here))
        assert str(foreign.value).replace(here, "0" * len(here)) == str(missing.value)
    with pytest.raises(NotFoundError):
        theirs.create({"id": here})
    for change in (theirs.pin, theirs.delete_message):
        with pytest.raises(NotFoundError):
            change(message.id)
    assert theirs.list() == ()
    assert [row.id for row in mine.list()] == [here]
    assert mine.turns(here) == (message,)


def test_an_owner_is_not_read_from_values(store: ConversationStore) -> None:
    """Whatever values say of user and tenant, a row is of the owner whose store it is."""
    mine = ConversationStore(store.db, owner=ANN)
    row = mine.create({"user_id": "bob", "tenant": "other"})
    row = mine.update(row.id, {"user_id": "bob"})
    assert (row.user_id, row.tenant) == ("ann", "")


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        (ANN.columns(), True),
        ({**BOB.columns(), "is_public": True, "moderation_status": "approved"}, True),
        ({**BOB.columns(), "is_public": True}, False),
        ({**BOB.columns(), "moderation_status": "approved"}, False),
        ({**ELSEWHERE.columns(), "is_public": True, "moderation_status": "approved"}, False),
    ],
    ids=["own", "public", "not approved", "private", "of another tenant"],
)
def test_with_whom_an_owner_may_speak(store: ConversationStore, values: dict[str, object], seen: bool) -> None:
    """One's own characters, and public ones of one's tenant that were approved; all others are not found."""
    key = CharacterStore(store.db).add({"name": "Mira", **values}).id
    mine = ConversationStore(store.db, owner=ANN)
    for name in ("character_id", "user_character_id"):
        if seen:
            assert getattr(mine.create({name: key}), name) == key
        else:
            with pytest.raises(NotFoundError, match="there is no character"):
                mine.create({name: key})
    own = CharacterStore(store.db)
    assert {row.id for row in own.of_owner(ANN)} == ({key} if values == ANN.columns() else set())
    if values == ANN.columns():
        assert own.owned(ANN, key).id == key
    with pytest.raises(NotFoundError):
        own.owned(Owner("cleo"), key)


def test_another_text_under_one_id(store: ConversationStore) -> None:
    """A client's id is of one message: another text, or another role, under it is a conflict."""
    here = store.create({}).id
    store.append(here, "user", "Hello", client_msg_id="1")
    for role, text in (("user", "Goodbye"), ("assistant", "Hello")):
        with pytest.raises(ConflictError, match="client_msg_id"):
            store.append(here, role, text, client_msg_id="1")
    assert [row.seq for row in store.newest(here)] == [1]


def test_a_message_is_answered_once(store: ConversationStore) -> None:
    """A second answer to a message is not added: the first is given; once that is deleted, there may be another."""
    here = store.create({}).id
    said = store.append(here, "user", "Hello")
    first = store.append(here, "assistant", "Good day", reply_to=said.id)
    assert store.append(here, "assistant", "Hi", reply_to=said.id) == first == store.reply_to(said)
    store.delete_message(first.id)
    assert store.reply_to(said) is None
    assert store.append(here, "assistant", "Hi", reply_to=said.id).seq == 3


def test_pinned_messages_are_read_however_old(store: ConversationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a prompt is made from: the newest, pinned ones before them, each once, and no more text than is read at all."""
    here = store.create({}).id
    with store.db.transaction():
        rows = [store.append(here, "user", f"message {number:03}") for number in range(1, 21)]
    store.pin(rows[1].id)
    store.pin(rows[18].id)
    assert [row.seq for row in store.turns(here, 4)] == [2, 17, 18, 19, 20]
    assert [row.seq for row in store.turns(here, 4, before=10)] == [2, 6, 7, 8, 9]
    monkeypatch.setattr("innkeeper.library.log.conversations.MAX_HISTORY_CHARS", 25)
    assert [row.seq for row in store.turns(here)] == [2, 19, 20]
    assert not store.pin(rows[1].id, pinned=False).pinned


def test_long_messages_are_refused(store: ConversationStore) -> None:
    """A message has a largest size, and a conversation without it goes on."""
    here = store.create({}).id
    with pytest.raises(LimitError, match="MAX_MESSAGE_CHARS"):
        store.append(here, "user", "x" * (MAX_MESSAGE_CHARS + 1))
    assert store.append(here, "user", "x").seq == 1


@pytest.mark.parametrize("key", ["\ud800", "a\0b", "' OR 1=1 --", "x" * 10_000], ids=["half", "nul", "sql", "long"])
def test_ids_that_no_row_has(store: ConversationStore, key: str) -> None:
    """Whatever an id holds, it is not found, and no error of the database comes out."""
    mine = ConversationStore(store.db, owner=ANN)
    for ask in (mine.get, mine.newest, mine.turns, mine.pin, mine.delete_message):
        with pytest.raises(NotFoundError):
            ask(key)
    with pytest.raises(NotFoundError):
        mine.append(key, "user", "Hello")
    with pytest.raises(NotFoundError):
        CharacterStore(store.db).seen_by(ANN, key)
