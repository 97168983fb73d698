"""The inspector: sums that add up, and metadata when asked."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Message
from innkeeper.prompt.errors import FormatError, UsageError
from innkeeper.tokens import FRAMINGS, OPENAI, BoundedCache, Counter, Foreign, inspect_messages

LETTERS = Counter(Foreign("letters", len), cache=BoundedCache())


def test_content_only() -> None:
    """Without further wishes a message costs its content."""
    seen = inspect_messages([{"role": "user", "content": "abc"}], counter=LETTERS)
    assert seen.messages[0].total_tokens == seen.totals.total_tokens == 3
    assert seen.messages[0].content_length == 3
    assert seen.estimator["tokenizer"] == "letters"


def test_overhead_is_added_to_each() -> None:
    """A fixed overhead counts for every message."""
    seen = inspect_messages([{"role": "user", "content": "abc"}] * 2, counter=LETTERS, message_overhead_tokens=4)
    assert [message.overhead_tokens for message in seen.messages] == [4, 4]
    assert (seen.totals.content_tokens, seen.totals.overhead_tokens, seen.totals.total_tokens) == (6, 8, 14)


def test_metadata_counts_as_json() -> None:
    """Keys beside role, content and name are metadata; they count when asked, with details when asked."""
    message = {"role": "tool", "content": "ok", "tool_call_id": "7"}
    plain = inspect_messages([message], counter=LETTERS)
    asked = inspect_messages([message], counter=LETTERS, include_message_metadata_tokens=True)
    detailed = inspect_messages(
        [message], counter=LETTERS, include_message_metadata_tokens=True, include_metadata_details=True
    )
    assert plain.totals.metadata_tokens == 0
    assert asked.totals.metadata_tokens == len('{"tool_call_id":"7"}')
    assert asked.messages[0].metadata_tokenization is None
    assert detailed.messages[0].metadata_tokenization is not None


def test_metadata_is_not_counted_twice() -> None:
    """With a framing that counts tool calls, metadata that is counted as JSON is left out of the framing."""
    message = Message(role="assistant", content="", metadata={"tool_calls": ({"id": "1"},)})  # type: ignore[arg-type]
    without = inspect_messages([message], counter=LETTERS, framing=OPENAI)
    within = inspect_messages([message], counter=LETTERS, framing=OPENAI, include_message_metadata_tokens=True)
    assert without.totals.overhead_tokens == 3 + len("assistant") + len('[{"id":"1"}]')
    assert within.totals.overhead_tokens == 3 + len("assistant")


@pytest.mark.parametrize("name", FRAMINGS)
@given(st.lists(st.text(max_size=20), max_size=5))
def test_totals_add_up(name: str, texts: list[str]) -> None:
    """Parts sum to totals, and with a framing the total is that of the framing."""
    messages = [Message(role="user", content=text.encode("utf-8", "replace").decode()) for text in texts]
    seen = inspect_messages(messages, counter=LETTERS, framing=FRAMINGS[name])
    totals = seen.totals
    parts = totals.content_tokens + totals.metadata_tokens + totals.overhead_tokens + totals.reply_tokens
    assert totals.total_tokens == parts == FRAMINGS[name].count_messages(messages, LETTERS)
    assert totals.message_count == len(texts)


def test_a_plan_is_asked_for_its_messages() -> None:
    """An object with ``messages`` is inspected like its messages."""
    plan = type("Plan", (), {"messages": [Message(role="user", content="abc")]})()
    assert inspect_messages(plan, counter=LETTERS).totals.total_tokens == 3


def test_it_is_json() -> None:
    """An inspection can be sent as JSON."""
    assert msgspec.json.encode(inspect_messages([{"role": "user", "content": "hello"}], model="gpt-4o"))


def test_what_is_no_message_is_refused() -> None:
    """Something that cannot be iterated, and an element without role or content, are typed errors."""
    with pytest.raises(UsageError):
        inspect_messages(7)
    with pytest.raises(FormatError):
        inspect_messages([{"role": "user"}])
