"""Plans that fit: whatever the tavern counts, used plus reserved is within the model's window, by the model's own rule."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.cli.fitting import build_fitting, count_plan
from innkeeper.prompt import BuildRequest, InnkeeperError, MaxTokensExceededError, Message, NoteKind, Ports
from innkeeper.tokens import Framing

DEAR = Framing(name="dear", per_message=20, reply=9, fields=("role", "content"))
CARD = {
    "data": {"name": "Wenna", "description": "Keeps a light.", "first_mes": "Come in."},
    "spec": "chara_card_v2",
    "spec_version": "2.0",
}


PORTS = Ports()


def request(messages: int, window: int | None, **fields: Any) -> BuildRequest:
    """A chat of so many messages of ten words."""
    roles = ("assistant", "user")
    history = tuple(Message(roles[n % 2], f"message{n} " + "word " * 9) for n in range(messages))
    return BuildRequest(character=CARD, history=history, message="And now?", context_window=window, **fields)


@pytest.mark.parametrize("tavern", ["vibe", "silly"])
@pytest.mark.parametrize("framing", [None, DEAR], ids=["cheap", "dear"])
@settings(max_examples=20)
@given(messages=st.integers(0, 40), window=st.integers(1, 1500), reserve=st.integers(0, 200))
def test_fits(tavern: str, framing: Framing | None, messages: int, window: int, reserve: int) -> None:
    """Every plan fits by the model's own rule, or is refused; the newest message is always in it."""
    asked = request(messages, window, tavern=tavern, reserved_tokens=reserve, now="2026-10-06T19:05:00Z")
    try:
        plan = build_fitting(asked, PORTS, framing)
    except InnkeeperError as error:
        assert error.exit_code == MaxTokensExceededError.exit_code  # noqa: PT017 - either outcome is right
        return
    figures = count_plan(plan, PORTS, framing)
    assert figures.total + reserve <= window
    assert any(message.content == "And now?" for message in plan.messages)


@pytest.mark.parametrize("tavern", ["vibe", "silly"])
def test_old_history_goes_first(tavern: str) -> None:
    """What does not fit is the oldest of the chat, and it is still in the plan, as left out."""
    plan = build_fitting(request(40, 400, tavern=tavern, reserved_tokens=50), PORTS)
    sent = [message.content.split()[0] for message in plan.messages if message.content.startswith("message")]
    assert 0 < len(sent) < 40
    assert sent == [f"message{n}" for n in range(40 - len(sent), 40)]
    left = [block for block in plan.blocks if not block.enabled]
    assert len(left) == 40 - len(sent)


def test_what_the_models_rule_takes_out_is_said() -> None:
    """Where the model's rule is dearer than the tavern's, more goes, and a note of the step that fits says so."""
    asked = request(40, 700, tavern="silly", reserved_tokens=50)
    dear, cheap = (build_fitting(asked, PORTS, framing) for framing in (DEAR, None))
    assert len(dear.messages) < len(cheap.messages)
    assert "fit" in [note.step for note in dear.notes if note.kind is NoteKind.EVICTED]
    assert not [note for note in cheap.notes if note.step == "fit"]


def test_without_a_window_nothing_is_cut() -> None:
    """Where no window is known, nothing is left out."""
    plan = build_fitting(request(40, None, tavern="vibe"), PORTS, DEAR)
    assert count_plan(plan, PORTS, DEAR).free is None
    assert all(block.enabled for block in plan.blocks)
