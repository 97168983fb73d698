"""What a conversation leaves for its next turn, and how it is found again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.conversation.state import (
    ClientConversation,
    ConversationState,
    StoredState,
    conversation_scope,
    prefix_keys,
    state_before,
)
from innkeeper.library.log.conversation_states import ConversationStates
from innkeeper.prompt import FormatError, FrozenDict, Message

CHAT = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]


def test_a_state_is_read_as_it_was_written() -> None:
    """The order of names is kept, since builds may depend on it."""
    state = ConversationState(
        variables=FrozenDict({"local": FrozenDict({"z": 1, "a": "2"})}),
        carry=FrozenDict({"timed": ()}),
        greetings=("Hi",),
    )
    again = ConversationState.from_json(state.to_json())
    assert again == state
    assert list(again.variables["local"]) == ["z", "a"]
    assert ConversationState.from_json(b"") == ConversationState()
    with pytest.raises(FormatError):
        ConversationState.from_json(b'{"x": 1}')


@given(st.lists(st.builds(Message, st.sampled_from(["user", "assistant", "system"]), st.text(max_size=3)), max_size=6))
def test_keys_extend(messages: list[Message]) -> None:
    """The keys of a longer chat begin with those of the shorter one; system messages do not count."""
    keys = prefix_keys(messages)
    assert len(keys) == len([message for message in messages if message.role != "system"])
    assert prefix_keys(messages[:-1]) == keys[: len(prefix_keys(messages[:-1]))]
    assert len(set(keys)) == len(keys)


def test_keys_tell_messages_apart() -> None:
    """Role, text, name and calls make a message another one."""
    variants = [
        Message("user", "a"),
        Message("assistant", "a"),
        Message("user", "b"),
        Message("user", "a", "Ann"),
        Message("user", "a", metadata=FrozenDict({"tool_call_id": "1"})),
    ]
    assert len({prefix_keys([message]) for message in variants}) == len(variants)


def test_the_next_turn_goes_on_and_the_same_one_begins_again() -> None:
    """A longer chat begins with the state after its beginning; the same chat with the state before it."""
    store, scope = ConversationStates.private(), conversation_scope("me", "wenna")
    first, second = prefix_keys(CHAT[:1]), prefix_keys(CHAT)
    assert state_before(store, scope, first)[0] == b""
    store.put(scope, StoredState(first[-1], b"1"))
    assert state_before(store, scope, first)[0] == b""
    assert state_before(store, scope, second)[0] == b"1"
    store.put(scope, StoredState(second[-1], b"2", b"1"))
    assert state_before(store, scope, second)[0] == b"1"
    assert state_before(store, conversation_scope("you", "wenna"), second)[0] == b""


def test_a_named_conversation_goes_on_without_its_beginning() -> None:
    """A client that no longer sends how its chat began still has its state, if it says which conversation it is."""
    store, scope = ConversationStates.private(), conversation_scope("me", "wenna", "7")
    late = prefix_keys(CHAT[1:])
    store.put(scope, StoredState("x", b"1"))
    assert state_before(store, scope, late)[0] == b""
    assert state_before(store, scope, late, named=True)[0] == b"1"
    assert state_before(store, scope, late, named=True, begins=True)[0] == b""
    store.put(scope, StoredState(late[-1], b"2", b"1"))
    assert state_before(store, scope, late, named=True)[0] == b"1"
    assert state_before(store, conversation_scope("me", "wenna", "8"), late, named=True)[0] == b""


def test_an_older_state_is_noted() -> None:
    """Where the states of later answers are not known, the turn begins with an older one, and a note says so."""
    store = ConversationStates.private()
    first = ClientConversation(store, "s", CHAT[:1])
    assert first.load() is None
    first.keep(b"1")
    second = ClientConversation(store, "s", CHAT)
    assert (second.load(), second.notes) == (b"1", ())
    later = ClientConversation(store, "s", [*CHAT, Message("assistant", "d"), Message("user", "e")])
    assert later.load() == b"1"
    assert [note.message for note in later.notes] == [
        "the state after the last 2 answers is not known: an older one is used"
    ]
