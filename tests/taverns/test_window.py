"""The window: whatever a tavern counts, used plus reserved is within it, by the rule of the model that gets the prompt."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget import accounting
from innkeeper.prompt import BuildRequest, InnkeeperError, MaxTokensExceededError, Message, NoteKind, Ports
from innkeeper.taverns import build
from innkeeper.tokens import Counter, Framing

DEAR = Framing(name="dear", per_message=20, reply=9, fields=("role", "content"))
CHEAP, COSTLY = Counter(), Counter(framing=DEAR)
CARD = {
    "data": {"name": "Wenna", "description": "Keeps a light.", "first_mes": "Come in."},
    "spec": "chara_card_v2",
    "spec_version": "2.0",
}


def request(messages: int, window: int | None, **fields: Any) -> BuildRequest:
    """A chat of so many messages of ten words."""
    roles = ("assistant", "user")
    history = tuple(Message(roles[n % 2], f"message{n} " + "word " * 9) for n in range(messages))
    return BuildRequest(character=CARD, history=history, message="And now?", context_window=window, **fields)


@pytest.mark.parametrize("tavern", ["vibe", "silly", "smart"])
@pytest.mark.parametrize("counter", [CHEAP, COSTLY], ids=["the provider's rule", "the model's own rule"])
@given(messages=st.integers(0, 40), window=st.integers(1, 1500), reserve=st.integers(0, 200))
def test_fits(tavern: str, counter: Counter, messages: int, window: int, reserve: int) -> None:
    """Every plan fits, or is refused; the newest message is always in it."""
    asked = request(messages, window, tavern=tavern, reserved_tokens=reserve, now="2026-10-06T19:05:00Z")
    try:
        plan = build(asked, Ports(token_counter=counter))
    except InnkeeperError as error:
        assert error.exit_code == MaxTokensExceededError.exit_code  # noqa: PT017 - either outcome is right
        return
    assert accounting(plan, counter).total + reserve <= window
    assert any(message.content == "And now?" for message in plan.messages)


@pytest.mark.parametrize("tavern", ["vibe", "silly", "smart"])
def test_old_history_goes_first(tavern: str) -> None:
    """What does not fit is the oldest of the chat, and it is still in the plan, as left out."""
    plan = build(request(40, 400, tavern=tavern, reserved_tokens=50))
    sent = [message.content.split()[0] for message in plan.messages if message.content.startswith("message")]
    assert 0 < len(sent) < 40
    assert sent == [f"message{n}" for n in range(40 - len(sent), 40)]
    assert len([block for block in plan.blocks if not block.enabled]) == 40 - len(sent)


@pytest.mark.parametrize("tavern", ["vibe", "silly", "smart"])
def test_what_the_models_rule_takes_out_is_said(tavern: str) -> None:
    """Where the model's rule is dearer than the provider's, more goes, and a note says so."""
    asked = request(40, 700, tavern=tavern, reserved_tokens=50)
    dear, cheap = (build(asked, Ports(token_counter=counter)) for counter in (COSTLY, CHEAP))
    assert len(dear.messages) < len(cheap.messages)
    assert NoteKind.EVICTED in [note.kind for note in dear.notes]


def test_without_a_window_nothing_is_cut() -> None:
    """Where no window is known, nothing is left out."""
    plan = build(request(40, None, tavern="vibe"), Ports(token_counter=COSTLY))
    assert accounting(plan, COSTLY).free is None
    assert all(block.enabled for block in plan.blocks)
