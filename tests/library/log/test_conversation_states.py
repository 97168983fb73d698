"""States of conversations in the database: what the store in memory does, and it lasts."""

import pytest

from innkeeper.conversation.state import StateStore, StoredState, state_before
from innkeeper.library.db.engine import Database
from innkeeper.library.db.private import PrivateDatabase
from innkeeper.library.log.conversation_states import ConversationStates


@pytest.fixture(params=["database", "memory"])
def store(request: pytest.FixtureRequest, db: Database) -> StateStore:
    """A store of each kind."""
    return ConversationStates.private() if request.param == "memory" else ConversationStates(db)


def test_states_are_found_again(store: StateStore) -> None:
    """The first key that has a state counts; scopes are apart; a key that is put again has the later state."""
    store.put("a", StoredState("1", b'{"x":1}'))
    store.put("a", StoredState("2", b'{"x":2}', b'{"x":1}'))
    assert store.get("a", ["3", "2", "1"]) == ("2", b'{"x":2}')
    assert store.get("a", []) is None
    assert store.get("b", ["1"]) is None
    store.put("a", StoredState("1", b'{"x":3}'))
    assert store.get("a", ["1"]) == ("1", b'{"x":3}')
    assert store.last("a") == StoredState("1", b'{"x":3}')
    assert store.last("b") is None


def test_a_turn_begins_with_what_was_left(store: StateStore) -> None:
    """The rules are the same over both stores."""
    assert state_before(store, "a", ["1"]) == (b"", 0)
    store.put("a", StoredState("1", b"{}"))
    assert state_before(store, "a", ["1", "2", "3"]) == (b"{}", 1)
    assert state_before(store, "a", ["8", "9"], named=True) == (b"{}", 2)


def test_it_lasts_and_is_bounded(db: Database) -> None:
    """Another process finds the states; of one conversation the newest are kept, and old conversations are forgotten."""
    store = ConversationStates(db)
    for number in range(6):
        store.put("a", StoredState(str(number), b"{}"), most=3)
    again = ConversationStates(db)
    assert [again.get("a", [str(number)]) is not None for number in range(6)] == [False] * 3 + [True] * 3
    assert again.get("a", [str(number) for number in range(2_000)]) == ("3", b"{}")
    assert again.forget(days=1) == 0
    assert again.forget(days=-1) == 3


def test_memory_is_bounded() -> None:
    """However many conversations there are, what they take up in memory stays within the limit; the oldest go first."""
    store = ConversationStates.private(size=100_000)
    for number in range(500):
        store.put(str(number), StoredState("k", b"x" * 1_000))
        assert isinstance(store.db, PrivateDatabase)
        assert store.db.held <= 100_000
    assert store.last("499") is not None
    assert store.get("0", ["k"]) is None
