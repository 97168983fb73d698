"""What a conversation leaves for its next turn, and how it is found again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.conversation.state import (
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
    assert state_before(store, scope, first) == b""
    store.put(scope, StoredState(first[-1], b"1"))
    assert state_before(store, scope, first) == b""
    assert state_before(store, scope, second) == b"1"
    store.put(scope, StoredState(second[-1], b"2", b"1"))
    assert state_before(store, scope, second) == b"1"
    assert state_before(store, conversation_scope("you", "wenna"), second) == b""


def test_a_named_conversation_goes_on_without_its_beginning() -> None:
    """A client that no longer sends how its chat began still has its state, if it says which conversation it is."""
    store, scope = ConversationStates.private(), conversation_scope("me", "wenna", "7")
    late = prefix_keys(CHAT[1:])
    store.put(scope, StoredState("x", b"1"))
    assert state_before(store, scope, late) == b""
    assert state_before(store, scope, late, named=True) == b"1"
    assert state_before(store, scope, late, named=True, begins=True) == b""
    store.put(scope, StoredState(late[-1], b"2", b"1"))
    assert state_before(store, scope, late, named=True) == b"1"
    assert state_before(store, conversation_scope("me", "wenna", "8"), late, named=True) == b""
