"""Room: tokens are taken, given back and never overdrawn."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import BuildRequest, Ports
from innkeeper.prompt.block import Block
from innkeeper.prompt.build import start
from innkeeper.prompt.data import freeze
from innkeeper.taverns import silly
from innkeeper.taverns.silly.chat.room import REPLY_PRIMER, Counting, NoRoomError, Room, counted, message_block
from innkeeper.tokens import default_counter, framing
from tests.budget.doubles import Characters


def length(facts: Mapping[str, Any]) -> int:
    """One token a character."""
    return len(facts["content"])


def block(text: str) -> Block:
    """A system message."""
    return message_block("system", text, "x", "a")


def test_what_is_put_is_taken() -> None:
    """Reserved room comes back, placed room does not; empty messages take none."""
    room = Room(10 + REPLY_PRIMER, length)
    taken = room.reserve(block("four"))
    assert room.left == 6
    room.release(taken)
    room.put(block("seven77"))
    room.put(block(""))
    assert (room.left, room.used, len(room.placed())) == (3, 7, 2)


def test_no_room() -> None:
    """What does not fit is refused with its size, and nothing is taken."""
    room = Room(5 + REPLY_PRIMER, length)
    with pytest.raises(NoRoomError) as caught:
        room.put(block("sixsix"))
    assert caught.value.tokens == 6
    assert room.left == 5


def test_tool_results_are_counted_without_their_id() -> None:
    """Role, content, name and calls count; the id that a result answers to does not."""
    data = {"tool_call_id": "1", "a": "b"}
    facts = counted(Block(role="tool", content="x", name="n", message_metadata=freeze(data)))
    assert facts == {"role": "tool", "content": "x", "name": "n", "a": "b"}


MESSAGES = (
    {"role": "user", "content": "The tide turns at six."},
    {"role": "narrator", "content": ""},
    {"role": "assistant", "content": "Aye \ud800", "name": "Mira"},
    {"role": "user", "content": "<|endoftext|>", "name": "<|im_start|>"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]},
    {"role": "tool", "content": "x", "name": "n", "refusal": "b"},
)


@pytest.mark.parametrize("model", ["gpt-4.1", "claude-3-opus", "llama-2", "of nobody"])
@pytest.mark.parametrize("message", MESSAGES, ids=",".join)
def test_a_models_messages_count_as_its_framing_says(model: str, message: dict[str, Any]) -> None:
    """However a count is made quicker, it is that of the rule."""
    inputs: Any = SimpleNamespace(is_text=False)
    counting = Counting.of(start(BuildRequest(model=model), Ports()), inputs)
    assert counting.message(message) == framing("openai").count_message(message, default_counter(), model)


COUNTERS = {"function": lambda text: len(text.split()), "counter": Characters()}


@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
@pytest.mark.parametrize("tools", [(), ({"name": "look"},)], ids=["plain", "tools"])
def test_counters_of_a_callers_own(counter: Any, tools: tuple[Any, ...]) -> None:
    """A function, or an object that only counts and describes, counts a prompt."""
    plan = silly.build(character={"name": "Mira"}, message="hi there", token_counter=counter, tools=tools)
    assert plan.trim_report.initial_tokens > 0


@given(st.lists(st.text("ab", max_size=8), max_size=12), st.integers(0, 40))
def test_the_budget_holds(texts: list[str], budget: int) -> None:
    """Whatever is put where it fits, no more than the budget is used."""
    room = Room(budget, length)
    for text in texts:
        if room.fits(block(text)):
            room.put(block(text))
    assert room.used + REPLY_PRIMER <= max(budget, REPLY_PRIMER)
